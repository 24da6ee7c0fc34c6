"""Times as events write them: RFC 3339, UTC, milliseconds."""

from datetime import UTC, datetime, timedelta

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
    inside_ms = min(max(epoch_ms, 0), LATEST_SECONDS * 1000)
    moment = _EPOCH + timedelta(milliseconds=inside_ms)
    return f"{moment.isoformat(timespec='milliseconds')[:-6]}Z"
