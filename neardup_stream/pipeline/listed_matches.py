"""Choose the matches that an event lists, so that long ids and URLs do not make it large."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from neardup_stream.match import Match

__all__ = ["MAX_LISTED_BYTES", "listed_matches"]

MAX_LISTED_BYTES: Final = 1 << 16
"""Most bytes of the ids and URLs of all matches in a list, except for a single match."""

_MOST_BYTES_A_CHARACTER: Final = 4


def listed_matches(matches: Sequence[Match], limit: int) -> Sequence[Match]:
    """Return the first matches, as many as fit in the limit and in `MAX_LISTED_BYTES`, and at least one."""
    listed = matches[:limit]
    if sum(len(match.id) + len(match.url) for match in listed) * _MOST_BYTES_A_CHARACTER <= MAX_LISTED_BYTES:
        return listed
    sizes = (len(match.id.encode()) + len(match.url.encode()) for match in listed)
    count = bisect_right(list(accumulate(sizes)), MAX_LISTED_BYTES)
    return listed[: max(count, 1)]
