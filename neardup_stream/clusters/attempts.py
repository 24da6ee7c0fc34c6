"""Optimistic transactions: read, decide, and commit if nothing has moved; else once more."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from neardup_stream.clusters.view import StaleView
from neardup_stream.errors import StoreUnavailable

__all__ = ["ATTEMPTS", "until_unmoved"]

ATTEMPTS = 50
"""So often others may come first before a batch is told to wait; somebody succeeds each time."""

_T = TypeVar("_T")


async def until_unmoved(attempt: Callable[[int], Awaitable[_T | None]]) -> _T:
    """What the first attempt gives during which nobody moved anything; each is told its number, from 0.

    Args:
        attempt: gives None, or raises StaleView, when somebody did.

    Raises:
        StoreUnavailable: there was always somebody.
    """
    for number in range(ATTEMPTS):
        try:
            result = await attempt(number)
        except StaleView:
            continue
        if result is not None:
            return result
    raise StoreUnavailable(f"other daemons changed the same clusters first, {ATTEMPTS} times over")
