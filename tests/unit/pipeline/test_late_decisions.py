"""Batches that come to their decision so late that what was read for them may be forgotten."""

import asyncio
import logging
from dataclasses import replace

import pytest

from neardup_stream.errors import DependencyLost
from neardup_stream.pipeline.retries import RetryPolicy
from neardup_stream.streams.memory.streams import MemorySource, numbered
from tests.pipelines import Pipeline, essay, page_json
from tests.unit.pipeline.swept_stores import SweptStore

PAGES = [page_json("a", essay(1)), page_json("b", essay(1))]


async def run(pipeline: Pipeline) -> None:
    source = MemorySource(numbered(PAGES))
    async with source:
        await pipeline.loop(source).run(asyncio.Event())


@pytest.mark.parametrize("is_unavailable", [False, True], ids=["available", "unavailable-meanwhile"])
@pytest.mark.parametrize("times", [1, 2, 5])
async def test_they_are_compared_again_and_reported_once(
    *, times: int, is_unavailable: bool, caplog: pytest.LogCaptureFixture
) -> None:
    pipeline = Pipeline(clusters=SweptStore(times, is_unavailable=is_unavailable))

    with caplog.at_level(logging.WARNING):
        await run(pipeline)

    assert pipeline.pairs() == [("https://example.com/b", ["https://example.com/a"])]
    assert pipeline.meters.outcomes == {"unique": 1, "duplicate": 1}
    assert "decide_stale_read" in caplog.messages


async def test_where_that_never_ends_the_process_does_and_names_the_setting() -> None:
    pipeline = replace(
        Pipeline(clusters=SweptStore(float("inf"))), retry_policy=RetryPolicy(0.05, 0.01, 0.01)
    )

    with pytest.raises(ExceptionGroup) as caught:
        await run(pipeline)

    assert caught.group_contains(DependencyLost, match=r"clusters\.tombstone_ttl_seconds")
