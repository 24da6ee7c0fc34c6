"""What befalls a daemon: at which call it is killed or stands still, or after how long."""

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

__all__ = ["STEPS", "SWEEP_STEPS", "Fate", "fates", "points"]

STEPS: Final[Mapping[str, Sequence[str]]] = {
    "read": ("source.read",),
    "look": ("clusters.settled", "cluster_store.read"),
    "record": ("records.replace",),
    "probe and insert": ("index.probe_and_insert",),
    "fetch": ("records.fetch",),
    "decide": ("clusters.decide", "cluster_store.commit"),
    "mark": ("records.mark",),
    "entries out": ("index.remove",),
    "send": ("events.send",),
    "dead letters": ("dead_letters.send",),
    "commit": ("source.commit",),
    "trim": ("clusters.trim", "cluster_store.trim"),
    "let old graves go": ("cluster_store.sweep",),
}
"""The steps of a page's way, and the calls of each: before and after every one a process may end."""

SWEEP_STEPS: Final[Mapping[str, Sequence[str]]] = {
    "look through": ("records.walk",),
    "mark as expiring, then as gone": ("records.replace",),
    "out of the cluster": ("clusters.expire", "cluster_store.read", "cluster_store.commit"),
    "out of the index": ("index.remove",),
    "let the graves age": ("clusters.release", "cluster_store.age"),
    "look next door": ("records.fetch",),
    "drop the stub": ("records.drop",),
}
"""The same for the sweeper."""


class Fate(NamedTuple):
    """What one process lives through. It always ends by SIGKILL, and may stand still for a while before.

    Attributes:
        stop: the point at which it stands still; "" for any moment, None for never.
        still_seconds: for how long.
        kill: the point at which it ends; "" for any moment.
        moment_seconds: how long after its start, or after it went on, any moment is.
    """

    stop: str | None
    still_seconds: float
    kill: str
    moment_seconds: float

    @property
    def fault_count(self) -> int:
        """How many faults that is."""
        return 1 if self.stop is None else 2


def points(steps: Mapping[str, Sequence[str]]) -> list[str]:
    """Before and after every call."""
    return [
        f"{moment} {call}" for calls in steps.values() for call in calls for moment in ("before", "after")
    ]


def fates(seed: int, fault_count: int, still_seconds: tuple[float, float]) -> Iterator[Fate]:
    """Fates with so many faults in all; every point is a death twice before any is drawn at random.

    Args:
        seed: the same one gives the same fates.
        fault_count: at least 4 to each point.
        still_seconds: shortest and longest time to stand still, past the session timeout.
    """
    dice = random.Random(seed)
    places = points(STEPS)
    drawn = [_fate(dice, still_seconds, None, place) for place in places * 2]
    while sum(fate.fault_count for fate in drawn) < fault_count:
        stop = dice.choice([None, "", dice.choice(places), dice.choice(places)])
        drawn.append(_fate(dice, still_seconds, stop, ""))
    dice.shuffle(drawn)
    yield from drawn


def _fate(dice: random.Random, still_seconds: tuple[float, float], stop: str | None, kill: str) -> Fate:
    def turn(place: str) -> str:
        return f"{place} {dice.randint(1, 6)}"

    return Fate(
        stop=turn(stop) if stop else stop,
        still_seconds=dice.uniform(*still_seconds),
        kill=turn(kill) if kill else kill,
        moment_seconds=dice.uniform(0.0, 1.5),
    )
