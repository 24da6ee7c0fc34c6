"""Requests at the same time share one reading, and none of them cancels it."""

import asyncio

import pytest
from neardup_daemon.query_api.shared_reading import SharedReading

from neardup_stream.errors import StreamUnavailable

LONG = 3600.0


class Reader:
    """Reads once the test lets it, and counts."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.count = 0
        self.errors: list[Exception] = []

    async def read(self) -> int:
        self.count += 1
        await self.go.wait()
        if self.errors:
            raise self.errors.pop()
        return self.count


async def test_a_reading_that_outlives_its_first_requests_answers_the_next() -> None:
    reader = Reader()
    shared = SharedReading(reader.read, LONG)
    for _ in range(3):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await shared.value()
    reader.go.set()

    assert [await each for each in (shared.value(), shared.value())] == [1, 1]
    assert reader.count == 1


async def test_what_is_old_is_read_again() -> None:
    reader = Reader()
    reader.go.set()
    shared = SharedReading(reader.read, 0.0)

    assert [await shared.value() for _ in range(2)] == [1, 2]


async def test_an_error_ends_all_that_wait_and_the_next_request_reads_again() -> None:
    reader = Reader()
    reader.errors = [StreamUnavailable("unavailable")]
    reader.go.set()
    shared = SharedReading(reader.read, LONG)

    results = await asyncio.gather(shared.value(), shared.value(), return_exceptions=True)

    assert [type(result) for result in results] == [StreamUnavailable] * 2
    assert await shared.value() == 2


async def test_closing_cancels_the_reading() -> None:
    reader = Reader()
    shared = SharedReading(reader.read, LONG)
    waiting = asyncio.create_task(shared.value())
    await asyncio.sleep(0)

    await shared.close()

    with pytest.raises(asyncio.CancelledError):
        await waiting
