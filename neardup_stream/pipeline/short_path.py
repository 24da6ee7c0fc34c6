"""The short path from register to decide: pages that come for the first time, over stores in arrays.

A page that matches nothing leaves a row in the page records, its entries in the index and a rank, and no
object is made for it: nothing is published of it, and of a page that stands alone the clusters need no more
than the rank in its record. Pages that match others are planned by the same code as in other stores, and so
are the events of all pages that have any.

All other records (forgets, pages that were seen before, pages whose frame was taken out) take the stages
register, probe, verify and decide, in their place among the others. So the outcome of a batch is what these
stages would make of all of it. Nothing may outlive the run: no decision records are kept of new pages.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final, NamedTuple

import numpy as np

from neardup_stream.clusters.planning import stands_alone
from neardup_stream.hashing.handles import handle_of
from neardup_stream.indexes.permuted import PermutedIndex
from neardup_stream.message import Position
from neardup_stream.meters import Outcome, PipelineMeters
from neardup_stream.page import PageId
from neardup_stream.pipeline.arrival import Arrival, Forget, Judged, Lesson
from neardup_stream.pipeline.arrival_columns import ArrivalColumns, columns_of
from neardup_stream.pipeline.batch import InFlightBatch
from neardup_stream.pipeline.cases import place_request
from neardup_stream.pipeline.column_items import ColumnItems
from neardup_stream.pipeline.conclusion import Conclusion, conclude
from neardup_stream.pipeline.decide import Decide
from neardup_stream.pipeline.delivery_guarantees import OutgoingMessage
from neardup_stream.pipeline.event_building import RenderEvent, page_decision_record
from neardup_stream.pipeline.event_config import EventConfig
from neardup_stream.pipeline.follow_up import FollowUp
from neardup_stream.pipeline.frame_views import is_distinct
from neardup_stream.pipeline.probe import Probe
from neardup_stream.pipeline.register import Register
from neardup_stream.pipeline.short_placing import Placing
from neardup_stream.pipeline.short_verify import NewPages, ShortVerify
from neardup_stream.pipeline.timing import timed
from neardup_stream.pipeline.verify import Verify
from neardup_stream.stores.arrays.records import ArrayRecords, FirstVersions

__all__ = ["ArrayStores", "LongPath", "Publishing", "ShortPath"]

_MOST_PARTS: Final = 16
"""A batch of more parts takes the long path as a whole: a part costs as much as some twenty pages there."""


class LongPath(NamedTuple):
    """The stages that take what the short path does not."""

    register: Register
    probe: Probe
    verify: Verify
    decide: Decide

    async def take(self, batch: InFlightBatch) -> Conclusion:
        """Take the items of a batch from register to decide."""
        for run in batch.cut():
            await self.register.run(run)
            await self.probe.run(run)
            await self.verify.run(run)
        await self.decide.run(batch)
        return conclude(batch.prepared, [run.decisions for run in batch.runs])


@dataclass(frozen=True, slots=True)
class ArrayStores:
    """The stores of one process.

    Attributes:
        index: over arrays.
        records: of all pages.
        placing: places pages in the clusters.
    """

    index: PermutedIndex
    records: ArrayRecords
    placing: Placing


class Publishing(NamedTuple):
    """What is published, and how it looks.

    Attributes:
        events: which events.
        render: makes the message of an event.
    """

    events: EventConfig
    render: RenderEvent


class ShortPath:
    """Takes batches from register to decide.

    Args:
        stores: of this process.
        verify: finds what pages match.
        long_path: takes all other records.
        publishing: what is published.
        handle_key: secret of the index.
        now_seconds: the wall clock, epoch seconds.
        meters: receives the times.
    """

    def __init__(
        self,
        stores: ArrayStores,
        verify: ShortVerify,
        long_path: LongPath,
        publishing: Publishing,
        handle_key: bytes,
        now_seconds: Callable[[], float],
        meters: PipelineMeters,
    ) -> None:
        self._records = stores.records
        self._placing = stores.placing
        self._verify = verify
        self._long_path = long_path
        self._publishing = publishing
        self._handle_key = handle_key
        self._now_seconds = now_seconds
        self._meters = meters

    async def run(self, batch: InFlightBatch) -> None:
        """Set `conclusion`.

        Raises:
            CorruptData: a stored record cannot be read.
        """
        prepared = batch.prepared
        parts = [conclude(prepared, [])]
        for part in self._few_parts(prepared.items):
            if isinstance(part, _NewItems):
                parts.append(await self._decided(part, prepared.lessons))
            else:
                others = prepared._replace(items=list(part), rejected=[], skipped=[])
                parts.append(await self._long_path.take(replace(batch, prepared=others, runs=[])))
        batch.conclusion = _joined(parts)

    def _few_parts(
        self, items: Sequence[Arrival | Forget]
    ) -> Sequence["_NewItems | Sequence[Arrival | Forget]"]:
        """Return all items in order, see `_parts`; undivided where each part would be small."""
        if not self._records.takes_first_versions:
            return [items]
        if isinstance(items, ColumnItems):
            handles = [handle_of(PageId(page_id), self._handle_key) for page_id in items.pages.ids]
            if len(set(handles)) == len(handles) and not self._records.knows_any(handles):
                return [_NewItems(items.columns, handles)]
        parts = list(islice(self._parts(items), _MOST_PARTS + 1))
        return parts if len(parts) <= _MOST_PARTS else [items]

    def _parts(self, items: Sequence[Arrival | Forget]) -> Iterator["_NewItems | Sequence[Arrival | Forget]"]:
        """Yield all items in order: successive new pages of one input together, and what is between them."""
        handles = [[handle_of(page_id, self._handle_key) for page_id in item.page_ids] for item in items]
        seen: set[int] = set()
        start, current = 0, None
        for row, (item, own) in enumerate(zip(items, handles, strict=True)):
            is_new = _fits(item) and seen.isdisjoint(own) and not self._records.knows_any(own)
            kind = item.record.position.partition if is_new else None
            if kind != current and row > start:
                yield _part(items[start:row], handles[start:row], is_new=current is not None)
                start = row
            current = kind
            seen.update(own)
        if start < len(items):
            yield _part(items[start:], handles[start:], is_new=current is not None)

    async def _decided(self, items: "_NewItems", lessons: Mapping[Position, Lesson]) -> Conclusion:
        """Register new pages, find what they match, and decide all of them, in order."""
        ranks = self._placing.store.reserve_ranks(len(items.columns))
        with timed(self._meters, "register"):
            pages = NewPages(items.columns, np.array(items.handles, np.uint64), self._stored(items, ranks))
        judged = await self._verify.judge(pages)
        with timed(self._meters, "decide"):
            return await self._concluded(pages, judged, ranks, lessons)

    def _stored(self, items: "_NewItems", ranks: range) -> int:
        """Store the records of new pages, and return the row of the first one."""
        columns = items.columns
        first = FirstVersions(
            handles=np.array(items.handles, np.uint64),
            urls=columns.urls,
            other_ids=[  # as `PageRecord.first` says
                "" if page == url else page for page, url in zip(columns.ids, columns.urls, strict=True)
            ],
            scopes=columns.scopes,
            is_short=~columns.has_enough_tokens,
            fingerprints=columns.fingerprints,
            text_fingerprints=columns.text_fingerprints,
            shingle_counts=columns.shingle_counts,
            sketches=columns.sketches,
            bands=columns.bands,
            partition=columns.partition,
            offsets=columns.offsets,
            seen_seconds=int(self._now_seconds()),
            ranks=np.array(ranks, np.int64),
        )
        return self._records.add(first)

    async def _concluded(
        self, pages: NewPages, judged: dict[int, Judged], ranks: range, lessons: Mapping[Position, Lesson]
    ) -> Conclusion:
        """Place the pages that match others, and make the events of all that have any."""
        columns, published = pages.columns, self._publishing
        outcomes: Counter[tuple[Outcome, str]] = Counter()
        for row in self._published_anyway(columns):
            judged.setdefault(row, Judged(pages.registered(row, self._records)))
        rows = sorted(judged)
        matching = [row for row in rows if judged[row].matches]
        placements = await self._placing.place(
            [place_request(judged[row]) for row in matching], [ranks[row] for row in matching]
        )
        self._meters.dropped_edges(sum(each.dropped_edges for each in placements))
        placed = dict(zip(matching, placements, strict=True))
        events: list[OutgoingMessage] = []
        for row in rows:
            page = judged[row]
            placement = placed.get(row) or stands_alone(place_request(page).node)
            decided = page_decision_record(page, placement, published.events, published.render)
            outcomes[decided.outcome, decided.reason] += 1
            position = page.registered.arrival.record.position
            events += [OutgoingMessage(position, event) for event in decided.events]
        is_quiet = np.ones(len(columns), np.bool_)
        is_quiet[rows] = False
        outcomes["unique", ""] += int((is_quiet & columns.has_enough_tokens).sum())
        outcomes["undecided", "too_short"] += int((is_quiet & ~columns.has_enough_tokens).sum())
        taught = [lessons[position] for position in _distinct(columns, judged, lessons)] if lessons else []
        return Conclusion(+outcomes, events, FollowUp([], [], taught))

    def _published_anyway(self, columns: ArrivalColumns) -> list[int]:
        """Return the pages of which something is published even if they match nothing."""
        events = self._publishing.events
        is_wanted = np.where(columns.has_enough_tokens, events.unique, events.undecided)
        return list(np.flatnonzero(is_wanted).tolist())


class _NewItems(NamedTuple):
    """Pages that come for the first time, and their handles."""

    columns: ArrivalColumns
    handles: Sequence[int]


def _part(
    items: Sequence[Arrival | Forget], handles: Sequence[Sequence[int]], *, is_new: bool
) -> _NewItems | Sequence[Arrival | Forget]:
    if not is_new:
        return items
    arrivals = [item for item in items if isinstance(item, Arrival)]
    return _NewItems(columns_of(arrivals), [handle for (handle,) in handles])


def _fits(item: Arrival | Forget) -> bool:
    """Return whether an item is a page from which no frame was taken out, and unlike all of the archives."""
    return isinstance(item, Arrival) and not (
        item.whole_count or item.is_left_to_archives or item.archived.matches
    )


def _distinct(
    columns: ArrivalColumns, judged: Mapping[int, Judged], lessons: Mapping[Position, Lesson]
) -> Iterator[Position]:
    """Yield the pages that nearly equal no other, and whose lines are to be counted."""
    for row, arrival in enumerate(columns.arrivals):
        position = arrival.record.position
        if arrival.has_enough_tokens and position in lessons:
            matches = judged[row].matches if row in judged else ()
            if is_distinct(matches, is_sibling=arrival.is_sibling):
                yield position


def _joined(parts: Sequence[Conclusion]) -> Conclusion:
    """Return the conclusion of a batch from those of its parts; of few of them the judged pages are known."""
    follow_ups = [part.follow_up for part in parts]
    return Conclusion(
        sum((part.outcomes for part in parts), Counter()),
        [event for part in parts for event in part.events],
        FollowUp(
            *([each for found in columns for each in found] for columns in zip(*follow_ups, strict=True))
        ),
    )
