"""Long work in a thread, which a second signal cuts short: when the command ends, no thread still works."""

import asyncio
import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeVar

__all__ = ["CHECK_SECONDS", "check_cut", "in_thread", "in_thread_for_its_result"]

CHECK_SECONDS = 0.1
"""How long work may wait between two checks."""

_Result = TypeVar("_Result")


class _CutShort(Exception):  # noqa: N818 - no error: it was asked for
    """The work is to end where it is."""


def _not_cut() -> None:
    """Check work that nothing cuts short."""


_CHECK: ContextVar[Callable[[], None]] = ContextVar("_CHECK", default=_not_cut)


def check_cut() -> None:
    """Raise if the work of this thread is to end where it is; work has to call it now and then."""
    _CHECK.get()()


async def in_thread(work: Callable[[], _Result]) -> _Result:
    """Return what `work` returns.

    Args:
        work: calls `check_cut`, which raises once this coroutine is cancelled.

    Raises:
        CancelledError: this coroutine was cancelled, and the work has ended, in whatever way.
    """
    running, is_cut = await _ended(work)
    if is_cut:
        raise asyncio.CancelledError from running.exception()
    return running.result()


async def in_thread_for_its_result(work: Callable[[], _Result]) -> _Result:
    """Return what `work` returns, also where it comes to its end just before it is cut short.

    Args:
        work: as for `in_thread`.

    Raises:
        CancelledError: the work was cut short, and has ended.
    """
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - a coroutine runs in a task
    running, is_cut = await _ended(work)
    try:
        result = running.result()
    except _CutShort:
        raise asyncio.CancelledError from None
    if is_cut:
        task.uncancel()
    return result


async def _ended(work: Callable[[], _Result]) -> tuple[asyncio.Future[_Result], bool]:
    """Return the work once it has ended, and whether the task was cancelled meanwhile, which counts once."""
    is_cut = threading.Event()

    def check() -> None:
        if is_cut.is_set():
            raise _CutShort

    def run() -> _Result:
        _CHECK.set(check)  # the thread has a context of its own
        return work()

    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - a coroutine runs in a task
    running = asyncio.ensure_future(asyncio.to_thread(run))
    while not running.done():
        try:
            await asyncio.wait([running])
        except asyncio.CancelledError:
            if is_cut.is_set():
                task.uncancel()
            is_cut.set()
    return running, is_cut.is_set()
