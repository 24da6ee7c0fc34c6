"""A daemon that stands still somewhere, and goes on after everything has changed."""

import asyncio
from collections.abc import Sequence

from neardup_stream.message import Partition
from neardup_stream.streams.memory.streams import MemorySource
from tests.crashes import Stall
from tests.page_histories import DAY, PARTITION, Op, PageHistory, Sweep

__all__ = ["live_beside_a_paused_process", "live_beside_a_sleeper", "live_beside_a_sleeping_sweeper"]


async def live_beside_a_paused_process(
    history: PageHistory, begun: Sequence[Op], stall: Stall, story: Sequence[Op | Sweep], batch_pages: int
) -> None:
    """Where a daemon stands still, another one takes its partition over, and lives the story.

    When that is at its end the first one wakes up. Its commits are refused, as the broker refuses whoever is
    no longer of the group.
    """
    source = MemorySource(history.records(begun))
    process = asyncio.create_task(history.run(source, batch_pages, stall))
    await stall.until_still(process)
    successor = MemorySource(history.crawled)
    successor.committed |= source.committed
    source._revoked.add(PARTITION)
    await history.run(successor, batch_pages, history.fuse)
    await _wake_after(story, history, stall, process, batch_pages)


async def live_beside_a_sleeper(
    history: PageHistory, begun: Sequence[Op], stall: Stall, story: Sequence[Op | Sweep], batch_pages: int
) -> None:
    """A daemon stands still on a partition of its own, and keeps it; another one lives the story."""
    source = MemorySource(history.records(begun, Partition("pages", 1)))
    process = asyncio.create_task(history.run(source, batch_pages, stall))
    await stall.until_still(process)
    await _wake_after(story, history, stall, process, batch_pages)


async def live_beside_a_sleeping_sweeper(
    history: PageHistory, begun: Sweep, stall: Stall, story: Sequence[Op | Sweep], batch_pages: int
) -> None:
    """A sweeper stands still, and others go on."""
    history.pipeline.now_seconds += begun.days * DAY
    process = asyncio.create_task(history.sweep(stall))
    await stall.until_still(process)
    await _wake_after(story, history, stall, process, batch_pages)


async def _wake_after(
    story: Sequence[Op | Sweep],
    history: PageHistory,
    stall: Stall,
    process: asyncio.Task[None],
    batch_pages: int,
) -> None:
    await history.live(story, batch_pages)
    stall.go_on()
    await process
    await history.sweep(history.fuse)
