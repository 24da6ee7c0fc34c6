"""Show what is stored of a site's frame, and which lines of given pages it is, for `frames show`."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import click
import msgspec

from neardup_daemon.inspect.frame_sites import frame_lines, named_site
from neardup_daemon.preparing import build_viewer, open_preparation, simhash_config
from neardup_daemon.settings.settings import Settings
from neardup_daemon.stored_index import open_stored_index
from neardup_daemon.terminal import printable
from neardup_stream.archive.texts import TEXTS
from neardup_stream.errors import ConfigError
from neardup_stream.fingerprints.simhash import fingerprint_lines
from neardup_stream.frames.lines import frame_bounds
from neardup_stream.frames.table import FrameTable
from neardup_stream.meters import NoMeters
from neardup_stream.pipeline.arrival import Arrival
from neardup_stream.pipeline.frames import site_hash
from neardup_stream.pipeline.preparation import Prepares
from neardup_stream.streams.files.source import FileSource

__all__ = [
    "FrameFacts",
    "PageLinesFacts",
    "StoredFrame",
    "forget_site",
    "frame_facts",
    "page_lines",
    "readable",
    "readable_page",
    "stored_frame",
]


class FrameFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is stored of a site.

    Attributes:
        site: its name.
        scope: what makes pages one site.
        pages: distinct pages counted, the latest few hundred at most; 0 where nothing is stored.
        lines: lines counted.
        markup: lines that are frame in a page of HTML.
        markup_pages: on how many counted pages a line of HTML must be for that.
        landmark: lines that are frame in navigation, footer or another landmark of a page of HTML.
        landmark_pages: the bound for those.
        text: lines that are frame in a page that came as plain text.
        text_pages: the bound for those.
    """

    site: str
    scope: str
    pages: int
    lines: int
    markup: int
    markup_pages: int
    landmark: int
    landmark_pages: int
    text: int
    text_pages: int


class LineFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a page, on how many counted pages of the site it was, and whether it is frame."""

    text: str
    count: int
    is_frame: bool


class PageLinesFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A page of the site, line by line."""

    id: str
    lines: tuple[LineFacts, ...]


class StoredFrame(msgspec.Struct, frozen=True, kw_only=True):
    """The frame table of a site, and the facts that are shown about it."""

    facts: FrameFacts
    table: FrameTable


async def stored_frame(name: str, settings: Settings, state_dir: Path | None) -> StoredFrame:
    """Read what is stored of a site.

    Args:
        name: of the site, or a URL of its pages.
        settings: those of the index.
        state_dir: what `dedup --state` keeps; None for the Redis in the settings.

    Raises:
        ConfigError: there is no such index, or nothing of the site, or frames are switched off.
        StoreUnavailable: Redis is unavailable.
        CorruptData: what is stored is not ours.
    """
    site = named_site(name, settings)
    async with open_stored_index(settings, state_dir) as stores:
        (packed,) = await stores.frames.fetch([site_hash(site, stores.pages.handle_key)])
    if not packed:
        raise ConfigError(
            f"no frame of {site!r} is stored (frames.scope is {settings.frames.scope}): its pages are"
            " compared whole until some have come"
        )
    table = FrameTable.unpack(packed)
    return StoredFrame(facts=frame_facts(site, table, settings), table=table)


def frame_facts(site: str, table: FrameTable, settings: Settings) -> FrameFacts:
    """Return what a site's frame table says of its frame."""
    config = settings.frames.config()
    bounds, lines = frame_bounds(table.page_count, config), frame_lines(table, config)
    return FrameFacts(
        site=site,
        scope=settings.frames.scope,
        pages=table.page_count,
        lines=int(table.hashes.size),
        markup=lines.markup,
        markup_pages=bounds.markup,
        landmark=lines.landmark,
        landmark_pages=bounds.landmark,
        text=lines.text,
        text_pages=bounds.text,
    )


async def forget_site(name: str, settings: Settings, state_dir: Path | None) -> bool:
    """Remove the frame table of a site; return whether there was one.

    Raises:
        ConfigError: there is no such index, or frames are switched off.
        StoreUnavailable: Redis is unavailable.
    """
    site = named_site(name, settings)
    async with open_stored_index(settings, state_dir) as stores:
        return await stores.frames.remove(site_hash(site, stores.pages.handle_key))


async def page_lines(
    files: Sequence[str], frame: StoredFrame, settings: Settings
) -> AsyncIterator[PageLinesFacts]:
    """Read the pages of the site from files, line by line.

    Raises:
        ConfigError: a file cannot be read.
        CorruptData: a file is damaged.
    """
    limits = settings.pipeline.limits()
    async with (
        FileSource(files, settings.limits.max_page_bytes) as source,
        open_preparation(settings, NoMeters(), frozenset({TEXTS})) as preparation,
    ):
        async for records in source.batches(limits.max_batch_pages, limits.max_batch_bytes):
            prepared = await asyncio.to_thread(preparation.prepare, records)
            for arrival in prepared.arrivals:
                if arrival.site == frame.facts.site and arrival.lines is not None:
                    yield await asyncio.to_thread(_page_lines, arrival, frame.table, settings, preparation)


def _page_lines(
    arrival: Arrival, table: FrameTable, settings: Settings, preparation: Prepares
) -> PageLinesFacts:
    """By the stored table alone."""
    assert arrival.lines is not None  # noqa: S101 - a page that was just prepared
    assert arrival.kept is not None  # noqa: S101 - with its text
    hashes = arrival.lines.hashes
    is_content = build_viewer(settings, preparation).content_of(arrival, table)
    known = dict(
        zip(
            hashes.tolist(),
            zip(table.counts_of(hashes).tolist(), is_content.tolist(), strict=True),
            strict=True,
        )
    )
    lines = arrival.kept.decoded.split("\n")
    _, hashed = fingerprint_lines(lines, simhash_config(settings))
    return PageLinesFacts(
        id=arrival.page.id,
        lines=tuple(
            LineFacts(text=text.strip(), count=known[line][0], is_frame=not known[line][1])
            for text, each in zip(lines, hashed, strict=True)
            for line in each.hashes.tolist()
            if line in known
        ),
    )


def readable(frame: FrameFacts) -> Iterator[str]:
    """Yield the same as lines for a person."""
    name = click.style(printable(frame.site), bold=True)
    yield f"{name}  pages counted: {frame.pages:,}, lines stored: {frame.lines:,}"
    for count, what, pages in (
        (frame.markup, "HTML", frame.markup_pages),
        (frame.landmark, "landmarks of HTML (navigation, footers)", frame.landmark_pages),
        (frame.text, "plain text", frame.text_pages),
    ):
        yield f"  {count:>6,} lines are frame in {what}: on {pages:,} or more of those pages"


def readable_page(page: PageLinesFacts) -> Iterator[str]:
    """Yield the lines of a page for a person: its frame is marked and dim."""
    yield ""
    yield click.style(printable(page.id), bold=True)
    for line in page.lines:
        shown = f"{line.count:>5} {'|' if line.is_frame else ' '} {printable(line.text)}"
        yield click.style(shown, dim=True) if line.is_frame else shown
