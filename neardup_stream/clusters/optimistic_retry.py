"""Retry optimistic transactions: read, decide, commit if nothing has changed; else later and with less."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Sequence
from random import random
from typing import TypeVar

from neardup_stream.clusters.commit_limits import CommitLimits
from neardup_stream.clusters.snapshot import StaleSnapshot
from neardup_stream.errors import CorruptData, StoreUnavailable

__all__ = ["ATTEMPTS", "Attempts", "Jitter", "Pace", "TakeTurn", "retry_on_conflict"]

ATTEMPTS = 50
"""Conflicts in a row after which a step waits as if the store were unavailable."""

_REPEATS = ATTEMPTS // 2
"""Stored cells that do not fit together, so often in a row the very same ones, are no race with others."""

_FIRST_PAUSE_SECONDS = 0.001
_LONGEST_PAUSE_SECONDS = 0.02
"""Some commits of others."""

_SHRINKS_EVERY = 3
"""Conflicts in a row after which a batch is cut down to a quarter."""

_TURN_AFTER = 6
"""Conflicts in a row after which a batch of one asks the others to wait."""

TURN_SECONDS = 1.0
"""How long other daemons wait at most, if the daemon that took the turn has died."""

Jitter = Callable[[], float]
"""Draws a number from [0, 1)."""

TakeTurn = Callable[[bytes, float], Awaitable[bool]]
"""See `ClusterStore.take_turn`."""

_T = TypeVar("_T")


async def retry_on_conflict(attempt: Callable[[], Awaitable[_T | None]], jitter: Jitter = random) -> _T:
    """Return what the first attempt gives during which nothing moved.

    Args:
        attempt: gives None, or raises StaleSnapshot, on a conflict.
        jitter: of the pauses.

    Raises:
        CorruptData: what is stored contradicts itself.
        StoreUnavailable: all of `ATTEMPTS` met a conflict.
    """
    attempts, repeats = Attempts(jitter), _Repeats()
    while True:
        await attempts.begin()
        try:
            result = await attempt()
        except StaleSnapshot as stale:
            repeats.note(stale)
            continue
        if result is not None:
            return result


class _Repeats:
    """Counts how often in a row the very same cells did not fit together."""

    def __init__(self) -> None:
        self._last: StaleSnapshot | None = None
        self._count = 0

    def note(self, stale: StaleSnapshot | None) -> None:
        """Take in why an attempt failed; None for another reason.

        Raises:
            CorruptData: it is no race with others.
        """
        self._count = self._count + 1 if stale is not None and stale.repeats(self._last) else 0
        self._last = stale
        if self._count == _REPEATS:
            raise CorruptData(f"{stale}, and no other daemon changes that: run recover")


class Attempts:
    """Counts attempts of one step, each after a conflict in the one before.

    Args:
        jitter: of the pauses.
    """

    def __init__(self, jitter: Jitter = random) -> None:
        self._jitter = jitter
        self._count = 0

    async def begin(self) -> None:
        """Wait before the next attempt.

        Raises:
            StoreUnavailable: all of `ATTEMPTS` met a conflict.
        """
        if self._count == ATTEMPTS:
            raise _always_late()
        await _pause(self._count, self._jitter)
        self._count += 1


class Pace:
    """How much of a batch is decided at once: all of it, less after conflicts, and more again after none.

    A batch of one that meets conflicts all the same takes a turn, in which all others meet conflicts: so it
    always gets through.

    Args:
        size: of the batch.
        take_turn: of the store.
        jitter: of the pauses.

    Attributes:
        turn: token for the next commit, empty while there is no need of one.
        is_first: whether there has been no conflict yet.
    """

    def __init__(self, size: int, take_turn: TakeTurn, jitter: Jitter = random) -> None:
        self.turn = b""
        self.is_first = True
        self._limits = CommitLimits(size)
        self._take_turn = take_turn
        self._jitter = jitter
        self._conflicts = 0
        self._repeats = _Repeats()

    @property
    def limit(self) -> int:
        """Most requests to decide at once."""
        return self._limits.limit

    def advance(self) -> None:
        """Go on after a commit."""
        self._limits.advance()
        self.turn = b""
        self.is_first = False
        self._conflicts = 0

    def shrink(self, counts: Sequence[int]) -> None:
        """Decide at most so many requests with each of the next commits, see `CommitLimits`."""
        self._limits.shrink(counts)

    async def back_off(self, stale: StaleSnapshot | None = None) -> None:
        """Wait after a conflict.

        Args:
            stale: why there is no plan; None where the commit was refused.

        Raises:
            CorruptData: what is stored contradicts itself.
            StoreUnavailable: it was the last of `ATTEMPTS` in a row; or the store is unavailable.
        """
        self.is_first = False
        self._conflicts += 1
        self._repeats.note(stale)
        if self._conflicts == ATTEMPTS:
            raise _always_late()
        if self._conflicts % _SHRINKS_EVERY == 0:
            self._limits.back_off()
        if self.limit == 1 and self._conflicts >= _TURN_AFTER:
            token = self.turn or secrets.token_bytes(8)
            self.turn = token if await self._take_turn(token, TURN_SECONDS) else b""
        if not self.turn:
            await _pause(self._conflicts, self._jitter)


async def _pause(conflicts: int, jitter: Jitter) -> None:
    """Wait after so many conflicts in a row; the first is answered at once."""
    if conflicts > 1:
        longest = min(_FIRST_PAUSE_SECONDS * 2 ** (conflicts - 2), _LONGEST_PAUSE_SECONDS)
        await asyncio.sleep(longest * jitter())


def _always_late() -> StoreUnavailable:
    return StoreUnavailable(f"other daemons changed the same clusters first, {ATTEMPTS} times over")
