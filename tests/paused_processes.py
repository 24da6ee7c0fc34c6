"""A daemon that is paused somewhere, and resumes after everything has changed."""

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
    """While a daemon is paused, another one takes over its partition, and processes the story.

    Then the first one resumes. Its commits are refused, as the broker refuses those of a consumer that is not
    in the group any more.
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
    """A daemon is paused with a partition of its own, and keeps it; another one processes the story."""
    source = MemorySource(history.records(begun, Partition("pages", 1)))
    process = asyncio.create_task(history.run(source, batch_pages, stall))
    await stall.until_still(process)
    await _wake_after(story, history, stall, process, batch_pages)


async def live_beside_a_sleeping_sweeper(
    history: PageHistory, begun: Sweep, stall: Stall, story: Sequence[Op | Sweep], batch_pages: int
) -> None:
    """A sweeper is paused, and others continue."""
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
    stall.resume()
    await process
    await history.sweep(history.fuse)
