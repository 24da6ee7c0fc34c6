"""Run several awaitables concurrently and wait for all of them, even if one fails."""

import asyncio
from collections.abc import Awaitable, Iterable
from typing import TypeVar

__all__ = ["gather_all"]

_T = TypeVar("_T")


async def gather_all(work: Iterable[Awaitable[_T]]) -> list[_T]:
    """Return the result of each, in order; if any failed, raise the first failure after all have ended.

    So a caller that retries the work does not overlap with parts of the first attempt.
    """
    results: list[_T] = []
    for ended in await asyncio.gather(*work, return_exceptions=True):
        if isinstance(ended, BaseException):
            raise ended
        results.append(ended)
    return results
