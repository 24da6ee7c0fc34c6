"""Delay reading for work that must keep a schedule, such as retention (back-pressure)."""

import asyncio
from collections.abc import Callable
from typing import Final

__all__ = ["LONGEST_WAIT_SECONDS", "ReadingGate"]

LONGEST_WAIT_SECONDS: Final = 2.0
"""Of one batch. One batch is read after it even so: commits go on, so that the consumer stays in its group
and the daemon does not count as stalled, whatever the gate waits for."""


class ReadingGate:
    """Delays each batch while it is paused.

    Args:
        on_waited: receives the seconds for which a batch waited.
    """

    def __init__(self, on_waited: Callable[[float], None] | None = None) -> None:
        self._on_waited = on_waited
        self._open = asyncio.Event()
        self._open.set()

    @property
    def is_paused(self) -> bool:
        """Whether batches wait."""
        return not self._open.is_set()

    def pause(self) -> None:
        """Let batches wait from now on."""
        self._open.clear()

    def resume(self) -> None:
        """Let batches through from now on."""
        self._open.set()

    async def wait(self, stop: asyncio.Event) -> None:
        """Wait while paused, for at most `LONGEST_WAIT_SECONDS`, and not once `stop` is set."""
        if not self.is_paused:
            return
        now_seconds = asyncio.get_running_loop().time
        began = now_seconds()
        ends = [asyncio.ensure_future(event.wait()) for event in (self._open, stop)]
        try:
            await asyncio.wait(ends, timeout=LONGEST_WAIT_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for end in ends:
                end.cancel()
        if self._on_waited is not None:
            self._on_waited(now_seconds() - began)
