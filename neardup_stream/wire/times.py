"""Times as events write them: RFC 3339, UTC, milliseconds."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache

__all__ = ["LATEST_SECONDS", "rfc3339"]

LATEST_SECONDS = 253_402_300_799
"""The last second of the year 9999, the latest RFC 3339 can write, in epoch seconds."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def rfc3339(epoch_ms: int) -> str:
    """The moment in UTC; what lies outside the years 1970 to 9999 becomes the nearest moment inside.

    A broker says -1 for a record without a time, and a producer may write any 64-bit number.

    >>> rfc3339(1_700_000_000_123)
    '2023-11-14T22:13:20.123Z'

    Args:
        epoch_ms: milliseconds since 1970.
    """
    seconds, milliseconds = divmod(min(max(epoch_ms, 0), LATEST_SECONDS * 1000), 1000)
    return f"{_to_the_second(seconds)}.{milliseconds:03}Z"


@lru_cache(maxsize=1024)
def _to_the_second(epoch_seconds: int) -> str:
    """Remembered: the pages of a batch came within a few seconds."""
    return (_EPOCH + timedelta(seconds=epoch_seconds)).isoformat()[:-6]
