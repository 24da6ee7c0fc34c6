"""Short stories beside a process that is paused at each of its calls in turn, and resumes at the end."""

import asyncio
import random
from collections.abc import Sequence
from itertools import count
from typing import Literal

import pytest

from neardup_stream.pipeline.retention import RetentionConfig
from neardup_stream.stores.memory.clusters import MemoryClusters
from neardup_stream.streams.memory.streams import MemorySource
from tests.crashes import Stall
from tests.page_histories import DAY, Content, Op, PageHistory, Sweep, sharp_pipeline
from tests.paused_processes import (
    live_beside_a_paused_process,
    live_beside_a_sleeper,
    live_beside_a_sleeping_sweeper,
)

TEXT, BRIDGE, FAR, OTHER = Content(1, 0), Content(1, 1), Content(1, 2), Content(2, 0)
FIRST, COPY = Op(0, TEXT), Op(1, TEXT)
CRAWLS: dict[str, tuple[Sequence[Op], Sequence[Op | Sweep]]] = {
    "its-match-is-forgotten": ([FIRST, COPY], [Op(0, None), Sweep(1), Op(2, OTHER)]),
    "its-match-changes": ([FIRST, COPY], [Op(0, OTHER), Sweep(1), Op(2, TEXT)]),
    "its-page-is-forgotten-and-returns": ([FIRST, COPY], [Op(1, None), Sweep(1), COPY, Op(2, TEXT)]),
    "its-match-expires": ([FIRST, COPY], [Sweep(5), COPY, Sweep(6), Op(2, TEXT)]),
    "everything-expires": ([FIRST, COPY], [Sweep(11), Op(2, TEXT), Sweep(1), FIRST]),
    "it-was-forgetting": ([FIRST, COPY, Op(0, None)], [FIRST, Sweep(1), Op(2, TEXT), Op(1, None)]),
    "it-was-changing": ([FIRST, COPY, Op(0, OTHER)], [FIRST, Sweep(1), Op(2, OTHER), Op(1, OTHER)]),
    "it-was-merging": (
        [FIRST, Op(1, FAR), Op(2, FAR), Op(3, BRIDGE)],
        [Op(3, None), Op(0, None), Sweep(1), Op(4, BRIDGE), Op(5, TEXT)],
    ),
}
BESIDE: dict[str, tuple[Sequence[Op], Sequence[Op | Sweep]]] = {
    "its-match-is-forgotten": ([COPY], [Op(0, None), Sweep(1), Op(2, OTHER), Op(3, OTHER)]),
    "its-match-changes": ([COPY], [Op(0, OTHER), Sweep(1), Op(2, FAR), Op(3, TEXT)]),
    "its-match-expires": ([COPY], [Sweep(11), Op(2, OTHER), Sweep(1), Op(3, OTHER), Op(4, TEXT)]),
    "its-page-is-forgotten": ([COPY], [Op(1, None), Sweep(1), Op(2, OTHER), Op(3, TEXT)]),
    "its-page-changes": ([COPY], [Op(1, OTHER), Sweep(1), Op(2, OTHER), Op(3, TEXT)]),
    "a-copy-is-crawled": ([COPY], [Op(2, TEXT), Sweep(1), Op(3, OTHER), Op(4, OTHER)]),
    "the-same-page-comes-twice": ([COPY, Op(1, OTHER)], [COPY, Sweep(1), Op(2, OTHER), Op(1, TEXT)]),
    "it-was-forgetting": ([Op(0, None)], [Op(2, TEXT), Sweep(1), FIRST, Op(3, OTHER)]),
    "it-was-merging": (
        [Op(1, FAR), Op(3, BRIDGE)],
        [Op(0, None), Op(4, FAR), Sweep(1), Op(5, OTHER), Op(6, TEXT)],
    ),
}
SWEEPS: dict[str, Sequence[Op | Sweep]] = {
    "nothing-happens": [Sweep(1)],
    "the-page-returns": [FIRST, Sweep(1), Op(2, TEXT)],
    "the-page-returns-alone": [Op(0, OTHER), Sweep(1), Sweep(1), Op(2, OTHER), Op(3, TEXT)],
    "a-copy-comes": [Op(2, TEXT), Sweep(1), Sweep(1), Op(3, TEXT)],
    "the-page-is-forgotten": [Op(0, None), Sweep(1), Op(1, None), Op(2, TEXT)],
    "it-returns-and-expires-again": [FIRST, Sweep(11), Sweep(1), Op(2, TEXT)],
}


