"""Find the pages of archives that share passages with given pages, for `overlap`."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from itertools import filterfalse
from pathlib import Path
from typing import Final, NamedTuple

import click
import msgspec
from msgspec import UNSET, UnsetType

from neardup_daemon.archives import distinct_archives, require_text_fit
from neardup_daemon.prepared_tally import PreparedTally
from neardup_daemon.preparing import open_preparation
from neardup_daemon.settings.settings import Settings
from neardup_daemon.terminal import printable, wrapped
from neardup_stream.archive.texts import TEXTS
from neardup_stream.errors import ConfigError
from neardup_stream.indexes.passages import LEAST_HITS, LEAST_TOKENS, Overlap, Passage, PassageIndex
from neardup_stream.message import Partition, Position, Record
from neardup_stream.meters import NoMeters
from neardup_stream.page import Page, PageId
from neardup_stream.pipeline.arrival import Arrival
from neardup_stream.streams.files.file_names import has_ending, utf8_name
from neardup_stream.streams.files.inputs import check_readable
from neardup_stream.streams.files.source import FileSource, PlaceOf, check_inputs
from neardup_stream.wire.times import rfc3339

__all__ = ["FoundOverlap", "FoundPassage", "OverlapRequest", "PageOverlaps", "find_overlaps", "readable"]

_TEXT_SUFFIXES: Final = (".txt", ".md")
_MARKUP_SUFFIXES: Final = (".html", ".htm")
_DIGITS: Final = 4
_EXCERPT_CHARACTERS: Final = 160
_AROUND_CHARACTERS: Final = 40


class OverlapRequest(NamedTuple):
    """What to look for, and where.

    Attributes:
        files: of pages; .txt, .md, .html and .htm hold one page each.
        archives: frozen with passages.
        min_tokens: shorter passages are left out.
        common_pages: hashes on more pages are set aside; None for what each archive was frozen with.
        min_hits: pages with fewer chosen shingles in common are left out.
    """

    files: tuple[str, ...]
    archives: tuple[Path, ...]
    min_tokens: int = LEAST_TOKENS
    common_pages: int | None = None
    min_hits: int = LEAST_HITS


class FoundPassage(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the visible text that an archived page has too.

    Attributes:
        start: its first character in the visible text of the page asked about.
        end: the character behind it.
        tokens: of it.
        page_start: the same in the visible text of the archived page; absent where no texts are kept.
        page_end: the same.
        excerpt: what it says, shortened in the middle.
    """

    start: int
    end: int
    tokens: int
    page_start: int | UnsetType = UNSET
    page_end: int | UnsetType = UNSET
    excerpt: str


class FoundOverlap(msgspec.Struct, frozen=True, kw_only=True):
    """An archived page that shares passages.

    Attributes:
        archive: name of its file.
        id: of the archived page.
        url: as crawled.
        fetched_at: when it was fetched.
        hits: chosen shingles in common.
        share: of the tokens of the page asked about, those in the passages.
        page_share: of the tokens of the archived page, those in the passages, or in further copies of them.
        is_exact: whether passages were read in both texts; else they are estimated, and may be longer.
        passages: in their order.
    """

    archive: str
    id: str
    url: str
    fetched_at: str
    hits: int
    share: float
    page_share: float
    is_exact: bool
    passages: tuple[FoundPassage, ...]


class PageOverlaps(msgspec.Struct, frozen=True, kw_only=True):
    """A page that was asked about.

    Attributes:
        id: of the page; of a file of one page its path.
        url: as crawled; the same.
        tokens: of its visible text.
        common: share of its chosen shingles that so many pages have that they were set aside; the largest of
            all archives.
        overlaps: archived pages, the largest shares first.
    """

    id: str
    url: str
    tokens: int
    common: float
    overlaps: tuple[FoundOverlap, ...]


async def find_overlaps(
    request: OverlapRequest, settings: Settings, tally: PreparedTally
) -> AsyncIterator[tuple[PageOverlaps, str] | str]:
    """Look for each page in all archives.

    Args:
        request: what to look for, and where.
        settings: how pages are read.
        tally: counts the records.

    Yields:
        What was found with the visible text of the page, or what one of the first few dead letters is about.

    Raises:
        ConfigError: a file cannot be read, or an archive was frozen without passages or with other settings.
        CorruptData: a file or an archive is damaged.
    """
    archives = distinct_archives(
        ((path, PassageIndex.open(path)) for path in request.archives), lambda each: each[1].archive.header
    )
    for path, index in archives:
        require_text_fit(path, index.archive.facts.get("schema"), settings)
    pages = list(filter(_is_one_page, request.files))
    crawls = list(filterfalse(_is_one_page, request.files))
    check_inputs(crawls, (*_TEXT_SUFFIXES, *_MARKUP_SUFFIXES))  # before kernels are compiled
    for name in pages:
        check_readable(name)
    async with open_preparation(settings, NoMeters(), frozenset({TEXTS})) as preparation:
        async for records, place_of in _records(pages, crawls, settings):
            prepared = await asyncio.to_thread(preparation.prepare, records)
            for letter in tally.add(prepared, {"compared": len(prepared.arrivals)}, place_of):
                yield letter
            for arrival in prepared.arrivals:
                text = arrival.kept.decoded if arrival.kept else ""
                yield _page_overlaps(arrival, text, archives, request), text


