"""What a record of the pages topic asks for, in a few hundred bytes, so that a whole topic fits in memory."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from neardup_stream.message import Position, Record, RecordMetadata
from neardup_stream.page import PageId
from neardup_stream.pipeline.arrival import metadata_of
from neardup_stream.pipeline.preparation import Preparation

__all__ = ["Content", "Input", "InputKind", "read_inputs"]

InputKind = Literal["page", "forget", "rejected", "skipped"]
"""rejected: it can never become a page. skipped: it is none by nature."""


class Content(NamedTuple):
    """What makes a re-crawl a change: any difference of these.

    Attributes:
        text_fingerprint: of the whole sequence of tokens.
        is_decided: whether there are enough of them.
        scope: within what the page is compared.
    """

    text_fingerprint: int
    is_decided: bool
    scope: str


class Input(NamedTuple):
    """One record of the pages topic.

    Attributes:
        position: where it stands.
        kind: what it is.
        page_ids: the page's id; of a forget, those its key may mean, the likeliest first; else none.
        content: of a page.
        timestamp_ms: the record's own time, epoch milliseconds; its events and dead letter bear it too.
    """

    position: Position
    kind: InputKind
    page_ids: tuple[PageId, ...] = ()
    content: Content | None = None
    timestamp_ms: int = 0


def read_inputs(records: Sequence[Record], preparation: Preparation) -> list[Input]:
    """Each record as the pipeline takes it, in the order given.

    Args:
        records: of any partitions.
        preparation: as the pipeline that judged them has it.

    Cost: what the pipeline's own preparation costs; 300 bytes are left of a page.
    """
    prepared = preparation.prepare(records)
    found = {
        **{each.record.position: _input(metadata_of(each.record), "rejected") for each in prepared.rejected},
        **{each.record.position: _input(each.record, "skipped") for each in prepared.skipped},
        **{each.record.position: _input(each.record, "forget", each.page_ids) for each in prepared.forgets},
        **{
            each.record.position: _input(
                each.record,
                "page",
                each.page_ids,
                Content(each.text_fingerprint, each.is_decided, each.scope),
            )
            for each in prepared.arrivals
        },
    }
    return [found[record.position] for record in records]


def _input(
    record: RecordMetadata, kind: InputKind, page_ids: tuple[PageId, ...] = (), content: Content | None = None
) -> Input:
    return Input(record.position, kind, page_ids, content, record.timestamp_ms)
