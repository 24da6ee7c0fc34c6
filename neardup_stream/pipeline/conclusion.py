"""Computes what is counted, published and still to be done from the decisions of a batch. Pure."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from collections.abc import Set as AbstractSet
from itertools import filterfalse
from typing import NamedTuple

from neardup_stream.match import version_byte
from neardup_stream.message import Partition, Position
from neardup_stream.meters import Outcome
from neardup_stream.page import Handle
from neardup_stream.pipeline.arrival import Lesson, Prepared
from neardup_stream.pipeline.batch import Decisions
from neardup_stream.pipeline.decision_record import DecisionRecord
from neardup_stream.pipeline.delivery_guarantees import OutgoingMessage
from neardup_stream.pipeline.follow_up import FollowUp
from neardup_stream.stores.protocol import RankWrite

__all__ = ["Conclusion", "LongEnoughPositions", "conclude", "without_partitions"]


class LongEnoughPositions(NamedTuple):
    """Which records of a batch brought a page that is long enough to be compared.

    Attributes:
        pages: positions of the pages that are unique, duplicate or left to the archives, and so not of those
            that are too short.
        duplicates: those of them that are duplicates.
    """

    pages: AbstractSet[Position]
    duplicates: AbstractSet[Position]


class Conclusion(NamedTuple):
    """The result of a batch.

    Attributes:
        outcomes: how many records met each outcome, by reason where there is one; they sum to the records.
        events: in the order of their records.
        follow_up: what is left to do.
        long_enough: the pages that are long enough to be compared; None where a batch took the short path,
            which does not collect them.
    """

    outcomes: Counter[tuple[Outcome, str]]
    events: list[OutgoingMessage]
    follow_up: FollowUp
    long_enough: LongEnoughPositions | None = None


def conclude(prepared: Prepared, runs: Iterable[Decisions]) -> Conclusion:
    """Add up a batch, of which these are all the runs.

    Raises:
        CorruptData: a decision record is not what this program writes.
    """
    outcomes: Counter[tuple[Outcome, str]] = Counter()
    events: list[OutgoingMessage] = []
    follow_up = FollowUp([], [], [])
    long_enough: set[Position] = set()
    duplicates: set[Position] = set()
    for rejected in prepared.rejected:
        outcomes["dead_letter", rejected.error.reason] += 1
    for skipped in prepared.skipped:
        outcomes["skipped", skipped.reason] += 1
    for run in runs:
        follow_up.former.extend(run.former)
        for position in filterfalse(run.alone.__contains__, run.positions):
            decided = run.decided.get(position)
            record = (
                _FINISHED if decided is None or decided.is_finished else DecisionRecord.unpack(decided.record)
            )
            outcomes[record.outcome, record.reason] += 1
            if record.outcome in _LONG_ENOUGH:
                long_enough.add(position)
            if record.outcome == "duplicate":
                duplicates.add(position)
            if record.events:
                events += [OutgoingMessage(position, event) for event in record.events]
            if decided is not None and decided.rank and record.handle:
                write = RankWrite(Handle(record.handle), version_byte(record.version), decided.rank)
                follow_up.rank_writes.append(write)
        outcomes.update({("unique", ""): len(run.alone)} if run.alone else {})
        long_enough.update(run.alone)
        follow_up.rank_writes.extend(write for write in run.alone.values() if write.rank)
        follow_up.lessons.extend(_lessons(prepared, run, long_enough))
    return Conclusion(outcomes, events, follow_up, LongEnoughPositions(long_enough, duplicates))


def _lessons(prepared: Prepared, run: Decisions, long_enough: AbstractSet[Position]) -> Iterator[Lesson]:
    """Yield the lessons of long enough pages that nearly equal no other, in the order of their records."""
    for position in run.positions if prepared.lessons else ():
        is_taught = position in run.alone or (position in long_enough and position in run.distinct)
        if is_taught and position in prepared.lessons:
            yield prepared.lessons[position]


def without_partitions(
    prepared: Prepared, runs: Iterable[Decisions], lost: Collection[Partition]
) -> tuple[Prepared, list[Decisions]]:
    """Return a batch and its runs without the records of some partitions."""
    kept = prepared._replace(
        items=[each for each in prepared.items if each.record.position.partition not in lost],
        rejected=[each for each in prepared.rejected if each.record.position.partition not in lost],
        skipped=[each for each in prepared.skipped if each.record.position.partition not in lost],
    )
    return kept, [
        run._replace(
            positions=[one for one in run.positions if one.partition not in lost],
            alone={one: write for one, write in run.alone.items() if one.partition not in lost},
        )
        for run in runs
    ]


_LONG_ENOUGH = frozenset({"unique", "duplicate", "archived"})
_FINISHED = DecisionRecord("superseded")