def readable(found: PageOverlaps, text: str) -> str:
    """Return the same as text for a person, with the passages marked."""
    return "\n".join(map(wrapped, _lines(found, text)))


async def _records(
    pages: Sequence[str], crawls: Sequence[str], settings: Settings
) -> AsyncIterator[tuple[Sequence[Record], PlaceOf]]:
    """Yield the records of files of one page and of crawls, and what names their places for a person."""
    limits = settings.pipeline.limits()
    for number, name in enumerate(pages):
        record = _file_record(name, number, settings.limits.max_page_bytes)
        yield [record], lambda position: utf8_name(pages[position.offset])
    if not crawls:
        return
    async with FileSource(crawls, settings.limits.max_page_bytes) as source:
        async for records in source.batches(limits.max_batch_pages, limits.max_batch_bytes):
            yield records, source.place_of


def _is_one_page(name: str) -> bool:
    return has_ending(name, (*_TEXT_SUFFIXES, *_MARKUP_SUFFIXES))


def _file_record(name: str, number: int, max_page_bytes: int) -> Record:
    try:
        with Path(name).open("rb") as file:
            body = file.read(max_page_bytes + 1)
    except OSError as error:
        raise ConfigError(f"cannot read {name}: {error.strerror}") from error
    if len(body) > max_page_bytes:
        raise ConfigError(f"{name} is larger than limits.max_page_bytes = {max_page_bytes}")
    content_type = "text/html" if has_ending(name, _MARKUP_SUFFIXES) else "text/plain"
    label = utf8_name(name)
    page = Page(
        id=PageId(label),
        url=label,
        fetched_at_seconds=0,
        body=body,
        content_type=content_type,
        charset="utf-8",
    )
    return Record(position=Position(Partition("files", 0), number), key=None, value=b"", decoded=page)


def _page_overlaps(
    arrival: Arrival, text: str, archives: Sequence[tuple[Path, PassageIndex]], request: OverlapRequest
) -> PageOverlaps:
    found: list[FoundOverlap] = []
    common = 0.0
    for path, index in archives:
        answer = index.overlaps(
            text,
            min_tokens=request.min_tokens,
            common_pages=request.common_pages,
            min_hits=request.min_hits,
        )
        common = max(common, answer.common_count / max(answer.chosen_count, 1))
        found += [_found(utf8_name(path.name), overlap, text) for overlap in answer.found]
    return PageOverlaps(
        id=arrival.page.id,
        url=arrival.page.url,
        tokens=arrival.token_count,
        common=round(common, _DIGITS),
        overlaps=tuple(sorted(found, key=lambda each: (-each.share, -each.page_share))),
    )


def _found(archive: str, overlap: Overlap, text: str) -> FoundOverlap:
    return FoundOverlap(
        archive=archive,
        id=overlap.page.id,
        url=overlap.page.url,
        fetched_at=rfc3339(overlap.page.fetched_ms),
        hits=overlap.hit_count,
        share=round(overlap.share, _DIGITS),
        page_share=round(overlap.page_share, _DIGITS),
        is_exact=overlap.is_exact,
        passages=tuple(_found_passage(passage, text) for passage in overlap.passages),
    )


def _found_passage(passage: Passage, text: str) -> FoundPassage:
    return FoundPassage(
        start=passage.start,
        end=passage.end,
        tokens=passage.token_count,
        page_start=UNSET if passage.page_start is None else passage.page_start,
        page_end=UNSET if passage.page_end is None else passage.page_end,
        excerpt=_shortened(text[passage.start : passage.end]),
    )


def _lines(found: PageOverlaps, text: str) -> Iterator[str]:
    common = f", {found.common:.0%} of it on too many pages to count as shared" if found.common else ""
    yield f"{click.style(printable(found.url), bold=True)}: {found.tokens:,} tokens{common}"
    if not found.overlaps:
        yield "  no archived page shares a passage with it"
    for overlap in found.overlaps:
        about = "" if overlap.is_exact else "at least "
        shares = f"{about}{overlap.share:.1%} of it, {about}{overlap.page_share:.1%} of"
        yield f"  {shares} {printable(overlap.url)}  {overlap.fetched_at}  {printable(overlap.archive)}"
        for passage in overlap.passages:
            before = _one_line("…" + text[max(0, passage.start - _AROUND_CHARACTERS) : passage.start])
            behind = _one_line(text[passage.end : passage.end + _AROUND_CHARACTERS] + "…")
            marked = click.style(f"[{_one_line(passage.excerpt)}]", fg="green", bold=True)
            yield f"    {passage.tokens:>6,} tokens, characters {passage.start:,} to {passage.end:,}"
            yield f"      {before} {marked} {behind}"


def _shortened(text: str) -> str:
    """Return the beginning and the end of a text, without half surrogate pairs, which JSON does not have."""
    if len(text) > _EXCERPT_CHARACTERS:
        half = _EXCERPT_CHARACTERS // 2
        text = f"{text[:half]} … {text[-half:]}"
    return text.encode("utf-8", "replace").decode()


def _one_line(text: str) -> str:
    return printable(" ".join(text.split()))
