"""Let one caller at a time do something that waits, whichever threads and event loops the callers are in."""

import asyncio
from collections import deque
from concurrent.futures import Future
from threading import Lock

__all__ = ["Turns"]


class Turns:
    """A lock as `asyncio.Lock`, for tasks of any loops; they get it in the order in which they asked."""

    def __init__(self) -> None:
        self._guard = Lock()
        self._is_taken = False
        self._waiting: deque[Future[None]] = deque()

    async def __aenter__(self) -> None:
        if turn := self._asked():
            try:
                await asyncio.wrap_future(turn)
            except BaseException:
                if not turn.cancel():  # it came meanwhile
                    self._pass_on()
                raise

    async def __aexit__(self, *_error: object) -> None:
        self._pass_on()

    def _asked(self) -> Future[None] | None:
        """Take the lock if it is free, else return what is done when the turn has come."""
        with self._guard:
            if not self._is_taken:
                self._is_taken = True
                return None
            turn: Future[None] = Future()
            self._waiting.append(turn)
            return turn

    def _pass_on(self) -> None:
        with self._guard:
            while self._waiting:
                turn = self._waiting.popleft()
                if turn.set_running_or_notify_cancel():
                    turn.set_result(None)
                    return
            self._is_taken = False
