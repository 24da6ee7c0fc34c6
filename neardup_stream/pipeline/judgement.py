"""A prepared batch through the stores: every record ends with one outcome, decided once.

    settled ─► register   ─►   probe   ─►   verify   ─►   decide   ─►   mark ─► old entries out
    └──── register ────┘       probe       compare        decide        └────── follow up ────┘

A run holds each page id once, and no page of it is registered again before it is compared: what a page
becomes later is not held against it. A record whose row is stored already is told what the row says, and a
record that was finished is left alone; so a batch may be judged again after a crash at any point. It is
judged again as well when it comes to its decision so late that what was read for it may be out of date. The
five parts may work at once, each on a run of its own: to the earlier parts, a page that is not decided yet
looks as one that another daemon is working on.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from neardup_stream.clusters.placements import Placement, Settled
from neardup_stream.clusters.protocol import Decider, KnownVersion, RecordsBehind, StaleRead
from neardup_stream.clusters.requests import Request
from neardup_stream.indexes.protocol import Index, IndexedPage, Probed
from neardup_stream.message import Message, Partition, Position
from neardup_stream.meters import PipelineMeters
from neardup_stream.page import Handle
from neardup_stream.pipeline.arrival import Arrival, Forget, Judged, Registered
from neardup_stream.pipeline.cases import QUIET, Case, forget_case, page_case
from neardup_stream.pipeline.conclusion import DecidedRun, FollowUp
from neardup_stream.pipeline.decision import EventConfig, RenderEvent
from neardup_stream.pipeline.detector import detect, probe_and_insert
from neardup_stream.pipeline.forgetting import Forgotten, forget
from neardup_stream.pipeline.likeness import VerdictConfig
from neardup_stream.pipeline.page_locks import PageLocks
from neardup_stream.pipeline.preparation import timed
from neardup_stream.pipeline.registration import register
from neardup_stream.pipeline.retries import Retries
from neardup_stream.pipeline.rows import Row
from neardup_stream.stores.protocol import RecordStore

__all__ = [
    "ComparedRun",
    "Judgement",
    "JudgementStores",
    "ProbedRun",
    "Run",
    "cut_at_repeats",
]

_logger = logging.getLogger(__name__)

_LOOKS = 2
"""So often a run is registered again at once, before it counts as a store that cannot serve."""


@dataclass(frozen=True, slots=True)
class JudgementStores:
    """What is stored of pages.

    Attributes:
        index: finds candidates.
        records: keeps the page records.
        clusters: decides, and keeps what was decided.
        handle_key: secret of this index.
        version_floor: first versions of pages are above it.
        outlives_run: whether earlier runs may have filled the stores, and may not have delivered all events.
    """

    index: Index
    records: RecordStore
    clusters: Decider
    handle_key: bytes
    version_floor: int = 0
    outlives_run: bool = True


class Run(NamedTuple):
    """Records of distinct pages, in order, up to their registration.

    Attributes:
        items: as they came.
        page_ids: of all their pages.
        positions: theirs.
        settled: what was decided before.
        registered: pages that are not settled.
        forgotten: forgets that are not settled.
        left_behind: events of unchanged pages that their makers may not have delivered.
    """

    items: Sequence[Arrival | Forget]
    page_ids: AbstractSet[str]
    positions: list[Position]
    settled: Settled
    registered: list[Registered]
    forgotten: list[Forgotten]
    left_behind: Mapping[Position, tuple[Message, ...]] = MappingProxyType({})


class ProbedRun(NamedTuple):
    """A run whose pages are in the index, with what they are to be compared with.

    Attributes:
        run: as it was registered.
        probing: those of its pages that are compared at all.
        probed: their candidates.
    """

    run: Run
    probing: list[Registered]
    probed: Probed


class ComparedRun(NamedTuple):
    """A run whose pages are registered, indexed and compared, and nothing of it decided."""

    run: Run
    cases: dict[Position, Case]


class Judgement:
    """Judges batches; each part takes them one after the other.

    Args:
        stores: where everything is kept.
        verdict: when two pages are alike.
        events: what subscribers are told.
        retries: patience with the store.
        meters: told candidates, rejections, caps and times.
        now_seconds: the wall clock, epoch seconds.
    """

    def __init__(
        self,
        *,
        stores: JudgementStores,
        verdict: VerdictConfig,
        events: EventConfig,
        retries: Retries,
        meters: PipelineMeters,
        now_seconds: Callable[[], float],
    ) -> None:
        self._stores = stores
        self._verdict = verdict
        self._events = events
        self._retries = retries
        self._meters = meters
        self._now_seconds = now_seconds
        self._uncompared = PageLocks()

    async def register(self, items: Sequence[Arrival | Forget]) -> Run:
        """Bring the records of distinct pages up to date.

        Where one of them was registered before and is not compared yet, this waits for it, so somebody must
        compare meanwhile.

        Raises:
            DependencyLost: the store stayed unavailable.
        """
        page_ids = {page_id for item in items for page_id in item.page_ids}
        await self._uncompared.enter(page_ids)
        return await self._retries.retry(partial(self._register_run, items, page_ids))

    async def probe(self, run: Run) -> ProbedRun:
        """Store its pages in the index, and find what they may match.

        Raises:
            DependencyLost: the store stayed unavailable.
        """
        return await self._retries.retry(partial(self._probe_run, run))

    async def compare(self, run: ProbedRun) -> ComparedRun:
        """Find what its pages match.

        Raises:
            DependencyLost: the store stayed unavailable.
        """
        cases = await self._retries.retry(partial(self._cases, run))
        await self._uncompared.leave(run.run.page_ids)
        return ComparedRun(run.run, cases)

    async def decide(self, runs: Iterable[ComparedRun], render: RenderEvent) -> list[DecidedRun]:
        """Take all runs of a batch on to their outcomes and events, rendered for their sink.

        Raises:
            DependencyLost: the store stayed unavailable.
        """
        return [
            await self._retries.retry(partial(self._decide_run, run, cases, render)) for run, cases in runs
        ]

    async def follow_up(self, left: FollowUp) -> None:
        """Do what is left of a batch that was decided.

        Raises:
            DependencyLost: the store stayed unavailable.
        """
        with timed(self._meters, "follow_up"):
            await self._retries.retry(partial(self._stores.records.mark, left.marks))
            await self._retries.retry(partial(self._remove, left.former))

    async def trim(self, next_offsets: Mapping[Partition, int]) -> None:
        """Forget the rows of records whose offsets are committed.

        Raises:
            StoreUnavailable: trim again; what is left is only memory.
        """
        await self._stores.clusters.trim(next_offsets)

    async def tidy(self) -> None:
        """Do the housekeeping of the clusters that is due.

        Raises:
            DependencyLost: the store stayed unavailable.
        """
        await self._retries.retry(partial(self._stores.clusters.tidy, self._stores.records))

    async def _register_run(
        self,
        items: Sequence[Arrival | Forget],
        page_ids: AbstractSet[str],
        known: Mapping[Position, KnownVersion] = MappingProxyType({}),
    ) -> Run:
        """May be repeated as a whole."""
        records, handle_key = self._stores.records, self._stores.handle_key
        positions = [item.record.position for item in items]
        with timed(self._meters, "look_up"):
            settled = await self._stores.clusters.settled(positions)
        open_items = [item for item in items if not settled.knows(item.record.position)]
        arrivals = [item for item in open_items if isinstance(item, Arrival)]
        forgets = [item for item in open_items if isinstance(item, Forget)]
        now_seconds = int(self._now_seconds())
        with timed(self._meters, "register"):
            floor = self._stores.version_floor
            registered = await register(arrivals, records, handle_key, now_seconds, known, floor)
            forgotten = await forget(forgets, records, handle_key, now_seconds, known)
        left_behind = await self._left_behind(registered)
        return Run(items, page_ids, positions, settled, registered, forgotten, left_behind)

    async def _left_behind(self, registered: Sequence[Registered]) -> dict[Position, tuple[Message, ...]]:
        """What was decided of unchanged pages in another input, and is not known to be delivered.

        That input may never be read again: a pipe that was cut, or a topic in a former epoch.
        """
        if not self._stores.outlives_run:
            return {}
        makers = {
            page.arrival.record.position: page.record.maker
            for page in registered
            if page.verdict == "unchanged" and _is_of_another_input(page)
        }
        if not makers:
            return {}
        rows = (await self._stores.clusters.settled(list(set(makers.values())))).rows
        return {at: Row.unpack(rows[maker].row).events for at, maker in makers.items() if maker in rows}

    async def _probe_run(self, run: Run) -> ProbedRun:
        """May be repeated as a whole."""
        probing = [page for page in run.registered if page.record.is_indexed and page.verdict not in QUIET]
        with timed(self._meters, "probe"):
            return ProbedRun(run, probing, await probe_and_insert(probing, self._stores.index))

    async def _cases(self, probed: ProbedRun) -> dict[Position, Case]:
        """In the order of the records; may be repeated as a whole."""
        run, judged = probed.run, await self._detect(probed)
        cases = {
            **{
                page.arrival.record.position: page_case(
                    judged.get(page.handle, Judged(page)),
                    self._events,
                    run.left_behind.get(page.arrival.record.position, ()),
                )
                for page in run.registered
            },
            **{each.forget.record.position: forget_case(each, self._events) for each in run.forgotten},
        }
        return {position: cases[position] for position in run.positions if position in cases}

    async def _decide_run(self, run: Run, cases: dict[Position, Case], render: RenderEvent) -> DecidedRun:
        """May be repeated as a whole. What took too long, or was registered amiss, is looked at once more."""
        for _ in range(_LOOKS):
            known: Mapping[Position, KnownVersion] = {}
            try:
                return await self._decide_cases(run, cases, render)
            except StaleRead as error:
                _logger.warning("stale_reads", extra={"fields": {"error": str(error)}})
            except RecordsBehind as error:
                known = error.known
            await self._remove(_former(cases))  # looked at again, they are not known any more
            run = await self._register_run(run.items, run.page_ids, known)
            cases = await self._cases(await self._probe_run(run))
        return await self._decide_cases(run, cases, render)

    async def _decide_cases(self, run: Run, cases: dict[Position, Case], render: RenderEvent) -> DecidedRun:
        with timed(self._meters, "decide"):
            answers = await self._stores.clusters.decide(
                [case.request for case in cases.values()],
                lambda request, placement: _row(cases, request, placement, render).pack(),
                run.settled.aged_count,
            )
        self._meters.dropped_edges(sum(answer.dropped_edges for answer in answers))
        decided = {**run.settled.rows, **dict(zip(cases, answers, strict=True))}
        distinct = frozenset(position for position, case in cases.items() if case.is_distinct)
        return DecidedRun(run.positions, decided, _former(cases), distinct)

    async def _remove(self, former: Sequence[IndexedPage]) -> None:
        """Take the entries of versions that others have replaced out of the index."""
        if former:
            await self._stores.index.remove(former)

    async def _detect(self, probed: ProbedRun) -> Mapping[Handle, Judged]:
        stores = self._stores
        with timed(self._meters, "verify"):
            detected = await detect(
                probed.probing, probed.probed, stores.index, stores.records, self._verdict
            )
        self._meters.candidates(detected.candidate_count)
        for rejection, count in detected.rejections.items():
            self._meters.rejected_candidates(rejection, count)
        self._meters.bucket_cap_hits(detected.bucket_cap_hits)
        self._meters.truncated_probes(detected.truncated_count)
        return {page.registered.handle: page for page in detected.judged}


def _row(
    cases: Mapping[Position, Case], request: Request, placement: Placement | None, render: RenderEvent
) -> Row:
    """What is stored of a record; one whose version another record has claimed is superseded."""
    case = cases.get(request.position)
    return Row("superseded") if case is None else case.row(placement, render)


def cut_at_repeats(items: Sequence[Arrival | Forget]) -> Iterator[list[Arrival | Forget]]:
    """Runs of records in which no page id comes twice, in order."""
    run: list[Arrival | Forget] = []
    ids: set[str] = set()
    for item in items:
        own_ids = item.page_ids
        if not ids.isdisjoint(own_ids):
            yield run
            run, ids = [], set()
        run.append(item)
        ids.update(own_ids)
    if run:
        yield run


def _is_of_another_input(page: Registered) -> bool:
    """Whether the version was made in another input of the same kind: files have a colon in their names."""
    own, maker = page.arrival.record.position.partition.input_id, page.record.maker.partition.input_id
    return own != maker and (":" in own) == (":" in maker)


def _former(cases: Mapping[Position, Case]) -> list[IndexedPage]:
    return [entry for case in cases.values() for entry in case.former]
