"""Format times for events, as RFC 3339 in UTC with milliseconds, and parse those of crawlers."""

import math
import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

__all__ = ["END_SECONDS", "parse_time", "rfc3339"]

END_SECONDS = 253_402_300_800
"""The end of the year 9999, the last one that RFC 3339 can express, in epoch seconds."""

_TIME = re.compile(
    r"""(\d{4}-\d\d-\d\d)
        (?: [Tt\x20] (\d\d:\d\d) : (\d\d) (?: [.,] (\d{1,30}) )?
            \x20? (?: [Zz] | ([+-]\d\d) :? (\d\d) )? )?""",
    re.VERBOSE | re.ASCII,
)
_LEAP_SECOND = "60"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def rfc3339(epoch_ms: int) -> str:
    """Return the time in UTC; times outside the years 1970 to 9999 become the nearest time inside.

    A broker returns -1 for a record without a time, and a producer may write any 64-bit number.

    >>> rfc3339(1_700_000_000_123)
    '2023-11-14T22:13:20.123Z'

    Args:
        epoch_ms: milliseconds since 1970.
    """
    seconds, milliseconds = divmod(min(max(epoch_ms, 0), END_SECONDS * 1000 - 1), 1000)
    return f"{_to_the_second(seconds)}.{milliseconds:03}Z"


@lru_cache(maxsize=1024)
def _to_the_second(epoch_seconds: int) -> str:
    """Return the time without its fraction; cached, because the pages of a batch are seconds apart."""
    return (_EPOCH + timedelta(seconds=epoch_seconds)).isoformat()[:-6]


def parse_time(text: str) -> float:
    """Return the epoch seconds of a time in RFC 3339, or in a similar format.

    A space may replace the `T`; a missing offset means UTC, a missing time of day midnight. A leap second is
    read as the second after it.

    >>> parse_time("2023-11-14 22:13:20") == parse_time("2023-11-14T23:13:20+01:00")
    True

    Raises:
        ValueError: the text is not a time.
    """
    found = _TIME.fullmatch(text)
    if found is None:
        raise ValueError("not a time in RFC 3339")
    day, minute, second, fraction, hours, minutes = found.groups()
    is_leap = second == _LEAP_SECOND
    moment = (
        f"{day}T{minute or '00:00'}:{'59' if is_leap else second or '00'}{hours or '+00'}:{minutes or '00'}"
    )
    whole = (datetime.fromisoformat(moment) - _EPOCH) // timedelta(seconds=1)
    second_behind = whole + is_leap + 1
    # A fraction of nines is rounded, but not to the next second, which may be in a year that is refused.
    return min(second_behind - 1 + float(f"0.{fraction or 0}"), math.nextafter(second_behind, -math.inf))
