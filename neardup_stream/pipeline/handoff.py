"""Pass items between two tasks of the loop: room for one item, and a report of which stage waits."""

import asyncio
from collections.abc import Sequence
from typing import Generic, TypeVar

from neardup_stream.meters import Activity, PipelineMeters, Stage

__all__ = ["Handoff"]

T = TypeVar("T")


class Handoff(Generic[T]):
    """A queue for one item; None ends the stream.

    Args:
        giver: the stages of the task that puts.
        taker: the stages of the task that gets.
        meters: receives when they wait.
    """

    def __init__(self, giver: Sequence[Stage], taker: Sequence[Stage], meters: PipelineMeters) -> None:
        self._giver = giver
        self._taker = taker
        self._meters = meters
        self._queue: asyncio.Queue[T | None] = asyncio.Queue(1)

    async def put(self, item: T | None) -> None:
        """Wait for room, and add `item`."""
        self._report(self._giver, "waiting_for_output")
        await self._queue.put(item)
        self._report(self._giver, "busy")

    async def get(self) -> T | None:
        """Wait for the next item."""
        self._report(self._taker, "waiting_for_input")
        return await self._queue.get()

    def _report(self, stages: Sequence[Stage], activity: Activity) -> None:
        for stage in stages:
            self._meters.activity(stage, activity)
