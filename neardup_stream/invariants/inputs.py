"""Reduce records of the pages topic to a few hundred bytes each, so that a whole topic fits in memory."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from neardup_stream.message import Position, Record, RecordMetadata
from neardup_stream.page import PageId
from neardup_stream.pipeline.arrival import Rejected, metadata_of
from neardup_stream.pipeline.preparation import Preparation

__all__ = ["Content", "Input", "InputKind", "read_inputs"]

InputKind = Literal["page", "forget", "rejected", "skipped"]
"""rejected: can never become a page. skipped: not a page by its type."""


class Content(NamedTuple):
    """The content of a page; a re-crawl is a change if any of these differs.

    Attributes:
        text_fingerprint: of the whole sequence of tokens.
        has_enough_tokens: whether it is long enough to be judged.
        scope: the scope within which the page is compared.
    """

    text_fingerprint: int
    has_enough_tokens: bool
    scope: str


class Input(NamedTuple):
    """One record of the pages topic.

    Attributes:
        position: of the record.
        kind: of the record.
        page_ids: the page's id; of a forget, those its key may mean, the likeliest first; else none.
        content: of a page.
        timestamp_ms: the record's own time, epoch milliseconds; its events and dead letter have it too.
        cause: of a rejected record, the limit it exceeds, or else the reason of its dead letter.
    """

    position: Position
    kind: InputKind
    page_ids: tuple[PageId, ...] = ()
    content: Content | None = None
    timestamp_ms: int = 0
    cause: str = ""


def read_inputs(records: Sequence[Record], preparation: Preparation) -> list[Input]:
    """Return the inputs of records as the pipeline reads them, in the order given.

    Args:
        records: of any partitions.
        preparation: of the pipeline that processed them.

    Cost: that of the pipeline's own preparation; a page takes 300 bytes.
    """
    prepared = preparation.prepare(records)
    found = {
        **{each.record.position: _rejected(each) for each in prepared.rejected},
        **{each.record.position: _input(each.record, "skipped") for each in prepared.skipped},
        **{each.record.position: _input(each.record, "forget", each.page_ids) for each in prepared.forgets},
        **{
            each.record.position: _input(
                each.record,
                "page",
                each.page_ids,
                Content(each.text_fingerprint, each.has_enough_tokens, each.scope),
            )
            for each in prepared.arrivals
        },
    }
    return [found[record.position] for record in records]


def _rejected(each: Rejected) -> Input:
    cause = each.error.limit or each.error.reason
    return _input(metadata_of(each.record), "rejected")._replace(cause=cause)


def _input(
    record: RecordMetadata, kind: InputKind, page_ids: tuple[PageId, ...] = (), content: Content | None = None
) -> Input:
    return Input(record.position, kind, page_ids, content, record.timestamp_ms)
