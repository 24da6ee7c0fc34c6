"""Clocks that jump, each host its own, and what must be so in spite of it.

The pipeline uses the clock of the store. A host's own clock only shows whether the host may sweep.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from neardup_daemon.clocks import MOST_SECONDS_APART

from neardup_stream.stores.page_record import PageRecord

__all__ = ["ClockJump", "Clocks", "draw_clock_jumps", "early_expiry", "host_clock"]

_JUMPS = 6
_SKEW_SECONDS = 5
"""Daemons know the store's time to 2 s, and records count whole seconds."""


class ClockJump(NamedTuple):
    """From this time on the clock of a daemon's host is so far ahead of the true time."""

    daemon: int
    at_seconds: float
    ahead_seconds: float


def draw_clock_jumps(
    daemons: int, duration_seconds: float, furthest_seconds: float, dice: random.Random
) -> Iterator[ClockJump]:
    """Jumps of every clock, by less than is refused or by more."""
    for daemon in range(daemons):
        for _ in range(_JUMPS):
            furthest = dice.choice([0.0, MOST_SECONDS_APART / 2, furthest_seconds])
            yield ClockJump(daemon, dice.uniform(0, duration_seconds), dice.uniform(-furthest, furthest))


class Clocks(NamedTuple):
    """The clocks that a daemon sees; epoch seconds.

    Attributes:
        store: the time of the store, as the daemon knows it.
        host: its own.
    """

    store: Callable[[], float]
    host: Callable[[], float]

    @property
    def is_trusted(self) -> bool:
        """Whether they agree well enough to sweep."""
        return abs(self.host() - self.store()) <= MOST_SECONDS_APART


def host_clock(
    true_seconds: Callable[[], float], begin_seconds: float, jumps: Sequence[ClockJump]
) -> Callable[[], float]:
    """Return the clock of one host.

    Args:
        true_seconds: the true time.
        begin_seconds: when the story began.
        jumps: of this clock.
    """
    in_order = sorted(jumps, key=lambda jump: jump.at_seconds)

    def seconds() -> float:
        now = true_seconds()
        past = [jump.ahead_seconds for jump in in_order if begin_seconds + jump.at_seconds <= now]
        return now + (past[-1] if past else 0.0)

    return seconds


def early_expiry(record: PageRecord, now_seconds: float, page_seconds: int | None) -> str | None:
    """Return what is wrong about the time of a record that is written now; None where nothing is."""
    ahead = record.seen_seconds - now_seconds
    if ahead > _SKEW_SECONDS:
        return f"{record.id} v{record.version} is seen {ahead:.0f} s before its time"
    if record.state == "expiring" and page_seconds is not None and -ahead < page_seconds - _SKEW_SECONDS:
        return f"{record.id} v{record.version} expires after {-ahead:.0f} s"
    return None
