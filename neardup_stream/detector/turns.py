"""Let one caller at a time do something that waits, whichever threads and event loops the callers are in."""

import asyncio
from collections import deque
from threading import RLock

__all__ = ["Turns"]


class Turns:
    """A lock as `asyncio.Lock`, for tasks of any loops; they get it in the order in which they asked."""

    def __init__(self) -> None:
        self._guard = RLock()  # a task that is collected as garbage may come in between
        self._owner: asyncio.Future[None] | None = None
        self._waiting: deque[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = deque()

    async def __aenter__(self) -> None:
        loop = asyncio.get_running_loop()
        turn = loop.create_future()
        with self._guard:
            if self._owner is None:
                self._owner = turn
                return
            self._waiting.append((loop, turn))
        try:
            await turn
        except BaseException:
            self._withdraw(turn)
            raise

    async def __aexit__(self, *_error: object) -> None:
        self._pass_on()

    def _withdraw(self, turn: asyncio.Future[None]) -> None:
        """Wait for a turn no longer, or pass it on if it has come."""
        with self._guard:
            is_owner = self._owner is turn
            self._waiting = deque(each for each in self._waiting if each[1] is not turn)
        if is_owner:
            self._pass_on()

    def _pass_on(self) -> None:
        """Let the first one continue that still waits, in its own loop."""
        while True:
            with self._guard:
                if not self._waiting:
                    self._owner = None
                    return
                loop, turn = self._waiting.popleft()
                self._owner = turn
            try:
                loop.call_soon_threadsafe(_give, turn)
            except RuntimeError:  # its loop is closed, and it will never ask
                continue
            return


def _give(turn: asyncio.Future[None]) -> None:
    if not turn.done():  # else its task passes it on
        turn.set_result(None)
