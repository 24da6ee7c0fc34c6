"""Crashes and stalls at any call of a store or stream, counted out beforehand so that a failing run can be
repeated.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from inspect import iscoroutinefunction
from typing import Any, Literal, NamedTuple, TypeVar

__all__ = ["Burn", "Crash", "Fuse", "Moment", "Stall", "crashing"]

Moment = Literal["before", "after", "cancelled"]

_T = TypeVar("_T")


class Crash(Exception):  # noqa: N818 - no error: a process that is no more
    """The process is gone; what it had written stays written."""


class Burn(NamedTuple):
    """So many calls go well, then the next one crashes: before or after it was done, or it is cancelled."""

    calls: int
    moment: Moment


class Fuse:
    """Counts calls and crashes at those that were chosen; afterwards every call succeeds.

    Args:
        burns: one after the other.
    """

    def __init__(self, burns: Iterable[Burn] = ()) -> None:
        self._burns = list(burns)
        self._call_count = 0
        self._run: asyncio.Task[None] | None = None

    @property
    def has_burnt(self) -> bool:
        """Whether every crash has happened."""
        return not self._burns

    async def until_done(self, step: Callable[[], Awaitable[None]]) -> None:
        """Run the step, again and again until it comes to its end without a crash."""
        while not await self.is_done(step):
            pass

    async def is_done(self, step: Callable[[], Awaitable[None]]) -> bool:
        """Run the step once; whether it came to its end without a crash."""
        self._run = asyncio.ensure_future(_awaited(step))
        is_done = False
        try:
            await self._run
            is_done = True
        except* (Crash, asyncio.CancelledError):
            pass
        return is_done

    async def burn(self, call: Callable[[], Awaitable[_T]]) -> _T:
        """One call, unless it is its turn to crash."""
        await asyncio.sleep(0)
        if not self._burns or self._call_count < self._burns[0].calls:
            self._call_count += 1
            return await call()
        self._call_count = 0
        moment = self._burns.pop(0).moment
        if moment == "before":
            raise Crash
        result = await call()
        if moment == "after":
            raise Crash
        assert self._run is not None
        self._run.cancel()
        return result


class Stall:
    """A process that is paused at one call, and at every other one meanwhile, until it is resumed.

    Args:
        calls: so many calls succeed before.
        moment: whether the call in which it stops was done by then.
    """

    def __init__(self, calls: int, moment: Literal["before", "after"]) -> None:
        self._calls_left = calls
        self._moment = moment
        self._is_resumed = asyncio.Event()
        self._is_paused = asyncio.Event()

    @property
    def was_met(self) -> bool:
        """Whether it came to the call at all."""
        return self._is_paused.is_set()

    async def until_still(self, process: asyncio.Task[None]) -> None:
        """Wait until the process is paused, or has ended without a pause."""
        met = asyncio.create_task(self._is_paused.wait())
        await asyncio.wait({met, process}, return_when=asyncio.FIRST_COMPLETED)
        met.cancel()

    def resume(self) -> None:
        """Resume it, for good."""
        self._is_resumed.set()

    async def burn(self, call: Callable[[], Awaitable[_T]]) -> _T:
        """One call, unless it is the time to pause."""
        await asyncio.sleep(0)
        is_it = self._calls_left == 0
        self._calls_left -= 1
        if self._calls_left < 0 and not (is_it and self._moment == "after"):
            self._is_paused.set()
            await self._is_resumed.wait()
        result = await call()
        if is_it and self._moment == "after":
            self._is_paused.set()
            await self._is_resumed.wait()
        return result


def crashing(target: Any, fuse: Fuse | Stall) -> Any:
    """Return the same store or stream, but in one of its calls the process crashes, or is paused."""
    return _Frail(target, fuse)


class _Frail:
    def __init__(self, target: Any, fuse: Fuse | Stall) -> None:
        self._target = target
        self._fuse = fuse

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._target, name)
        if not iscoroutinefunction(member):
            return member

        async def call(*arguments: Any, **named: Any) -> Any:
            return await self._fuse.burn(lambda: member(*arguments, **named))

        return call


async def _awaited(step: Callable[[], Awaitable[None]]) -> None:
    await step()
