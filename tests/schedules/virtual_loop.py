"""An event loop for several processes: time is virtual, chance decides who runs, and each may stop or die.

Whatever runs belongs to a *process*, by the context it was scheduled in. Within a process, callbacks run in
the order in which they were scheduled, as asyncio promises; of several processes one is drawn before each
callback. When no process can run, time jumps to the next timer. So a run is a function of its dice.

- A process that is *stopped* keeps what it has and runs nothing of it, as after SIGSTOP, while time passes.
- A process that is *killed* never runs again: no `finally`, no cancellation, as after SIGKILL.

What belongs to no process is the *world*, which is neither stopped nor killed.
"""

import asyncio
import heapq
import random
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from contextvars import Context, ContextVar, copy_context
from inspect import CORO_CLOSED, getcoroutinestate, iscoroutine
from typing import Any

__all__ = ["Process", "Stuck", "VirtualLoop"]


class Stuck(Exception):  # noqa: N818 - a finding, whose name says it
    """No process can run, and none waits for a time: a deadlock."""


class Process:
    """What stops and dies as one.

    Args:
        name: for people.

    Attributes:
        is_stopped: it runs nothing for now.
        is_dead: it never runs again.
        ready: its callbacks, in order.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_stopped = False
        self.is_dead = False
        self.ready: deque[asyncio.Handle] = deque()

    def kill(self) -> None:
        """End it here and now."""
        self.is_dead = True
        self.ready.clear()

    def put(self, handle: asyncio.Handle) -> None:
        """A callback whose time has come."""
        if not self.is_dead:
            self.ready.append(handle)


_OWNER: ContextVar[Process] = ContextVar("owner")


class VirtualLoop(asyncio.BaseEventLoop):
    """Runs processes on virtual time.

    Args:
        dice: decides who runs next.
        start_seconds: what `time` says at first.

    Attributes:
        world_context: of what belongs to no process.
        defects: what callbacks raised and no caller could catch.
    """

    def __init__(self, dice: random.Random, start_seconds: float) -> None:
        super().__init__()
        self._dice = dice
        self._now_seconds = start_seconds
        self._timers: list[tuple[float, float, int, asyncio.TimerHandle]] = []
        self._timer_count = 0
        self._tasks: list[asyncio.Task[Any]] = []
        self._world = Process("world")
        self._processes = [self._world]
        self.world_context = self._context_of(self._world)
        self.defects: list[BaseException] = []

    def start(self, name: str, main: Coroutine[Any, Any, None]) -> Process:
        """Start a new process that runs `main`."""
        process = Process(name)
        self._processes.append(process)
        self.create_task(main, context=self._context_of(process))
        return process

    def kill(self, process: Process) -> None:
        """Kill a process, or forget one that has come to its end."""
        process.kill()
        self._processes.remove(process)

    def owner(self) -> Process:
        """Whose code is running."""
        return _OWNER.get(self._world)

    def close_all(self) -> None:
        """Kill all processes, close their coroutines, and close the loop. Nothing can be scheduled any more.

        Closing a coroutine runs its `finally` blocks, in which it may wait again, or miss the running loop.
        """
        asyncio.set_event_loop(None)  # what misses the running loop would make another one, which stays open
        for process in self._processes:
            process.kill()
        for task in self._tasks:
            task._log_destroy_pending = False  # type: ignore[attr-defined] # the only way to say so
            coroutine: Any = task.get_coro()
            while not _is_closed(coroutine):
                with suppress(RuntimeError):
                    _innermost(coroutine).close()
        self.close()

    # What follows is what asyncio asks of a loop.

    def time(self) -> float:
        """Virtual seconds."""
        return self._now_seconds

    def call_soon(  # type: ignore[override] # callbacks have no types for their arguments here
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """Schedule a callback of the process that `context`, or the running code, belongs to."""
        handle = asyncio.Handle(callback, args, self, context)
        self._owner_of(handle).put(handle)
        return handle

    def call_at(  # type: ignore[override] # the same
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Schedule a callback; of those due at one moment, chance decides which comes first."""
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        self._timer_count += 1
        heapq.heappush(self._timers, (when, self._dice.random(), self._timer_count, timer))
        return timer

    def create_task(self, coro: Any, *, name: object = None, context: Context | None = None) -> Any:
        """Return a task, remembered for the end."""
        task = super().create_task(coro, name=name, context=context)
        self._tasks.append(task)
        return task

    def run_in_executor(  # type: ignore[override] # the same
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> Any:
        """Run it here: the result is the same, because threads share nothing with the stores."""
        future = self.create_future()
        future.set_result(func(*args))
        return future

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Keep what a callback raised; exceptions of dead tasks are ignored."""
        if "handle" in context:
            self.defects.append(context["exception"])

    def _run_once(self) -> None:
        while not (able := [each for each in self._processes if each.ready and not each.is_stopped]):
            self._advance()
        process = able[0] if len(able) == 1 else self._dice.choice(able)
        handle = process.ready.popleft()
        if not handle.cancelled():
            handle._run()

    def _advance(self) -> None:
        """To the next timer."""
        if not self._timers:
            raise Stuck
        when, _, _, timer = heapq.heappop(self._timers)
        if not timer.cancelled():
            self._now_seconds = max(when, self._now_seconds)
            self._owner_of(timer).put(timer)

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Cancelled timers are dropped when their time comes."""

    def _owner_of(self, handle: asyncio.Handle) -> Process:
        context: Context = handle._context  # type: ignore[attr-defined]
        return context.get(_OWNER, self._world)

    def _context_of(self, process: Process) -> Context:
        context = copy_context()
        context.run(_OWNER.set, process)
        return context


def _innermost(coroutine: Any) -> Any:
    """Return the coroutine that waits for something else than a coroutine."""
    while iscoroutine(inner := coroutine.cr_await) and not _is_closed(inner):
        coroutine = inner
    return coroutine


def _is_closed(coroutine: Any) -> bool:
    return getcoroutinestate(coroutine) == CORO_CLOSED
