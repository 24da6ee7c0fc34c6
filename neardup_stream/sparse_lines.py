"""Count what may happen often, for a log that has at most one line a minute about it."""

from collections.abc import Callable
from threading import Lock
from time import monotonic

__all__ = ["SparseLines"]

_PAUSE_SECONDS = 60


class SparseLines:
    """Says when a line is due: the first at once, and each later one a minute behind the one before.

    Threads may call at once.

    Args:
        now_seconds: a monotonic clock.
    """

    def __init__(self, now_seconds: Callable[[], float] = monotonic) -> None:
        self._now_seconds = now_seconds
        self._lock = Lock()
        self._due_seconds = float("-inf")
        self._count = 0

    def count(self) -> int:
        """Count one case; return how many there were since the last line if one is due, else 0."""
        with self._lock:
            self._count += 1
            if (now := self._now_seconds()) < self._due_seconds:
                return 0
            self._due_seconds = now + _PAUSE_SECONDS
            counted, self._count = self._count, 0
            return counted
