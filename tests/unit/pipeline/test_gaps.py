"""Retention deletes records that are still to be read, and with them those in flight."""

import asyncio

import pytest

from neardup_stream.message import Partition
from neardup_stream.streams.memory.streams import Gap, MemorySink, MemorySource, Pause, numbered
from tests.pipelines import Pipeline, essay, page_json

FIRST = Partition("memory", 0)


@pytest.mark.parametrize("is_exactly_once", [False, True], ids=["at least once", "exactly once"])
async def test_what_was_read_before_a_gap_is_published_before_the_gap_is_committed(
    *, is_exactly_once: bool
) -> None:
    held = Pause()
    pipeline = Pipeline(events=MemorySink([held]), is_exactly_once=is_exactly_once)
    before = numbered([page_json("a", essay(1)), page_json("b", essay(1))])
    behind = numbered([page_json("c", essay(1))], first_offset=500)
    source = MemorySource([*before, Gap(FIRST, 500), *behind])
    async with source:
        running = asyncio.create_task(pipeline.loop(source).run(asyncio.Event()))
        await pipeline.meters.first_read.wait()
        for _ in range(20):
            await asyncio.sleep(0)  # let it come to the gap
        committed_meanwhile = dict(source.committed)
        held.until.set()
        await running

    assert committed_meanwhile == {}
    assert [page for page, _ in pipeline.pairs()] == ["https://example.com/b", "https://example.com/c"]
    assert pipeline.meters.page_count == 3
    assert source.committed == {FIRST: 501}
