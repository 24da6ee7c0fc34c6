"""Let one caller at a time do something that waits, whichever threads and event loops the callers are in."""

import asyncio
from collections import deque
from threading import RLock
from typing import Final

__all__ = ["Turn", "Turns"]

_LOOK_SECONDS: Final = 1.0
"""How often those that wait see whether the turn was lost."""


class Turns:
    """A lock as `asyncio.Lock`, for tasks of any loops; they get it in the order in which they asked.

    A turn is lost where its task can never end it: the loop was closed, or the task has ended, with a call
    in it. The next task then gets it.
    """

    def __init__(self) -> None:
        self._guard = RLock()  # a task that is collected as garbage may come in between
        self._owner: Turn | None = None
        self._waiting: deque[Turn] = deque()

    def next(self) -> "Turn":
        """Return a turn of the running task, to be had while a block `async with` runs."""
        return Turn(self)

    def ask(self, turn: "Turn") -> bool:
        """Return whether a turn has come; else it is among those that wait."""
        with self._guard:
            owner = self._owner
            if owner is None or owner.is_lost() or owner.task is turn.task:  # which cannot end the former one
                self._owner = turn
                return True
            self._waiting.append(turn)
            return False

    def look(self) -> None:
        """Pass on a turn that was lost."""
        with self._guard:
            owner = self._owner
        if owner is not None and owner.is_lost():
            self.end(owner)

    def end(self, turn: "Turn") -> None:
        """Let the first one continue that still waits, in its loop; or forget a turn that has not come."""
        with self._guard:
            if self._owner is not turn:
                self._waiting = deque(each for each in self._waiting if each is not turn)
                return
            self._owner = None
            while self._owner is None and self._waiting:
                following = self._waiting.popleft()
                if following.give():
                    self._owner = following


class Turn:
    """One caller's turn, an async context manager to be used once.

    Attributes:
        task: of the caller.
    """

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._loop = asyncio.get_running_loop()
        self.task = asyncio.current_task()
        self._come = self._loop.create_future()

    async def __aenter__(self) -> None:
        try:
            if self._turns.ask(self):
                return
            while not (await asyncio.wait([self._come], timeout=_LOOK_SECONDS))[0]:
                self._turns.look()
        except BaseException:
            self._turns.end(self)
            raise

    async def __aexit__(self, *_error: object) -> None:
        self._turns.end(self)

    def is_lost(self) -> bool:
        """Return whether nothing can end this turn."""
        return self._loop.is_closed() or self.task is None or self.task.done()

    def give(self) -> bool:
        """Let the task continue; return False where its loop is closed."""
        try:
            self._loop.call_soon_threadsafe(self._give)
        except RuntimeError:
            return False
        return True

    def _give(self) -> None:
        if not self._come.done():
            self._come.set_result(None)
