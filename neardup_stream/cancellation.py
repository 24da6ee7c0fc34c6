"""Says whether the current task was cancelled since some moment."""

import asyncio
from collections.abc import Callable

__all__ = ["watch_cancellation"]


def watch_cancellation() -> Callable[[], bool]:
    """Return a function that says whether the current task was cancelled after this call.

    A task counts the requests to cancel it, and the count stays above 0 where a cancellation was caught
    and not taken back. Outside of a task the function returns True.
    """
    task = asyncio.current_task()
    before = task.cancelling() if task else 0
    return lambda: task is None or task.cancelling() > before
