"""Learns the frames of sites from pages of files, without storing the pages: for `frames learn`."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from math import inf
from pathlib import Path
from typing import NamedTuple

from neardup_daemon.inspect.frame_sites import frame_lines, require_site_of
from neardup_daemon.loop_wiring import build_retries
from neardup_daemon.preparing import build_frames, open_preparation
from neardup_daemon.redis_url import redis_url
from neardup_daemon.settings.settings import Settings
from neardup_daemon.stopping import Stop
from neardup_daemon.wiring import Stores, open_stores
from neardup_stream.chunks import in_chunks
from neardup_stream.errors import InvariantBroken
from neardup_stream.frames.table import FrameTable
from neardup_stream.meters import NoMeters
from neardup_stream.pipeline.arrival import Arrival, Prepared
from neardup_stream.pipeline.batch_views import can_teach
from neardup_stream.pipeline.frames import Frames, site_hash
from neardup_stream.streams.files.source import FileSource

__all__ = ["Learned", "learn_frames"]

_FETCHED_AT_ONCE = 1000


class Learned(NamedTuple):
    """The result of a run over files.

    Attributes:
        exit_code: 0, or 128 + signal of a stop before the last page was counted, or of a second signal: pages
            that were counted must not be read again.
        page_count: pages read.
        lesson_count: of those, the ones whose lines were taken.
        copy_count: near-copies of earlier pages, and other crawls of them.
        unused_count: pages that are too short, or whose site is not known by name.
        rejected_count: records that are no page.
        site_count: sites of which a page was read.
        frame_line_count: lines of those sites that are frame now.
        dropped_count: sites of a batch whose lines gave way to what a daemon wrote at the same time.
    """

    exit_code: int
    page_count: int
    lesson_count: int
    copy_count: int
    unused_count: int
    rejected_count: int
    site_count: int
    frame_line_count: int
    dropped_count: int


async def learn_frames(
    files: Sequence[str], settings: Settings, state_dir: Path | None, on_pages: Callable[[int], None] | None
) -> Learned:
    """Count the lines of pages in the frame tables of their sites.

    SIGTERM, SIGINT or SIGHUP ends reading; what was read is counted.

    Args:
        files: paths, or `-` for standard input.
        settings: those of the index, which is created if there is none.
        state_dir: where a private store keeps its data; None for the Redis in the settings.
        on_pages: called with the number of pages read so far.

    Raises:
        ConfigError: a file cannot be read, frames are switched off, or the index has another schema.
        CorruptData: a file is damaged, or what is stored is not ours.
        DependencyLost: the store stayed unavailable.
    """
    require_site_of(settings)
    meters = _Meters()
    retries = build_retries(settings, meters)
    stop = Stop()
    lesson, frame_line_count, has_read_all = _Lesson(), 0, False
    with stop.on_signals():
        async with AsyncExitStack() as stack:
            source = await stack.enter_async_context(FileSource(files, settings.limits.max_page_bytes))
            url = await stack.enter_async_context(redis_url(settings, state_dir))
            stores = await stack.enter_async_context(open_stores(settings, url, retries))
            preparation = await stack.enter_async_context(open_preparation(settings, NoMeters()))
            frames = build_frames(
                settings,
                stores.frames,
                stores.pages.handle_key,
                retries,
                meters,
                preparation,
                most_lessons=inf,
            )
            if frames is None:
                raise InvariantBroken("frames are on, but nothing takes them out")
            stop.is_watched = True
            limits = settings.pipeline.limits()
            async for records in source.batches(limits.max_batch_pages, limits.max_batch_bytes):
                if stop.requested.is_set():
                    break
                prepared = await asyncio.to_thread(preparation.prepare, records)
                await lesson.take(prepared, frames)
                if on_pages is not None:
                    on_pages(lesson.page_count)
            else:
                has_read_all = True
            frame_line_count = await _count_frame_lines(lesson.is_markup, settings, stores)
    return Learned(
        exit_code=stop.exit_code if has_read_all else stop.unfinished_code,
        page_count=lesson.page_count,
        lesson_count=lesson.lesson_count,
        copy_count=lesson.copy_count,
        unused_count=lesson.page_count - lesson.lesson_count - lesson.copy_count,
        rejected_count=lesson.rejected_count,
        site_count=len(lesson.is_markup),
        frame_line_count=frame_line_count,
        dropped_count=meters.dropped_count,
    )


class _Lesson:
    """Takes batches, and counts.

    Attributes:
        is_markup: for each site whether a page of it came as HTML.
    """

    def __init__(self) -> None:
        self.is_markup: dict[str, bool] = {}
        self.page_count = self.lesson_count = self.copy_count = self.rejected_count = 0

    async def take(self, prepared: Prepared, frames: Frames) -> None:
        """View a batch of pages as the daemon does, and teach the lines of those that are no near-copies."""
        usable = [arrival for arrival in prepared.arrivals if can_teach(arrival)]
        viewed = await frames.view(prepared)
        await frames.learn(viewed, list(viewed.lessons.values()))
        self.page_count += len(viewed.arrivals)
        self.lesson_count += len(viewed.lessons)
        self.copy_count += len(usable) - len(viewed.lessons)
        self.rejected_count += len(viewed.rejected)
        self._note_sites(usable)

    def _note_sites(self, arrivals: Sequence[Arrival]) -> None:
        for arrival in arrivals:
            self.is_markup[arrival.site] = self.is_markup.get(arrival.site, False) or arrival.is_markup


class _Meters(NoMeters):
    """Counts what gave way to daemons."""

    def __init__(self) -> None:
        self.dropped_count = 0

    def frame_lessons(self, taught: int, dropped: int) -> None:
        """Add."""
        del taught
        self.dropped_count += dropped


async def _count_frame_lines(is_markup: Mapping[str, bool], settings: Settings, stores: Stores) -> int:
    """By the bound for HTML, where a site has some, else by that for plain text."""
    config, count = settings.frames.config(), 0
    for sites in in_chunks(is_markup, _FETCHED_AT_ONCE):
        hashes = [site_hash(site, stores.pages.handle_key) for site in sites]
        for site, packed in zip(sites, await stores.frames.fetch(hashes), strict=True):
            lines = frame_lines(FrameTable.unpack(packed), config)
            count += lines.markup if is_markup[site] else lines.text
    return count
