"""Let one caller at a time do something that waits, whichever threads and event loops the callers are in."""

import asyncio
from collections import deque
from threading import Lock

__all__ = ["Turns"]


class Turns:
    """A lock as `asyncio.Lock`, for tasks of any loops; they get it in the order in which they asked."""

    def __init__(self) -> None:
        self._guard = Lock()
        self._is_taken = False
        self._waiting: deque[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = deque()

    async def __aenter__(self) -> None:
        loop = asyncio.get_running_loop()
        turn = loop.create_future()
        with self._guard:
            if not self._is_taken:
                self._is_taken = True
                return
            self._waiting.append((loop, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # it came meanwhile
                self._pass_on()
            raise

    async def __aexit__(self, *_error: object) -> None:
        self._pass_on()

    def _pass_on(self) -> None:
        """Let the first one continue that still waits, in its own loop."""
        while True:
            with self._guard:
                if not self._waiting:
                    self._is_taken = False
                    return
                loop, turn = self._waiting.popleft()
            try:
                loop.call_soon_threadsafe(self._give, turn)
            except RuntimeError:  # its loop is closed, and it will never ask
                continue
            return

    def _give(self, turn: asyncio.Future[None]) -> None:
        if turn.cancelled():
            self._pass_on()
        else:
            turn.set_result(None)
