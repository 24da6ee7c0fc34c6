"""Read something once for all requests that need it at that time, however long each of them waits."""

import asyncio
from collections.abc import Callable, Coroutine
from time import monotonic
from typing import Generic, TypeVar

__all__ = ["SharedReading"]

Value = TypeVar("Value")


class SharedReading(Generic[Value]):
    """Keeps what was read, and reads again at a request once that is old.

    Args:
        read: reads; runs in a task of its own, which is not cancelled when a waiting request is.
        reused_seconds: how long what was read answers further requests.
    """

    def __init__(self, read: Callable[[], Coroutine[None, None, Value]], reused_seconds: float) -> None:
        self._read, self._reused_seconds = read, reused_seconds
        self._running: asyncio.Task[tuple[Value, float]] | None = None

    def begin(self) -> asyncio.Task[tuple[Value, float]]:
        """Begin to read, unless that runs already or what was read is not old; return the reading."""
        if self._running is None or self._is_over(self._running):
            self._running = asyncio.create_task(self._timed())
        return self._running

    async def value(self) -> Value:
        """Return what was read; all requests that wait get the error of a reading."""
        running = self.begin()
        await asyncio.wait([running])
        return running.result()[0]

    async def close(self) -> None:
        """Cancel the reading, if any."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    async def _timed(self) -> tuple[Value, float]:
        value = await self._read()
        return value, monotonic() + self._reused_seconds

    def _is_over(self, running: asyncio.Task[tuple[Value, float]]) -> bool:
        """Return whether a reading failed, or is too old."""
        if not running.done():
            return False
        return running.cancelled() or running.exception() is not None or monotonic() >= running.result()[1]
