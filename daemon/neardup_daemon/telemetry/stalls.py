"""Detect partitions that make no progress although they have records or are to be taken over: a deadlock."""

from collections.abc import Collection, Hashable, Mapping
from typing import NamedTuple

from neardup_stream.message import Partition, topic_of

__all__ = ["Progress", "StallWatch"]


class Progress(NamedTuple):
    """How far a daemon has come.

    Attributes:
        lag: records not yet read, of each partition that is ours and taken over.
        committed: the offset below which everything is finished, by partition.
        in_flight_count: pages between reading and delivery.
        worker_end_count: how often pages took so long that their process was ended, which is slow progress.
        untaken: partitions that are still to be taken over, or may be ours again after a rebalance.
    """

    lag: Mapping[Partition, int]
    committed: Mapping[Partition, int]
    in_flight_count: int
    worker_end_count: int = 0
    untaken: Collection[Partition] = ()


class _Work(NamedTuple):
    """What waits, for a person, and what changes when it gets on."""

    text: str
    moved: Hashable


class StallWatch:
    """Looks at the progress now and then.

    Args:
        limit_seconds: so long may work lie there without a commit.
    """

    def __init__(self, limit_seconds: float) -> None:
        self._limit_seconds = limit_seconds
        self._seen: dict[Hashable, tuple[Hashable, float]] = {}

    def look(self, progress: Progress, now_seconds: float) -> str:
        """Return what has stalled, for a person; empty while everything progresses.

        Args:
            progress: as it is now.
            now_seconds: by any clock that only grows.
        """
        waiting = _waiting(progress)
        self._seen = {
            what: (work.moved, now_seconds if self._moved_on(what, work.moved) else self._seen[what][1])
            for what, work in waiting.items()
        }
        stalled = [
            waiting[what].text
            for what, (_, since) in self._seen.items()
            if now_seconds - since >= self._limit_seconds
        ]
        if not stalled:
            return ""
        return f"no commit for {self._limit_seconds:g} seconds (pipeline.stall_seconds): {'; '.join(stalled)}"

    def rest(self) -> None:
        """Begin anew: there was a reason for the pause."""
        self._seen = {}

    def _moved_on(self, what: Hashable, moved: Hashable) -> bool:
        return what not in self._seen or self._seen[what][0] != moved


def _waiting(progress: Progress) -> dict[Hashable, _Work]:
    """By partition, or none for pages in flight, where there is work.

    A partition is the same work in a rebalance, during its take-over and afterwards: the next of them gives
    what hangs no new time.
    """
    states = dict.fromkeys(progress.untaken, "is not taken over")
    states |= {partition: "has records to read" for partition, count in progress.lag.items() if count}
    waiting: dict[Hashable, _Work] = {
        partition: _Work(
            f"{topic_of(partition.input_id)}-{partition.number} {state}",
            (progress.committed.get(partition), progress.worker_end_count),
        )
        for partition, state in states.items()
    }
    if progress.in_flight_count:
        moved = (tuple(sorted(progress.committed.items())), progress.worker_end_count)
        waiting[None] = _Work("pages are in flight", moved)
    return waiting
