"""Long work in a thread, which a second signal cuts short: when the command ends, no thread still works."""

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

__all__ = ["Check", "in_thread"]

Check = Callable[[], None]
"""What work has to call now and then; it raises once the work is to end."""

_Result = TypeVar("_Result")


class _CutShort(Exception):  # noqa: N818 - no error: it was asked for
    """The work is to end where it is."""


async def in_thread(work: Callable[[Check], _Result]) -> _Result:
    """Return what `work` returns, also where it comes to its end just before it is cut short.

    Args:
        work: is given its check, which raises once this coroutine is cancelled.

    Raises:
        CancelledError: the work was cut short, and has ended.
    """
    is_cut = threading.Event()

    def check() -> None:
        if is_cut.is_set():
            raise _CutShort

    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - a coroutine runs in a task
    running = asyncio.ensure_future(asyncio.to_thread(work, check))
    while not running.done():
        try:
            await asyncio.wait([running])
        except asyncio.CancelledError:
            if is_cut.is_set():
                task.uncancel()
            is_cut.set()
    try:
        result = running.result()
    except _CutShort:
        raise asyncio.CancelledError from None
    if is_cut.is_set():
        task.uncancel()
    return result
