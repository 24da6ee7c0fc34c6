"""Which rows of an input `--keep-representatives` takes for the latest version of a page."""

import asyncio

from neardup_daemon.kept_rows import kept_rows

from neardup_stream.message import Partition, Position, Record
from neardup_stream.streams.memory.streams import MemorySource
from tests.pipelines import Pipeline, essay, page_json

MONDAY, TUESDAY, FRIDAY = (Partition(f"{day}.jsonl", 0) for day in ("monday", "tuesday", "friday"))


async def _crawl(pipeline: Pipeline, partition: Partition, text: str) -> None:
    record = Record(position=Position(partition, 0), key=None, value=page_json("a", text), timestamp_ms=0)
    async with MemorySource([record]) as source:
        await pipeline.loop(source).run(asyncio.Event())


async def test_a_row_with_a_former_text_of_its_page_is_not_kept() -> None:
    pipeline = Pipeline()
    await _crawl(pipeline, MONDAY, essay(1))
    await _crawl(pipeline, TUESDAY, essay(2))

    kept = await kept_rows(pipeline.decider(), pipeline.records, {MONDAY})

    assert len(kept) == 0


async def test_a_row_that_has_the_latest_text_again_is_kept() -> None:
    pipeline = Pipeline()
    await _crawl(pipeline, MONDAY, essay(1))
    await _crawl(pipeline, TUESDAY, essay(2))
    await _crawl(pipeline, FRIDAY, essay(2))

    kept = await kept_rows(pipeline.decider(), pipeline.records, {MONDAY, FRIDAY})

    assert [list(kept.of(each)) for each in (MONDAY, FRIDAY)] == [[], [0]]
