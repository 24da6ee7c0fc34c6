"""Handle the signals that end a command: the first one drains, a second one cancels."""

import asyncio
import logging
import signal
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple, TypeVar

from neardup_daemon.ending_signals import heard_signals
from neardup_daemon.exit_codes import OK, after_signal
from neardup_daemon.logs import log_event
from neardup_stream.errors import DependencyLost

__all__ = ["Stop", "Stopped", "run_until_stopped", "unless_stopped"]

_T = TypeVar("_T")

_logger = logging.getLogger(__name__)


class Stop:
    """The stop that signals have requested.

    Attributes:
        requested: set by the first signal.
        is_watched: whether a task waits for `requested`; until then the first signal cuts short as well.
        exit_code: 0 after a clean stop, 128 + signal after a second one.
        is_cut_short: whether the block was cut short.
        unfinished_code: that of a command which a stop leaves undone, and which cannot go on from there:
            128 + signal, 0 without a stop.
    """

    def __init__(self) -> None:
        self.requested = asyncio.Event()
        self.is_watched = self.is_cut_short = False
        self.exit_code = self.unfinished_code = OK
        self._grace_seconds = 0.0
        self._cut: asyncio.TimerHandle | None = None
        self._cancel_count = 0

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """Listen while the block runs; a second signal cuts it short, and `exit_code` says so.

        Signals are handled as before behind the block.
        """
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine runs in a task
        cancelled_before, self._cancel_count = task.cancelling(), 0
        former = {number: signal.getsignal(number) for number in heard_signals()}
        for number in former:
            loop.add_signal_handler(number, partial(self._receive, number, task))
        try:
            yield
        except asyncio.CancelledError:
            if not self._cancel_count:
                raise
            self.is_cut_short = True
            if task.cancelling() > cancelled_before + self._cancel_count:  # by another task too
                raise
        finally:
            for _ in range(min(self._cancel_count, task.cancelling() - cancelled_before)):
                task.uncancel()
            for number, handler in former.items():
                loop.remove_signal_handler(number)
                signal.signal(number, handler)
            if self._cut is not None:
                self._cut.cancel()

    def let_finish(self, seconds: float) -> None:
        """Give the rest of the block so long after a second signal, because it is short and best done."""
        self._grace_seconds = seconds

    def _receive(self, number: signal.Signals, task: asyncio.Task[object]) -> None:
        self.unfinished_code = after_signal(number)
        if not self.requested.is_set():
            log_event(_logger, "stop_requested", signal=number.name)
            self.requested.set()
            if not self.is_watched:
                self._cancel(task)
            return
        if not self._grace_seconds:
            self._cut_short(number, task)
        elif self._cut is None:
            loop = asyncio.get_running_loop()
            self._cut = loop.call_later(self._grace_seconds, self._cut_short, number, task)

    def _cut_short(self, number: signal.Signals, task: asyncio.Task[object]) -> None:
        log_event(_logger, "stop_now", level=logging.WARNING, signal=number.name)
        self.exit_code = after_signal(number)
        self._cancel(task)

    def _cancel(self, task: asyncio.Task[object]) -> None:
        """Cancel the task of the block; how often is known, so that behind the block it is not cancelled."""
        self._cancel_count += 1
        task.cancel()


class Stopped(NamedTuple):
    """Work that a signal ended."""

    exit_code: int


async def run_until_stopped(
    run: Callable[[asyncio.Event], Coroutine[object, object, None]],
    stop: Stop,
    drain_seconds: float,
    rest: str,
    latest_error: Callable[[], Exception | None],
    on_drain: Callable[[], None] = lambda: None,
) -> None:
    """Run a loop; once asked to stop it has `drain_seconds` to finish.

    Args:
        run: the loop, which ends early once the event that it gets is set.
        stop: asks for it.
        drain_seconds: from then on.
        rest: what happens to what did not finish, for the error.
        latest_error: returns why a step is repeated at that moment, for the error; None where none is.
        on_drain: called when it is asked.

    Raises:
        DependencyLost: it did not finish in time.
    """
    running = asyncio.create_task(run(stop.requested))
    asked = asyncio.create_task(stop.requested.wait())
    try:
        await asyncio.wait({running, asked}, return_when=asyncio.FIRST_COMPLETED)
        if not running.done():
            on_drain()
            await asyncio.wait({running}, timeout=drain_seconds)
        if not running.done():
            cause = latest_error()
            meanwhile = f" (meanwhile: {cause})" if cause else ""
            raise DependencyLost(
                "batches in flight did not finish within pipeline.drain_seconds"
                f" ({drain_seconds:g}){meanwhile}; {rest}"
            ) from cause
        await running
    finally:
        for task in (running, asked):
            task.cancel()
        await asyncio.gather(running, asked, return_exceptions=True)


async def unless_stopped(work: Awaitable[_T]) -> _T | Stopped:
    """Return what comes of the work, never None; the first signal cancels it, and it cleans up."""
    stop, result = Stop(), None
    with stop.on_signals():
        result = await work
    return Stopped(stop.unfinished_code) if result is None else result
