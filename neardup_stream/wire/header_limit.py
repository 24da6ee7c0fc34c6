"""Limit the headers of a record."""

from typing import Final

from neardup_stream.errors import BadPage
from neardup_stream.message import Headers

__all__ = ["DEFAULT_MAX_HEADERS", "check_headers", "too_many_headers"]

DEFAULT_MAX_HEADERS: Final = 256
"""Of a record."""

_OWN: Final = "neardup."
"""How the names of our own headers begin, such as those of a replay, which do not count."""


def check_headers(headers: Headers, most: int) -> None:
    """Return if there are not too many.

    Raises:
        BadPage: there are.
    """
    if len(headers) > most and (count := sum(not name.startswith(_OWN) for name, _ in headers)) > most:
        raise too_many_headers(count, most)


def too_many_headers(count: int, most: int) -> BadPage:
    """Return the error of a record with too many headers."""
    return BadPage("over_limit", f"the record has {count} headers, the limit is {most}", "max_headers")
