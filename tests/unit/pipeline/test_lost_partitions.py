"""A batch holds records of a partition that has another owner by now."""

import asyncio

from neardup_stream.message import Partition
from neardup_stream.streams.memory.streams import MemorySource, numbered
from tests.pipelines import Pipeline, essay, page_json

FIRST, SECOND = Partition("memory", 0), Partition("memory", 1)


async def test_records_whose_events_the_next_owner_sends_are_not_counted() -> None:
    pipeline = Pipeline(is_exactly_once=False)
    lost = numbered([page_json("a", essay(1)), page_json("b", essay(1)), b"no JSON"], partition=FIRST)
    kept = numbered([page_json("c", essay(2)), page_json("d", essay(2))], partition=SECOND)
    source = MemorySource([*lost, *kept])
    async with source:
        running = asyncio.create_task(pipeline.loop(source, drain_seconds=0).run(asyncio.Event()))
        await pipeline.meters.first_read.wait()
        await source.revoke(FIRST)
        await running

    assert [page for page, _ in pipeline.pairs()] == ["https://example.com/d"]
    assert pipeline.meters.outcomes == {"unique": 1, "duplicate": 1}
    assert pipeline.meters.page_count == 2
