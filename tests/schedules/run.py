"""One run: a story is lived to its end, and what is left of it is judged. A run is a function of its seed."""

import random
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, NamedTuple, TypeVar

from neardup_stream.clusters.clusters import Clusters
from neardup_stream.clusters.unclustered import Unclustered
from neardup_stream.fingerprints.framed import frame_share
from neardup_stream.invariants.history import Expectations, History, Matching, StoredCluster
from neardup_stream.invariants.inputs import read_inputs
from neardup_stream.invariants.judging import judge
from neardup_stream.message import Position, Record
from neardup_stream.stores.page_record import PageRecord
from tests.schedules.losses import judge_topics, without_stale
from tests.schedules.shared import DEAD_LETTERS, EVENTS, Protocol, Shared
from tests.schedules.sites import page_of
from tests.schedules.stage import Stage
from tests.schedules.story import FaultProfile, draw_story
from tests.schedules.views import judge_views
from tests.schedules.virtual_loop import Stuck

__all__ = ["Outcome", "run"]

_T = TypeVar("_T")


class Outcome(NamedTuple):
    """What a run came to.

    Attributes:
        violations: lines that say what was broken; none is good.
        events: how many were published, repeats included.
        generations: how often partitions were dealt.
        late_commits: how many were refused.
        frame_shares: how much of each page version was taken out as frame, in [0, 1].
        archived_count: page versions that were left to archives.
        is_recovered: whether the operator has looked after a loss.
    """

    violations: list[str]
    events: int
    generations: int
    late_commits: int
    frame_shares: list[float]
    archived_count: int
    is_recovered: bool


def run(
    seed: int,
    fault_profile: FaultProfile | None = None,
    protocol: Protocol | None = None,
    on_line: Callable[[str], None] | None = None,
) -> Outcome:
    """Do and judge the run of this seed.

    Args:
        seed: of all random choices.
        fault_profile: the faults of the daemons.
        protocol: how they are put together.
        on_line: called with every call and every fault, a line each.
    """
    fault_profile, protocol, dice = (
        fault_profile or FaultProfile(),
        protocol or Protocol(),
        random.Random(seed),
    )
    stage = Stage(dice, fault_profile, draw_story(fault_profile, dice), protocol, on_line)
    try:
        with protocol.sabotage():
            stage.loop.run_until_complete(stage.play())
        history, expectations = _evidence(stage.shared, seed)
        found = [f"invariant {number}: {detail}" for number, detail in judge(history, expectations)]
        found += _judge_views(stage.shared, history)
        found = [line for line in found if not _is_of_a_loss(line, fault_profile)]
        found += stage.written_since_loss + stage.shared.stores.records.early
        if fault_profile.losses:
            found += judge_topics(history, stage.shared.stores.clusters, _records(stage.shared))
        found += _repeats(stage.shared) if fault_profile.is_exactly_once else ()
    except Stuck:
        found = [f"never quiet, {stage.seconds:.0f} s after the beginning"]
    finally:
        stage.loop.close_all()
    broker, versions = stage.shared.broker, stage.shared.stores.records.versions.values()
    return Outcome(
        violations=[*found, *map(repr, stage.loop.defects), *map(repr, stage.deaths)],
        events=len(broker.topics[EVENTS]),
        generations=broker.generation_count,
        late_commits=broker.dropped_commit_count,
        frame_shares=[frame_share(each) for each in versions],
        archived_count=sum(each.state == "archived" for each in versions),
        is_recovered=stage.is_recovered,
    )


def _evidence(shared: Shared, seed: int) -> tuple[History, Expectations]:
    """Return what is left, and what may be concluded from it."""
    broker, records = shared.broker, shared.stores.records
    stored = [
        packed for slot in range(records.slot_count) for packed in _at_once(records.walk(slot, 1)).records
    ]
    history = History(
        inputs=read_inputs(
            [record for log in broker.logs.values() for record in log], shared.reading.preparation
        ),
        committed=broker.committed,
        events=broker.topics[EVENTS],
        dead_letters=broker.topics[DEAD_LETTERS],
        records=without_stale(
            {handle: PageRecord.unpack(packed) for handle, packed in stored}, shared.stores.clusters
        ),
        clusters=_at_once(_clusters(shared.decider(shared.stores))),
        ends={partition: len(log) for partition, log in broker.logs.items()},
        index_token=shared.index,
    )
    expectations = Expectations(
        keeps_clusters=shared.fault_profile.has_clusters,
        may_expire=shared.fault_profile.page_seconds is not None or "records" in shared.fault_profile.losses,
        matching=None
        if "records" in shared.fault_profile.losses
        else Matching(shared.reading.verdict, shared.reading.layout, links=lambda _: True),
        verdict=None if "records" in shared.fault_profile.losses else shared.reading.verdict,
        seed=seed,
    )
    return history, expectations


def _is_of_a_loss(line: str, fault_profile: FaultProfile) -> bool:
    """Return whether records that are lost or lack their rank, or came again, explain it."""
    if "epoch" in fault_profile.losses and "unchanged, and has" in line:
        return True  # the record before it claimed nothing, because this one was registered first
    explained = ("has no record", "is not decided", "change at version", "comes before")
    return "records" in fault_profile.losses and any(each in line for each in explained)


def _records(shared: Shared) -> dict[Position, Record]:
    return {record.position: record for log in shared.broker.logs.values() for record in log}


def _judge_views(shared: Shared, history: History) -> Iterator[str]:
    """Return what happened to the views of pages."""
    pages = {
        record.position: page
        for log in shared.broker.logs.values()
        for record in log
        if (page := page_of(record.value)) is not None
    }
    return judge_views(history, shared.stores.records, pages, shared.reading.verdict.distance_bits)


def _repeats(shared: Shared) -> Iterator[str]:
    """Yield what was published more than once."""
    for topic, messages in shared.broker.topics.items():
        for message, count in Counter(
            (each.key, each.value, tuple(each.headers)) for each in messages
        ).items():
            if count > 1:
                yield f"{count} times among the {topic}: {message}"


async def _clusters(decider: Clusters | Unclustered) -> dict[str, StoredCluster]:
    if isinstance(decider, Unclustered):
        return {}
    return {
        cluster_id: StoredCluster(representative, tuple(members))
        async for cluster_id, representative, members in decider.walk()
    }


def _at_once(work: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine to its end, and return its result: stores in memory never wait."""
    try:
        work.send(None)
    except StopIteration as returned:
        result: _T = returned.value
        return result
    raise AssertionError(f"{work} has waited")
