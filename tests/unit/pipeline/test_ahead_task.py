"""Several batches are begun at once, and put in the order in which they came."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from neardup_stream.meters import NoMeters
from neardup_stream.pipeline.ahead_task import AheadTask
from neardup_stream.pipeline.batch import InFlightBatch
from neardup_stream.pipeline.handoff import Handoff
from neardup_stream.pipeline.stage_task import Item, Reports, StageStep, StageTask, batches
from neardup_stream.traces import NoTracer

BATCHES = 6


def task_of(work: Callable[[InFlightBatch], Awaitable[None]], at_once: int) -> AheadTask:
    step = StageStep(("decode", "extract"), work)
    return AheadTask(StageTask((step,), batches, Reports(NoMeters())), at_once)


async def through(task: AheadTask) -> list[int]:
    """Take batches of 0, 1, 2 … records through the task, and return how many each has that is put."""
    into: Handoff[Item] = Handoff(("read",), task.stages, NoMeters())
    out: Handoff[Item] = Handoff(task.stages, ("fingerprint",), NoMeters())

    async def give() -> None:
        for count in range(BATCHES):
            await into.put(InFlightBatch((), count, 0, {}, 0, NoTracer().begin(())))
        await into.put(None)

    async def take() -> list[int]:
        taken = []
        while isinstance(batch := await out.get(), InFlightBatch):
            taken.append(batch.record_count)
        return taken

    async with asyncio.TaskGroup() as group:
        group.create_task(give())
        group.create_task(task.run(into, out))
        taking = group.create_task(take())
    return taking.result()


@pytest.mark.parametrize("at_once", [1, 2, 3, BATCHES])
async def test_batches_are_put_in_order_though_later_ones_are_done_first(at_once: int) -> None:
    done = [asyncio.Event() for _ in range(BATCHES)]
    begun: list[int] = []

    async def work(batch: InFlightBatch) -> None:
        number = batch.record_count
        begun.append(number)
        if number % at_once != at_once - 1 and number + 1 < BATCHES:
            await done[number + 1].wait()
        done[number].set()

    assert await through(task_of(work, at_once)) == list(range(BATCHES))
    assert begun == list(range(BATCHES))


@pytest.mark.parametrize("at_once", [1, 2, 3])
async def test_no_more_batches_are_worked_on_than_may_be_at_once(at_once: int) -> None:
    working, most = 0, 0

    async def work(_batch: InFlightBatch) -> None:
        nonlocal working, most
        working += 1
        most = max(most, working)
        for _ in range(20):
            await asyncio.sleep(0)
        working -= 1

    await through(task_of(work, at_once))

    assert most == at_once


async def test_a_batch_that_fails_ends_the_task() -> None:
    async def work(batch: InFlightBatch) -> None:
        if batch.record_count == 1:
            raise ValueError("the library says no")
        await asyncio.sleep(0)

    with pytest.RaisesGroup(pytest.RaisesGroup(ValueError)):
        await through(task_of(work, 3))
