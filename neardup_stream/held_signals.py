"""Hold signals while foreign code runs that calls Python functions and drops what they raise."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

__all__ = ["ENDING_SIGNALS", "held_signals"]

ENDING_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""What asks a process to end."""


@contextmanager
def held_signals() -> Iterator[None]:
    """Note signals that end the process, and handle them behind the block.

    The main thread handles all signals, so in another one nothing is held.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    noted: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        noted.append(number)

    handlers = {number: signal.getsignal(number) for number in ENDING_SIGNALS}
    held = {number: handler for number, handler in handlers.items() if _may_raise(handler)}
    for number in held:
        signal.signal(number, note)
    try:
        yield
    finally:
        for number, handler in held.items():
            signal.signal(number, handler)
        for received in noted:
            signal.raise_signal(received)


def _may_raise(handler: object) -> bool:
    """Return whether it is a function, but not that of an event loop, which hears of signals by itself."""
    return callable(handler) and not str(getattr(handler, "__module__", "")).startswith("asyncio.")
