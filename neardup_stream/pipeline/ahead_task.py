"""A task of the loop that takes several batches at once, and puts them in order.

What prepares pages would otherwise wait at the end of each batch until the loop has time for the next one.
"""

import asyncio
from dataclasses import dataclass

from neardup_stream.meters import Stage
from neardup_stream.pipeline.batch import InFlightBatch
from neardup_stream.pipeline.handoff import Handoff
from neardup_stream.pipeline.stage_task import Item, StageTask

__all__ = ["AheadTask"]

_Begun = asyncio.Queue[tuple[InFlightBatch, asyncio.Event] | None]
"""Batches in order, and what is set once the steps are taken with each."""


@dataclass(frozen=True, slots=True)
class AheadTask:
    """Steps that are taken with some batches at once.

    Attributes:
        task: takes the steps with one of them.
        at_once: most batches, from 1.
    """

    task: StageTask[InFlightBatch]
    at_once: int

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Of all steps, in order."""
        return self.task.stages

    async def run(self, into: Handoff[Item], out: Handoff[Item]) -> None:
        """Take what the task before puts, until it ends, and put it for the next one in the same order."""
        begun: _Begun = asyncio.Queue()
        room = asyncio.Semaphore(self.at_once)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._begin(into, begun, room, group))
            while (next_ := await begun.get()) is not None:
                batch, is_done = next_
                await is_done.wait()
                await out.put(batch)
                room.release()
        await out.put(None)

    async def _begin(
        self, into: Handoff[Item], begun: _Begun, room: asyncio.Semaphore, group: asyncio.TaskGroup
    ) -> None:
        await room.acquire()
        while (item := await into.get()) is not None:
            for batch in self.task.units(item):
                is_done = asyncio.Event()
                begun.put_nowait((batch, is_done))
                group.create_task(self._take(batch, is_done))
                await room.acquire()
        begun.put_nowait(None)

    async def _take(self, batch: InFlightBatch, is_done: asyncio.Event) -> None:
        await self.task.take(batch)
        is_done.set()
