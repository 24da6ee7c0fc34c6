"""The faults of a daemon: at which call, or after how long, it is killed or paused."""

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

__all__ = ["STEPS", "SWEEP_STEPS", "Fate", "fates", "fault_name", "named_faults", "points"]

STEPS: Final[Mapping[str, Sequence[str]]] = {
    "read": ("source.read",),
    "look": ("clusters.already_decided", "cluster_store.read"),
    "record": ("records.replace",),
    "probe and insert": ("index.probe_and_insert",),
    "fetch": ("records.fetch",),
    "decide": ("decide", "cluster_store.commit"),
    "write ranks": ("records.write_ranks",),
    "entries out": ("index.remove",),
    "note": ("source.note_decided",),
    "send": ("events.send",),
    "dead letters": ("dead_letters.send",),
    "commit": ("source.commit",),
    "trim": ("clusters.trim", "cluster_store.trim"),
    "remove old tombstones": ("clusters.tidy", "cluster_store.due", "cluster_store.sweep"),
}
"""The steps of a page's way, and the calls of each: before and after every one a process may end."""

SWEEP_STEPS: Final[Mapping[str, Sequence[str]]] = {
    "look through": ("records.walk",),
    "mark as expiring, then as gone": ("records.replace",),
    "out of the cluster": ("clusters.expire", "cluster_store.read", "cluster_store.commit"),
    "out of the index": ("index.remove",),
    "let the tombstones age": ("clusters.release", "cluster_store.age"),
    "look next door": ("records.fetch",),
    "drop the stub": ("records.drop",),
}
"""The same for the sweeper."""


class Fate(NamedTuple):
    """The faults of one process. It always ends by SIGKILL, and may be paused for a while before.

    Attributes:
        stop: the point at which it is paused; "" for any moment, None for never.
        still_seconds: for how long.
        kill: the point at which it ends; "" for any moment.
        moment_seconds: how long after its start, or after it went on, any moment is.
        tries: how many processes may miss a point, because they do not come to it in time.
    """

    stop: str | None
    kill: str
    still_seconds: float = 0.0
    moment_seconds: float = 0.0
    tries: int = 3

    @property
    def fault_count(self) -> int:
        """How many faults that is."""
        return 1 if self.stop is None else 2

    @property
    def fault_names(self) -> set[str]:
        """Return what each of them is, as `live_through` counts it."""
        killed = {fault_name("kill", self.kill)}
        return killed if self.stop is None else killed | {fault_name("stop", self.stop)}

    def sooner(self) -> "Fate":
        """Return the same at the first turn, with one try less."""
        stop = self.stop if self.stop is None else point_of(self.stop)
        return self._replace(stop=stop, kill=point_of(self.kill), tries=self.tries - 1)


def point_of(written: str) -> str:
    """Return a failpoint without its turn."""
    return " ".join(written.split()[:2])


def named_faults(lives: Iterable[Fate]) -> set[str]:
    """Return what all their faults are, as `live_through` counts them."""
    return set().union(*(each.fault_names for each in lives))


def fault_name(fault: str, written: str) -> str:
    """Return what it is, and its point without the turn."""
    return f"{fault} {point_of(written) or 'at any moment'}"


def points(steps: Mapping[str, Sequence[str]]) -> list[str]:
    """Before and after every call."""
    return [
        f"{moment} {call}" for calls in steps.values() for call in calls for moment in ("before", "after")
    ]


def fates(seed: int, fault_count: int, still_seconds: tuple[float, float]) -> list[Fate]:
    """Fates with so many faults in all: at every point a kill and a pause, the others at any moment.

    Args:
        seed: the same one gives the same fates.
        fault_count: at least three to each point.
        still_seconds: shortest and longest pause, past the session timeout.
    """
    dice = random.Random(seed)

    def fate(stop: str | None, kill: str) -> Fate:
        def turn(place: str) -> str:
            return f"{place} {dice.randint(1, 6)}" if place else ""

        return Fate(
            stop=stop if stop is None else turn(stop),
            kill=turn(kill),
            still_seconds=dice.uniform(*still_seconds),
            moment_seconds=dice.uniform(0.0, 1.5),
        )

    places = points(STEPS)
    drawn = [fate(None, place) for place in places] + [fate(place, "") for place in places]
    while sum(each.fault_count for each in drawn) < fault_count:
        drawn.append(fate(dice.choice([None, ""]), dice.choice(["", dice.choice(places)])))
    dice.shuffle(drawn)
    return drawn
