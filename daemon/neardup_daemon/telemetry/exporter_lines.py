"""Log what the exporter of spans says without secrets, and in equal lines where it says the same again."""

import logging
import re
from typing import Final

from neardup_daemon.redaction import HIDDEN

__all__ = ["ExporterLines"]

_QUERY: Final = re.compile(r"(?<=\?)\S+")
"""Errors name the endpoint as a path with its query, where any parameter may be a secret."""

_TIMES: Final = re.compile(r" in \d[\d.]*s\b| \((?:connect|read) timeout=[^)]*\)")
"""What differs each time: the wait before the next attempt, and what was left of the deadline."""


class ExporterLines(logging.Filter):
    """Hides the query of the endpoint, and drops times, so that a line that is repeated is equal."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Change the message of a line, and write it."""
        record.msg = _QUERY.sub(HIDDEN, _TIMES.sub("", record.getMessage()))
        record.args = ()
        return True
