"""What frames must never do to pages, judged from all record versions that were ever written.

a version's views never change after its record is first written
living pages whose whole texts are copies are in one cluster, whatever each daemon knew of their site's frame
pages of two topics never match once the frame of either was taken out
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import msgspec

from neardup_stream.bits.words import hamming_distance
from neardup_stream.events import DuplicateFound, event_type
from neardup_stream.invariants.history import History
from neardup_stream.message import Position
from neardup_stream.page import Handle
from neardup_stream.stores.memory.records import MemoryRecords
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import RecordAnswer, RecordChange
from neardup_stream.wire.events import from_message
from tests.schedules.sites import CONTENT_SHINGLES, SitePage

__all__ = ["WatchedRecords", "judge_views"]

_COPY_RESEMBLANCE = 0.9
"""Of whole texts; with a simhash that differs in few bits, every daemon finds such copies."""


class WatchedRecords(MemoryRecords):
    """Records that remember every version.

    Attributes:
        versions: every version that was written, as it was first, by page id and version.
        changed: lines that say which views were changed.
    """

    def __init__(self, slot_bits: int = 4) -> None:
        super().__init__(slot_bits)
        self.versions: dict[tuple[str, int], PageRecord] = {}
        self.changed: list[str] = []

    async def replace(self, changes: Sequence[RecordChange]) -> list[RecordAnswer]:
        answers = await super().replace(changes)
        for change, answer in zip(changes, answers, strict=True):
            if answer.value == change.new:
                self._watch(PageRecord.unpack(change.new))
        return answers

    def _watch(self, record: PageRecord) -> None:
        if record.state == "gone":
            return
        first = self.versions.setdefault((record.id, record.version), record)
        if _views(first) != _views(record):
            self.changed.append(f"the views of {record.id} change at version {record.version}")


class _Views(NamedTuple):
    """All that a record says of a page's texts."""

    fingerprint: int
    text_fingerprint: int
    sketch: bytes
    shingle_count: int
    bands: bytes
    whole: bytes
    whole_count: int
    whole_bands: bytes


def _views(record: PageRecord) -> _Views:
    return _Views(*(getattr(record, name) for name in _Views._fields))


def judge_views(
    history: History, records: WatchedRecords, pages: Mapping[Position, SitePage], distance_bits: int
) -> Iterator[str]:
    """Say what frames have done wrong.

    Args:
        history: of a run that is quiet.
        records: where its versions were written.
        pages: what the pages of the run's records are made of.
        distance_bits: within which simhashes are always found.
    """
    yield from records.changed
    yield from _copies_apart(history, pages, distance_bits)
    yield from _siblings_matched(history, records, pages)


def _copies_apart(history: History, pages: Mapping[Position, SitePage], distance_bits: int) -> Iterator[str]:
    cluster_of: dict[Handle, str] = {
        handle: cluster_id for cluster_id, cluster in history.clusters.items() for handle in cluster.members
    }
    living = [
        (handle, record, page)
        for handle, record in history.records.items()
        if record.state == "live" and (page := pages.get(record.maker)) is not None
    ]
    for (one, left, left_page), (other, right, right_page) in combinations(living, 2):
        is_found = hamming_distance(left.fingerprint, right.fingerprint) <= distance_bits
        is_together = cluster_of.get(one, one) == cluster_of.get(other, other)
        if is_found and not is_together and _are_copies(left_page, right_page):
            yield f"{left.id} ({left_page}) and {right.id} ({right_page}) are copies, and stand apart"


def _are_copies(one: SitePage, other: SitePage) -> bool:
    if one.topic != other.topic:
        return False
    shingles, others = one.shingles(), other.shingles()
    return len(shingles & others) >= _COPY_RESEMBLANCE * len(shingles | others)


def _siblings_matched(
    history: History, records: WatchedRecords, pages: Mapping[Position, SitePage]
) -> Iterator[str]:
    for data in _duplicates(history):
        page = data.page
        for match in data.matches:
            found = [
                records.versions.get(each) for each in ((page.id, page.version), (match.id, match.version))
            ]
            both = [record for record in found if record is not None]
            made_of = [made for record in both if (made := pages.get(record.maker)) is not None]
            if len(made_of) == 2 and made_of[0].topic != made_of[1].topic and any(map(_has_no_frame, both)):
                sides = " and ".join(
                    f"{record.id} v{record.version} ({made}, {record.shingle_count} of {record.whole_count})"
                    for record, made in zip(both, made_of, strict=True)
                )
                yield f"{sides} match, and share only their frame"


def _has_no_frame(record: PageRecord) -> bool:
    """Return whether all of its frame was taken out, and no more.

    Of a young site, paragraphs that copies repeat are taken for frame. What is left of such a page may be one
    of its paragraphs and a line of the frame that is new, which is on other pages of the site as well.
    """
    return record.shingle_count == CONTENT_SHINGLES and record.whole_count > 0


def _duplicates(history: History) -> Iterator[DuplicateFound]:
    seen = set()
    for message in history.events:
        event = from_message(message)
        if event.type == event_type("duplicate") and event.id not in seen:
            seen.add(event.id)
            yield msgspec.json.decode(event.data, type=DuplicateFound)
