"""Waits for the decisions of positions: one look-up for all that are awaited, again and again."""

import asyncio
from contextlib import suppress
from time import monotonic
from typing import Final, Literal

from neardup_stream.clusters.placements import Decided
from neardup_stream.clusters.protocol import Decider
from neardup_stream.errors import InvariantBroken, StoreUnavailable
from neardup_stream.message import Position

__all__ = ["AwaitedDecisions", "State"]

State = Literal["pending", "trimmed"]
"""pending: not decided yet. trimmed: committed, and no decision record is there: it never had one, or not any
more."""

_SHORTEST_PAUSE_SECONDS: Final = 0.004
_LONGEST_PAUSE_SECONDS: Final = 0.25
_PAUSE_SHARE: Final = 8
"""Between two look-ups passes this part of the time that the newest request waits already."""


class AwaitedDecisions:
    """Looks up decision records.

    Args:
        decider: has them.
    """

    def __init__(self, decider: Decider) -> None:
        self._decider = decider
        self._waiting: dict[Position, asyncio.Future[Decided | None]] = {}
        self._looking: asyncio.Task[None] | None = None
        self._has_new = asyncio.Event()
        self._newest_seconds = 0.0

    async def look_up(self, position: Position) -> Decided | State:
        """Return what is decided of a position now.

        Raises:
            StoreUnavailable: the store is unavailable.
        Cost: two round trips.
        """
        already_decided = await self._decider.already_decided([position])
        if position in already_decided.outcomes:
            return already_decided.outcomes[position]
        return "trimmed" if position in already_decided.finished else "pending"

    async def wait(self, position: Position, timeout_seconds: float) -> Decided | State:
        """Return the decision of a position, once there is one, or it is trimmed, or the wait is over.

        Raises:
            ConfigError: the store refuses us.
            CorruptData: what is stored is not what this program writes.
            Exception: whatever else a look-up raises is a bug of ours.
        """
        found: asyncio.Future[Decided | None] = asyncio.get_running_loop().create_future()
        self._waiting[position] = found
        self._newest_seconds = monotonic()
        self._has_new.set()
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        try:
            async with asyncio.timeout(timeout_seconds):
                decided = await found
        except TimeoutError:
            return "pending"
        finally:
            self._waiting.pop(position, None)
        return "trimmed" if decided is None else decided

    async def close(self) -> None:
        """Stop looking."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)

    async def _look(self) -> None:
        while self._waiting:
            await self._pause()
            positions = list(self._waiting)
            try:
                already_decided = await self._decider.already_decided(positions)
            except StoreUnavailable:
                continue  # each request waits until its own time is over
            except Exception as error:  # noqa: BLE001 - waiting does not help; the requests raise it
                self._fail(error)
                return
            for position in positions:
                if position in already_decided.outcomes:
                    self._answer(position, already_decided.outcomes[position])
                elif position in already_decided.finished:
                    self._answer(position, None)

    def _fail(self, error: Exception) -> None:
        """End all requests; they would take an OSError for the end of their time, or of their client."""
        raised = InvariantBroken(f"a look-up raised {error!r}") if isinstance(error, OSError) else error
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(raised)

    def _answer(self, position: Position, decided: Decided | None) -> None:
        waiting = self._waiting.get(position)
        if waiting is not None and not waiting.done():
            waiting.set_result(decided)

    async def _pause(self) -> None:
        """Let time pass, and more of it the longer no request has come; the next one ends it."""
        self._has_new.clear()
        pause = (monotonic() - self._newest_seconds) / _PAUSE_SHARE
        with suppress(TimeoutError):
            async with asyncio.timeout(min(pause, _LONGEST_PAUSE_SECONDS)):
                await self._has_new.wait()
        await asyncio.sleep(_SHORTEST_PAUSE_SECONDS)
