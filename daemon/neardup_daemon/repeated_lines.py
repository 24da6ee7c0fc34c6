"""Limit how often a library says the same: aiokafka repeats an error every two seconds of an outage."""

import logging
from collections.abc import Sequence
from threading import RLock
from typing import Final

__all__ = ["RepeatedLines"]

_REPEATED_SECONDS: Final = 60.0
"""A message of a library is written once in so many seconds."""

_MOST_MESSAGES: Final = 256
"""Messages that are remembered at once: some name an attempt, and never come again."""


class RepeatedLines(logging.Filter):
    """Drops a message that a library has repeated within a minute; the next one says how many were dropped.

    One that does not come while 256 others do is forgotten, with the number of those that were dropped.

    Args:
        libraries: names of their loggers. Lines of other loggers, and lines with a traceback, always pass.
    """

    def __init__(self, libraries: Sequence[str]) -> None:
        super().__init__()
        self._libraries = frozenset(libraries)
        self._written: dict[tuple[str, int, str], tuple[float, int]] = {}
        """When each was last written, and how many were dropped since; the one that came last is last."""
        self._lock = RLock()  # filters run without their handler's; what is collected meanwhile may log too

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to write a line; sets its field `repeats` where equal ones were dropped before."""
        if record.name.partition(".")[0] not in self._libraries or record.exc_info:
            return True
        try:
            message = record.name, record.levelno, record.getMessage()
        except Exception:  # noqa: BLE001 - of any argument; the handler reports it, and raises nothing
            return True
        with self._lock:
            dropped = self._write(message, record.created)
        if dropped:
            record.fields = {"repeats": dropped}
        return dropped is not None

    def _write(self, message: tuple[str, int, str], now: float) -> int | None:
        """Return how many equal ones were dropped before; None to drop this one too."""
        last, dropped = self._written.pop(message, (-_REPEATED_SECONDS, 0))
        if 0 <= now - last < _REPEATED_SECONDS:  # less than 0 where the clock was set back
            self._written[message] = last, dropped + 1
            return None
        if len(self._written) >= _MOST_MESSAGES:
            del self._written[next(iter(self._written))]
        self._written[message] = now, 0
        return dropped
