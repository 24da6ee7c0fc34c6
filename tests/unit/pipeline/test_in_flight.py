import asyncio
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from neardup_stream.errors import ConfigError
from neardup_stream.meters import NoMeters
from neardup_stream.pipeline.in_flight import InFlight, InFlightLimits
from neardup_stream.streams.memory.streams import MemorySource, numbered
from tests.pipelines import CountingMeters, Pipeline, essay, page_json

LIMITS = InFlightLimits(
    max_batch_pages=4, max_batch_bytes=100, max_in_flight_pages=10, max_in_flight_bytes=250
)


def in_flight() -> InFlight:
    return InFlight(LIMITS, NoMeters())


async def has_to_wait(flight: InFlight) -> bool:
    """Return whether a reader would have to wait for someone else to finish."""
    waiting = asyncio.create_task(flight.wait_for_room())
    for _ in range(5):
        await asyncio.sleep(0)
    waits = not waiting.done()
    waiting.cancel()
    return waits


async def test_an_idle_pipeline_has_room_for_a_whole_batch() -> None:
    assert await in_flight().wait_for_room() == (4, 100)


@pytest.mark.parametrize(
    ("pages", "size_bytes", "room"), [(6, 0, (4, 100)), (7, 0, (3, 100)), (9, 0, (1, 100)), (1, 249, (4, 1))]
)
async def test_the_last_batch_gets_what_room_is_left(
    pages: int, size_bytes: int, room: tuple[int, int]
) -> None:
    flight = in_flight()
    flight.add(pages, size_bytes)

    assert await flight.wait_for_room() == room


@pytest.mark.parametrize(
    ("pages", "size_bytes", "waits"), [(6, 150, False), (7, 0, True), (1, 151, True)], ids=str
)
async def test_where_batches_of_files_are_to_end_alike_reading_waits_for_room_for_a_whole_one(
    pages: int,
    size_bytes: int,
    waits: bool,  # noqa: FBT001 - a parameter
) -> None:
    flight = InFlight(replace(LIMITS, is_room_whole=True), NoMeters())
    flight.add(pages, size_bytes)

    assert await has_to_wait(flight) == waits
    if not waits:
        assert await flight.wait_for_room() == (4, 100)


@pytest.mark.parametrize(("pages", "size_bytes"), [(10, 0), (11, 0), (1, 250), (1, 251)])
async def test_reading_waits_at_either_limit(pages: int, size_bytes: int) -> None:
    flight = in_flight()
    flight.add(pages, size_bytes)

    assert await has_to_wait(flight)


async def test_a_finished_batch_makes_room() -> None:
    flight = in_flight()
    flight.add(10, 250)
    waiting = asyncio.create_task(flight.wait_for_room())

    await flight.remove(2, 50)

    assert await waiting == (2, 50)


async def test_a_small_batch_waits_while_two_are_in_flight() -> None:
    flight = InFlight(InFlightLimits(), NoMeters())
    flight.add(1, 1000)
    assert not await has_to_wait(flight)
    flight.add(31, (128 << 10) - 1)
    waiting = asyncio.create_task(flight.wait_for_room())
    await asyncio.sleep(0)
    assert not waiting.done()

    await flight.remove(1, 1000)

    assert await waiting == (512, 16 << 20)


@pytest.mark.parametrize(("pages", "size_bytes"), [(32, 1000), (1, 128 << 10)])
async def test_behind_a_batch_of_a_backlog_the_next_one_is_read_at_once(pages: int, size_bytes: int) -> None:
    flight = InFlight(InFlightLimits(), NoMeters())
    for _ in range(3):
        flight.add(1, 1000)
    assert await has_to_wait(flight)

    flight.add(pages, size_bytes)

    assert not await has_to_wait(flight)


async def test_what_is_small_depends_on_what_a_batch_may_hold() -> None:
    flight = in_flight()  # of batches of four pages none is small
    for _ in range(3):
        flight.add(1, 0)

    assert not await has_to_wait(flight)


async def test_emptiness_is_waited_for() -> None:
    flight = in_flight()
    flight.add(2, 10)
    empty = asyncio.create_task(flight.wait_until_empty())

    await flight.remove(1, 5)
    assert not empty.done()
    await flight.remove(1, 5)

    await empty


@pytest.mark.parametrize(
    "limits",
    [
        {"max_batch_pages": 0},
        {"max_batch_bytes": 0},
        {"max_batch_pages": 11, "max_in_flight_pages": 10},
        {"max_batch_bytes": 11, "max_in_flight_bytes": 10},
    ],
    ids=["no-pages", "no-bytes", "batch-over-pages", "batch-over-bytes"],
)
def test_limits_that_let_nothing_through_are_refused(limits: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"pipeline\.max_batch"):
        InFlightLimits(**limits)


@pytest.mark.parametrize("unit", ["pages", "bytes"])
def test_a_batch_may_be_all_that_is_in_flight(unit: str) -> None:
    all_: dict[str, Any] = {f"max_batch_{unit}": 1, f"max_in_flight_{unit}": 1}

    InFlightLimits(**all_)


class ByteMeters(CountingMeters):
    """Keeps the most bytes that were in flight."""

    most_bytes = 0

    def in_flight(self, pages: int, size_bytes: int) -> None:
        super().in_flight(pages, size_bytes)
        self.most_bytes = max(self.most_bytes, size_bytes)


async def test_headers_take_the_room_of_their_bytes() -> None:
    header_bytes = 1 << 20
    records = [
        msgspec.structs.replace(record, headers=(("x", bytes(header_bytes)),))
        for record in numbered([page_json(f"p{number}", essay(number)) for number in range(12)])
    ]
    limits = InFlightLimits(max_batch_bytes=2 * header_bytes, max_in_flight_bytes=4 * header_bytes)
    meters = ByteMeters()
    pipeline = Pipeline(limits=limits, meters=meters)

    async with MemorySource(records) as source:
        await pipeline.loop(source).run(asyncio.Event())

    assert meters.page_count == len(records)
    assert header_bytes < meters.most_bytes <= limits.max_in_flight_bytes + records[0].size_bytes
