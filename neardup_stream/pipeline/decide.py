"""The decide stage: snapshot, plan, build the events, commit.

The clusters cut a run into portions. Of each they read a snapshot of what is stored, and plan on it. The
events of a page are built from the plan. All of a portion is stored in one step, if nothing in the snapshot
has changed meanwhile. So a run may be decided in part.

A run that comes so late that its reads may be stale, that was probed before the layout of the tables
changed, or whose page records lack what was decided, enters the stages register, probe and verify once more,
here: later runs wait for it, so decisions stay in order. A change of the layout is adopted here and nowhere
else, so that none comes between the check of a run and its commit.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from neardup_stream.clusters.placements import Decided, Placement
from neardup_stream.clusters.protocol import (
    Decider,
    KnownVersion,
    Portion,
    RecordsBehind,
    StaleRead,
)
from neardup_stream.clusters.requests import LoneRequest, Request
from neardup_stream.indexes.protocol import IndexedPage
from neardup_stream.message import Position
from neardup_stream.meters import PipelineMeters
from neardup_stream.pipeline.arrival import Judged
from neardup_stream.pipeline.batch import Decisions, InFlightBatch, Run
from neardup_stream.pipeline.cases import Case, forget_case, lone_request, page_case
from neardup_stream.pipeline.decision_record import DecisionRecord
from neardup_stream.pipeline.event_building import RenderEvent
from neardup_stream.pipeline.event_config import EventConfig
from neardup_stream.pipeline.retries import Retries
from neardup_stream.pipeline.stores import PageStores
from neardup_stream.pipeline.timing import timed
from neardup_stream.stores.protocol import RankWrite
from neardup_stream.stores.table_layouts import LayoutChanged

__all__ = ["Decide", "LookAgain", "RecordOf", "decide_requests"]

_logger = logging.getLogger(__name__)

_LOOKS: Final = 2
"""So often a run is registered again at once, before it counts as a store that cannot serve."""

LookAgain = Callable[[Run, Mapping[Position, KnownVersion]], Awaitable[None]]
"""Registers, probes and verifies a run, above the versions that the clusters know."""


RecordOf = Callable[[Request, Placement | None], bytes]
"""Makes the decision record of a planned request, with the events that are published of it."""


class Decide:
    """Decides the runs of batches, in order.

    Args:
        stores: where decision records are.
        events: what is published.
        render: makes the message of an event.
        look_again: the earlier stages, for a run whose reads are stale.
        retries: while the store is unavailable.
        meters: receives the times.
    """

    def __init__(
        self,
        stores: PageStores,
        events: EventConfig,
        render: RenderEvent,
        look_again: LookAgain,
        retries: Retries,
        meters: PipelineMeters,
    ) -> None:
        self._stores = stores
        self._events = events
        self._render = render
        self._look_again = look_again
        self._retries = retries
        self._meters = meters

    async def run(self, batch: InFlightBatch) -> None:
        """Set `decisions` of each run.

        Raises:
            DependencyLost: the store stayed unavailable.
        """
        for run in batch.runs:
            if run.items:
                run.decisions = await self._retries.retry(partial(self._decide, run))
                self._stores.former.drop(run)

    async def _decide(self, run: Run) -> Decisions:
        """Decide a run; may be repeated."""
        former: list[IndexedPage] = []
        for _ in range(_LOOKS):
            known: Mapping[Position, KnownVersion] = {}
            try:
                return await self._decide_once(run, former)
            except StaleRead as error:
                _logger.warning("decide_stale_read", extra={"fields": {"error": str(error)}})
            except LayoutChanged:
                self._adopt_layout()
            except RecordsBehind as error:
                known = error.known
            former += _former_entries(self._asked(run))
            run = run.restarted()
            await self._look_again(run, known)
        return await self._decide_once(run, former)

    def _adopt_layout(self) -> None:
        layouts = self._stores.layouts
        if layouts.used != layouts.found:
            layouts.adopt()
            _logger.info("table_layout_adopted", extra={"fields": layouts.used._asdict()})

    async def _decide_once(self, run: Run, former: Sequence[IndexedPage]) -> Decisions:
        asked = self._asked(run)
        if run.probed is not None:
            self._stores.layouts.require(run.probed.probed.layout_change)
        with timed(self._meters, "decide"):
            answers = await decide_requests(
                self._stores.clusters,
                asked.requests,
                lambda request, placement: self._record(asked, request, placement).pack(),
                run.registration.already_decided.aged_count,
            )
        self._meters.dropped_edges(sum([answer.dropped_edges for answer in answers]))
        return _decisions(run, asked, answers, former)

    def _asked(self, run: Run) -> "_Asked":
        """Return what is asked of the clusters, in the order of the records."""
        registration, by_handle = run.registration, {page.registered.handle: page for page in run.judged}
        cases: dict[Position, Case] = {}
        lone: dict[Position, Judged] = {}
        requests: list[Request] = []
        for page in registration.pages:
            judged = by_handle.get(page.handle) or Judged(page)
            position = page.arrival.record.position
            request: Request | None = lone_request(judged, self._events)
            if request is None:
                case = page_case(judged, self._events, registration.undelivered.get(position, ()))
                cases[position], request = case, case.request
            else:
                lone[position] = judged
            requests.append(request)
        if registration.forgets:
            for each in registration.forgets:
                case = forget_case(each, self._events)
                cases[case.request.position] = case
                requests.append(case.request)
            requests.sort(key=lambda request: run.row_of(request.position))
        return _Asked(requests, cases, lone)

    def _record(self, asked: "_Asked", request: Request, placement: Placement | None) -> DecisionRecord:
        """Return the decision record; one whose version another record has claimed is superseded."""
        case = asked.cases.get(request.position)
        if case is None and request.position in asked.lone:  # it does not stand alone
            case = page_case(asked.lone[request.position], self._events)
        return DecisionRecord("superseded") if case is None else case.record(placement, self._render)


class _Asked(NamedTuple):
    """What is asked of the clusters for a run.

    Attributes:
        requests: in the order of the records.
        cases: of the requests that are not about lone pages, by position.
        lone: the lone pages.
    """

    requests: Sequence[Request]
    cases: Mapping[Position, Case]
    lone: Mapping[Position, Judged]


def _decisions(
    run: Run, asked: _Asked, answers: Sequence[Decided], former: Sequence[IndexedPage]
) -> Decisions:
    """Return the decisions of a run; a lone page has none of its own if it was decided as such."""
    decided = dict(run.registration.already_decided.outcomes)
    distinct = {position for position, case in asked.cases.items() if case.is_distinct}
    alone: dict[Position, RankWrite] = {}
    for request, answer in zip(asked.requests, answers, strict=True):
        if isinstance(request, LoneRequest):
            if answer.record == request.record:
                alone[request.position] = RankWrite(request.handle, 1, answer.rank)
                continue
            distinct.add(request.position)
        decided[request.position] = answer
    return Decisions(
        positions=run.positions,
        decided=decided,
        former=list(dict.fromkeys((*former, *_former_entries(asked)))),
        distinct=distinct,
        alone=alone,
    )


def _former_entries(asked: _Asked) -> list[IndexedPage]:
    """Return the versions that a run has replaced; registered again, it may replace its own ones as well.

    Their entries stay until the run is decided: its pages are compared with them, see `FormerVersions`.
    """
    return [entry for case in asked.cases.values() for entry in case.former]


async def decide_requests(
    clusters: Decider, requests: Sequence[Request], record_of: RecordOf, aged_count: int
) -> list[Decided]:
    """Decide requests: read a snapshot, plan on it, make the decision records with their events, and commit.

    Args:
        clusters: plan, and store.
        requests: about distinct pages, in order.
        record_of: makes a decision record; called again after a conflict.
        aged_count: `AlreadyDecided.aged_count`, from before everything that the requests rest on was read.

    Returns:
        One outcome for each request, in order.

    Raises:
        StaleRead: read and compare the pages again.
        RecordsBehind: register these pages again.
        StoreUnavailable: decide again; what was decided stays as it was.
    """
    decided: list[Decided] = []
    for portion in clusters.portions(requests, aged_count):
        decided += await _decide_portion(portion, record_of)
    return decided


async def _decide_portion(portion: Portion, record_of: RecordOf) -> list[Decided]:
    decided = None
    while decided is None:
        planned = await portion.plan()
        decided = await portion.commit([record_of(*each) for each in planned])
    return decided
