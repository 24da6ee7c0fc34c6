"""Notes what a run over files finds, from the events that it writes, in bounded memory."""

import heapq
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import msgspec

from neardup_daemon.cluster_files import ClusterRow
from neardup_daemon.noting_sink import NotingSink
from neardup_stream.errors import StoreUnavailable
from neardup_stream.events import event_type
from neardup_stream.hashing.handles import handle_of
from neardup_stream.message import Position
from neardup_stream.page import PageId
from neardup_stream.pipeline.scopes import scope_by, scope_of_url
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import RecordStore
from neardup_stream.streams.protocol import Sink

__all__ = ["Example", "Findings", "NotedFindings", "PageRecords"]

LARGEST_CLUSTERS: Final = 20
EXAMPLE_STEPS: Final = 10
"""Of all degrees of resemblance from 0 to 1, each with one example, and equal texts with one more."""

MEMBERS_SHOWN: Final = 10
_OTHERS: Final = "(other hosts)"
_HOST_OF: Final = scope_by("host")


class Example(NamedTuple):
    """A duplicate and the page that it is most like.

    Attributes:
        page_id: of the duplicate.
        other_id: of the earlier page.
        kind: exact or near.
        resemblance: estimated; None where pages are compared by simhash alone.
        distance_bits: between the fingerprints.
        positions: where the version of the duplicate that was compared was read, the likeliest first.
        other_positions: the same of the earlier page.
    """

    page_id: str
    other_id: str
    kind: str
    resemblance: float | None
    distance_bits: int
    positions: tuple[Position, ...] = ()
    other_positions: tuple[Position, ...] = ()


@dataclass(slots=True)
class Findings:
    """What was found.

    Attributes:
        by_host: `duplicate` events by host and kind; hosts beyond the limit count together.
        examples: one for each degree of resemblance, in the order in which they were found.
        cluster_sizes: clusters of two or more pages, by their size.
        largest: of those, the largest first.
    """

    by_host: Counter[tuple[str, str]] = field(default_factory=Counter)
    examples: dict[int, Example] = field(default_factory=dict)
    cluster_sizes: Counter[int] = field(default_factory=Counter)
    largest: list[ClusterRow] = field(default_factory=list)

    def add_clusters(self, rows: Sequence[ClusterRow]) -> None:
        """Count clusters, and keep the largest with their first members."""
        self.cluster_sizes.update(len(row.members) for row in rows)
        self.largest = heapq.nlargest(
            LARGEST_CLUSTERS, [*self.largest, *rows], key=lambda row: len(row.members)
        )


class _Match(msgspec.Struct, frozen=True):
    id: str
    version: int
    distance_bits: int
    resemblance: float | None = None


class _Page(msgspec.Struct, frozen=True):
    id: str
    url: str
    version: int


class _Data(msgspec.Struct, frozen=True):
    page: _Page | None = None
    kind: str = ""
    matches: tuple[_Match, ...] = ()


class _Event(msgspec.Struct, frozen=True):
    type: str
    data: _Data


_EVENTS = msgspec.json.Decoder(_Event)


class PageRecords(NamedTuple):
    """The page records of an index.

    Attributes:
        store: where they are.
        handle_key: secret of the index.
    """

    store: RecordStore
    handle_key: bytes


class NotedFindings(NotingSink):
    """A sink that notes what events say, and passes all of them on.

    An example needs the page records of both pages to have the versions that were compared: a page that
    changes before its event is sent is in none.

    Args:
        sink: where events go, as lines of JSON.
        pages: the page records of the run.
        findings: what is noted.
        max_hosts: more hosts than these count together; each takes some 200 bytes.
    """

    def __init__(self, sink: Sink, pages: PageRecords, findings: Findings, max_hosts: int = 10_000) -> None:
        super().__init__(sink)
        self._pages = pages
        self._max_hosts = max_hosts
        self.findings = findings

    async def _note(self, line: bytes) -> None:
        event = _EVENTS.decode(line)
        if event.type == event_type("duplicate") and event.data.page is not None:
            self._count(event.data.page, event.data)
            for best in event.data.matches[:1]:
                await self._note_example(event.data.page, best, event.data.kind)

    def _count(self, page: _Page, data: _Data) -> None:
        counts = self.findings.by_host
        key = (scope_of_url(page.url, _HOST_OF), data.kind)
        if key not in counts and len(counts) >= self._max_hosts:
            key = (_OTHERS, data.kind)
        counts[key] += 1

    async def _note_example(self, page: _Page, best: _Match, kind: str) -> None:
        step = round((best.resemblance if best.resemblance is not None else 1.0) * EXAMPLE_STEPS)
        degree = EXAMPLE_STEPS + 1 if kind == "exact" else step
        if degree in self.findings.examples:
            return
        own, other = await self._positions([page, best])
        if own and other:
            self.findings.examples[degree] = Example(
                page.id, best.id, kind, best.resemblance, best.distance_bits, own, other
            )

    async def _positions(self, versions: Sequence[_Page | _Match]) -> list[tuple[Position, ...]]:
        """Return where these versions of pages were read; nothing for a page that has another one now."""
        handles = [handle_of(PageId(each.id), self._pages.handle_key) for each in versions]
        try:
            stored = await self._pages.store.fetch(handles)
        except StoreUnavailable:  # the events are sent: another event has an example
            return [()] * len(versions)
        records = [None if packed is None else PageRecord.unpack(packed) for packed in stored]
        return [
            record.positions if record and (record.id, record.version) == (each.id, each.version) else ()
            for each, record in zip(versions, records, strict=True)
        ]
