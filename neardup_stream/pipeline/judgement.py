"""A prepared batch through the stores: register, detect, decide; every record ends with one outcome."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from time import time
from typing import NamedTuple

from neardup_stream.events import Event
from neardup_stream.hashing.handles import handle_of
from neardup_stream.indexes.protocol import Index
from neardup_stream.meters import Outcome, PipelineMeters
from neardup_stream.pipeline.arrival import Arrival, Forget, Prepared, Registered
from neardup_stream.pipeline.decision import EventConfig, decide, quiet_outcome
from neardup_stream.pipeline.detector import detect
from neardup_stream.pipeline.preparation import timed
from neardup_stream.pipeline.registration import register
from neardup_stream.pipeline.retries import Retries
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import RecordStore

__all__ = ["Conclusion", "Judgement", "cut_at_repeats"]


class Conclusion(NamedTuple):
    """What a batch came to.

    Attributes:
        outcomes: how many records met each outcome, by reason where there is one; they sum to the records.
        events: in the order of their records.
    """

    outcomes: Counter[tuple[Outcome, str]]
    events: list[Event]


class Judgement:
    """Judges batches, one after the other.

    Args:
        index: finds candidates.
        records: keeps the page records.
        handle_key: secret of this index.
        distance_bits: fingerprints further apart do not match.
        events: what subscribers are told.
        retries: patience with the store.
        meters: told candidates, ghosts, caps and times.
    """

    def __init__(
        self,
        *,
        index: Index,
        records: RecordStore,
        handle_key: bytes,
        distance_bits: int,
        events: EventConfig,
        retries: Retries,
        meters: PipelineMeters,
    ) -> None:
        self._index = index
        self._records = records
        self._handle_key = handle_key
        self._distance_bits = distance_bits
        self._events = events
        self._retries = retries
        self._meters = meters

    async def judge(self, prepared: Prepared) -> Conclusion:
        """Take a batch to its outcomes and events.

        What fails is repeated run by run: an earlier run must not meet what a later one stored.

        Raises:
            DependencyLost: the store stayed away.
        """
        outcomes: Counter[tuple[Outcome, str]] = Counter()
        events: list[Event] = []
        for rejected in prepared.rejected:
            outcomes["dead_letter", rejected.error.reason] += 1
        for skipped in prepared.skipped:
            outcomes["skipped", skipped.reason] += 1
        for arrivals in cut_at_repeats(prepared.arrivals):
            part = await self._retries.persist(partial(self._judge_distinct, arrivals))
            outcomes += part.outcomes
            events += part.events
        for outcome in await self._retries.persist(partial(self._forget, prepared.forgets)):
            outcomes[outcome, ""] += 1
        return Conclusion(outcomes, events)

    async def _judge_distinct(self, arrivals: Sequence[Arrival]) -> Conclusion:
        """Pages of distinct ids, so that each meets its own record once; may be repeated as a whole."""
        outcomes: Counter[tuple[Outcome, str]] = Counter()
        events: list[Event] = []
        with timed(self._meters, "record"):
            registered = await register(arrivals, self._records, self._handle_key, int(time()))
        probing: list[Registered] = []
        for page in registered:
            if outcome := quiet_outcome(page):
                outcomes[outcome, "too_short" if outcome == "undecided" else ""] += 1
            else:
                probing.append(page)
        with timed(self._meters, "probe"):
            detected = await detect(probing, self._index, self._records, self._distance_bits)
        self._meters.candidates(detected.candidate_count)
        self._meters.ghosts(detected.ghost_count)
        self._meters.bucket_cap_hits(detected.bucket_cap_hits)
        for judged in detected.judged:
            decision = decide(judged, self._events)
            outcomes[decision.outcome, ""] += 1
            if decision.event is not None:
                events.append(decision.event)
        return Conclusion(outcomes, events)

    async def _forget(self, forgets: Sequence[Forget]) -> list[Outcome]:
        """Whether each page to be forgotten is known."""
        wanted = [(row, page_id) for row, forget in enumerate(forgets) for page_id in forget.page_ids]
        handles = [handle_of(page_id, self._handle_key) for _, page_id in wanted]
        known = set()
        for (row, page_id), packed in zip(wanted, await self._records.fetch(handles), strict=True):
            if packed is not None and PageRecord.unpack(packed).id == page_id:
                known.add(row)
        return ["forgotten" if row in known else "forget_unknown" for row in range(len(forgets))]


def cut_at_repeats(arrivals: Sequence[Arrival]) -> Iterator[list[Arrival]]:
    """Runs of arrivals in which no page id comes twice, in order."""
    run: list[Arrival] = []
    ids: set[str] = set()
    for arrival in arrivals:
        if arrival.page.id in ids:
            yield run
            run, ids = [], set()
        run.append(arrival)
        ids.add(arrival.page.id)
    if run:
        yield run
