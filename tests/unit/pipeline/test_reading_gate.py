import asyncio
import random
from collections.abc import Callable, Iterator

import pytest

from neardup_stream.pipeline.in_flight import InFlightLimits
from neardup_stream.pipeline.reading_gate import LONGEST_WAIT_SECONDS, ReadingGate
from neardup_stream.streams.memory.streams import MemorySource, numbered
from tests.pipelines import Pipeline, essay, page_json
from tests.schedules.virtual_loop import VirtualLoop


@pytest.fixture
def loop() -> Iterator[VirtualLoop]:
    loop = VirtualLoop(random.Random(1), start_seconds=100.0)
    yield loop
    loop.close_all()


def waited_seconds(
    loop: VirtualLoop, gate: ReadingGate, stop: asyncio.Event, after_a_second: Callable[[], None]
) -> float:
    """For how long a batch waits, if this is called a second after it began."""
    loop.call_at(loop.time() + 1.0, after_a_second, context=loop.world_context)
    began = loop.time()
    loop.run_until_complete(gate.wait(stop))
    return loop.time() - began


def nothing() -> None:
    """Nothing happens."""


def test_an_open_gate_delays_nothing(loop: VirtualLoop) -> None:
    assert waited_seconds(loop, ReadingGate(), asyncio.Event(), nothing) == 0


def test_a_batch_waits_until_reading_is_resumed_and_the_wait_is_reported(loop: VirtualLoop) -> None:
    waits: list[float] = []
    gate = ReadingGate(waits.append)
    gate.pause()

    assert waited_seconds(loop, gate, asyncio.Event(), gate.resume) == 1
    assert waits == [1]


def test_a_stop_ends_the_wait(loop: VirtualLoop) -> None:
    gate, stop = ReadingGate(), asyncio.Event()
    gate.pause()

    assert waited_seconds(loop, gate, stop, stop.set) == 1
    assert waited_seconds(loop, gate, stop, nothing) == 0


def test_no_batch_waits_for_longer_than_the_limit(loop: VirtualLoop) -> None:
    gate = ReadingGate()
    gate.pause()

    assert waited_seconds(loop, gate, asyncio.Event(), nothing) == LONGEST_WAIT_SECONDS
    assert gate.is_paused


async def test_a_loop_reads_nothing_while_the_gate_is_paused_and_everything_afterwards() -> None:
    gate, pipeline = ReadingGate(), Pipeline(limits=InFlightLimits(max_batch_pages=2))
    gate.pause()
    async with MemorySource(numbered([page_json(f"p{i}", essay(i)) for i in range(6)])) as source:
        running = asyncio.create_task(pipeline.loop(source, gate=gate).run(asyncio.Event()))
        for _ in range(20):
            await asyncio.sleep(0)
        read_meanwhile = dict(pipeline.meters.outcomes)
        gate.resume()
        await running

    assert not read_meanwhile
    assert pipeline.meters.outcomes == {"unique": 6}