def young_tombstones(days: float) -> PageHistory:
    """Decisions are kept for so long, stubs for ever: longer than any process is paused."""
    pipeline = sharp_pipeline(tombstone_ttl_seconds=days * DAY)
    pipeline.clusters = MemoryClusters(lambda: pipeline.now_seconds)
    return PageHistory(pipeline, RetentionConfig(10 * DAY, 10**6 * DAY))


@pytest.mark.parametrize(("begun", "story"), CRAWLS.values(), ids=CRAWLS)
@pytest.mark.parametrize(
    "tombstone_ttl_days", [0.5, 10**4], ids=["tombstones-are-swept-meanwhile", "tombstones-are-kept"]
)
@pytest.mark.parametrize("moment", ["before", "after"])
async def test_a_daemon_that_slept_through_everything_does_no_harm(
    moment: Literal["before", "after"],
    tombstone_ttl_days: float,
    begun: Sequence[Op],
    story: Sequence[Op | Sweep],
) -> None:
    for calls in count():
        history, stall = young_tombstones(tombstone_ttl_days), Stall(calls, moment)
        await live_beside_a_paused_process(history, begun, stall, story, batch_pages=2)
        await history.check(random.Random(calls))
        if not stall.was_met:
            break


@pytest.mark.parametrize(("begun", "story"), BESIDE.values(), ids=BESIDE)
@pytest.mark.parametrize("moment", ["before", "after"])
async def test_a_daemon_that_slept_and_keeps_its_partition_does_no_harm(
    moment: Literal["before", "after"], begun: Sequence[Op], story: Sequence[Op | Sweep]
) -> None:
    for calls in count():
        history, stall = young_tombstones(0.5), Stall(calls, moment)
        await history.live([FIRST], batch_pages=2)
        await live_beside_a_sleeper(history, begun, stall, story, batch_pages=1)
        await history.check(random.Random(calls))
        if not stall.was_met:
            break


@pytest.mark.parametrize("story", SWEEPS.values(), ids=SWEEPS)
@pytest.mark.parametrize("moment", ["before", "after"])
async def test_a_sweeper_that_slept_through_everything_does_no_harm(
    moment: Literal["before", "after"], story: Sequence[Op | Sweep]
) -> None:
    for calls in count():
        history, stall = young_tombstones(0.5), Stall(calls, moment)
        await history.live([FIRST, Sweep(5), COPY], batch_pages=2)
        await live_beside_a_sleeping_sweeper(history, Sweep(6), stall, story, batch_pages=2)
        await history.check(random.Random(calls))
        if not stall.was_met:
            break


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_a_copy_that_comes_while_a_sweeper_is_paused_finds_a_living_page_or_none(
    moment: Literal["before", "after"],
) -> None:
    """No other process sweeps, so for days a record may call a page living that has left its cluster."""
    for calls in count():
        history, stall = young_tombstones(0.5), Stall(calls, moment)
        await history.live([FIRST], batch_pages=1)
        history.pipeline.now_seconds += 11 * DAY
        process = asyncio.create_task(history.sweep(stall))
        await stall.until_still(process)
        for op in (Op(2, OTHER), Op(3, TEXT)):
            history.pipeline.now_seconds += DAY
            await history.run(MemorySource(history.records([op])), 1, history.fuse)
        stall.resume()
        await process
        await history.sweep(history.fuse)
        await history.check(random.Random(calls))
        if not stall.was_met:
            break
