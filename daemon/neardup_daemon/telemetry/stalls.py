"""Detect partitions that make no progress although they have records: a deadlock."""

from collections.abc import Hashable, Mapping
from typing import NamedTuple

from neardup_stream.message import Partition

__all__ = ["Progress", "StallWatch"]


class Progress(NamedTuple):
    """How far a daemon has come.

    Attributes:
        lag: records not yet read, of each partition that is ours.
        committed: the offset below which everything is finished, by partition.
        in_flight_count: pages between reading and delivery.
        worker_end_count: how often pages took so long that their process was ended, which is slow progress.
    """

    lag: Mapping[Partition, int]
    committed: Mapping[Partition, int]
    in_flight_count: int
    worker_end_count: int = 0


class StallWatch:
    """Looks at the progress now and then.

    Args:
        limit_seconds: so long may work lie there without a commit.
    """

    def __init__(self, limit_seconds: float) -> None:
        self._limit_seconds = limit_seconds
        self._seen: dict[str, tuple[Hashable, float]] = {}

    def look(self, progress: Progress, now_seconds: float) -> str:
        """Return what has stalled, for a person; empty while everything progresses.

        Args:
            progress: as it is now.
            now_seconds: by any clock that only grows.
        """
        waiting = _waiting(progress)
        self._seen = {
            what: (moved, now_seconds if self._moved_on(what, moved) else self._seen[what][1])
            for what, moved in waiting.items()
        }
        stalled = [
            what for what, (_, since) in self._seen.items() if now_seconds - since >= self._limit_seconds
        ]
        if not stalled:
            return ""
        return f"no commit for {self._limit_seconds:g} seconds (pipeline.stall_seconds): {'; '.join(stalled)}"

    def rest(self) -> None:
        """Begin anew: there was a reason for the pause."""
        self._seen = {}

    def _moved_on(self, what: str, moved: Hashable) -> bool:
        return what not in self._seen or self._seen[what][0] != moved


def _waiting(progress: Progress) -> dict[str, Hashable]:
    """By name, where there is work, and what changes when it gets on."""
    waiting: dict[str, Hashable] = {
        f"{partition.input_id}-{partition.number} has records to read": (
            progress.committed.get(partition),
            progress.worker_end_count,
        )
        for partition, count in progress.lag.items()
        if count
    }
    if progress.in_flight_count:
        waiting["pages are in flight"] = (
            tuple(sorted(progress.committed.items())),
            progress.worker_end_count,
        )
    return waiting
