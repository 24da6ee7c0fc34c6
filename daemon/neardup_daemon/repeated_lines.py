"""Limit how often a library says the same: aiokafka repeats an error every two seconds of an outage."""

import logging
from collections.abc import Sequence
from typing import Final

__all__ = ["REPEATED_SECONDS", "RepeatedLines"]

REPEATED_SECONDS: Final = 60.0
"""A message of a library is written once in so many seconds."""

_MOST_MESSAGES: Final = 256
"""Messages that are remembered at once: some name an attempt, and never come again."""


class RepeatedLines(logging.Filter):
    """Drops a message that a library has repeated within a minute; the next one says how many were dropped.

    Args:
        libraries: names of their loggers. Lines of other loggers, and lines with a traceback, always pass.
    """

    def __init__(self, libraries: Sequence[str]) -> None:
        super().__init__()
        self._libraries = frozenset(libraries)
        self._written: dict[tuple[str, int, str], tuple[float, int]] = {}
        """When each was last written, and how many were dropped since."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to write a line; sets its field `repeats` where equal ones were dropped before."""
        if record.name.partition(".")[0] not in self._libraries or record.exc_info:
            return True
        message = record.name, record.levelno, record.getMessage()
        last, dropped = self._written.get(message, (-REPEATED_SECONDS, 0))
        if record.created - last < REPEATED_SECONDS:
            self._written[message] = last, dropped + 1
            return False
        self._written.pop(message, None)
        if len(self._written) >= _MOST_MESSAGES:
            del self._written[next(iter(self._written))]  # the one that was written first
        self._written[message] = record.created, 0
        if dropped:
            record.fields = {"repeats": dropped}
        return True
