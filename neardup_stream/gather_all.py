"""Several things at once, of which none is left behind when another fails."""

import asyncio
from collections.abc import Awaitable, Iterable
from typing import TypeVar

__all__ = ["gather_all"]

_T = TypeVar("_T")


async def gather_all(work: Iterable[Awaitable[_T]]) -> list[_T]:
    """The result of each, in order, once all have ended; the first failure is raised only then.

    So whoever repeats the work meets nothing of the first time that is still under way.
    """
    results: list[_T] = []
    for ended in await asyncio.gather(*work, return_exceptions=True):
        if isinstance(ended, BaseException):
            raise ended
        results.append(ended)
    return results
