"""Run queries in threads of their own, so that they take none from the pipeline of the same process."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import TracebackType
from typing import ParamSpec, Self, TypeVar

__all__ = ["Threads"]

_Given = ParamSpec("_Given")
_Returned = TypeVar("_Returned")


class Threads:
    """Runs calls in threads of its own; a context manager that ends them.

    A call waits while all threads are taken. One whose request was cancelled runs to its end if it has begun,
    and never if it has not.

    Args:
        most: how many there are at most.
    """

    def __init__(self, most: int) -> None:
        self._executor = ThreadPoolExecutor(most, thread_name_prefix="query-api")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Start no call any more; what has begun ends by itself."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    async def run(
        self, function: Callable[_Given, _Returned], /, *args: _Given.args, **kwargs: _Given.kwargs
    ) -> _Returned:
        """Return what a call returns, as `asyncio.to_thread` does."""
        call = partial(function, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._executor, call)
