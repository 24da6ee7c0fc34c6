"""Find the frozen pages that hold terms, for `search`."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import click
import msgspec
import numpy as np

from neardup_daemon.archives import differing_fields, distinct_archives, require_text_fit, token_schema
from neardup_daemon.preparing import open_preparation
from neardup_daemon.settings.settings import Settings
from neardup_daemon.terminal import printable
from neardup_stream.archive.layout import MAGIC
from neardup_stream.archive.logged import LoggedArchive
from neardup_stream.archive.texts import TEXTS, KeptTexts, has_texts
from neardup_stream.errors import ConfigError
from neardup_stream.fingerprints.simhash import SimhashConfig
from neardup_stream.indexes.queries import OPERATORS, leaves, parse_query
from neardup_stream.indexes.query_logic import BoundQuery, bind_query
from neardup_stream.indexes.settling import settle_by_kept_texts, settle_texts
from neardup_stream.indexes.sliced import SearchAnswer, SlicedIndex
from neardup_stream.meters import NoMeters
from neardup_stream.streams.files.file_names import utf8_name
from neardup_stream.streams.files.source import FileSource
from neardup_stream.wire.times import rfc3339

__all__ = [
    "ArchiveCounts",
    "FoundPage",
    "SearchRun",
    "SearchedPages",
    "operator_hint",
    "readable",
    "search_archives",
]

_NO_FINGERPRINT: Final = 0
"""Stored for a page that is too short to be compared."""


class SearchRun(NamedTuple):
    """What to search.

    Attributes:
        query: as it was typed.
        files: archives; files of pages too, to settle by.
        is_settled: whether texts are read to settle what is uncertain.
        limit: pages to list at most.
    """

    query: str
    files: Sequence[Path]
    is_settled: bool
    limit: int


class ArchiveCounts(msgspec.Struct, frozen=True, kw_only=True):
    """What one archive has.

    Attributes:
        archive: name of its file.
        pages: in it, forgotten ones too.
        yes: that fulfil the query.
        maybe: that may fulfil it.
        expected_false_drops: how many of these are expected not to.
        settled: that were a maybe until their texts were read.
    """

    archive: str
    pages: int
    yes: int
    maybe: int
    expected_false_drops: float
    settled: int


class FoundPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page that fulfils a query, or may.

    Attributes:
        archive: name of its file.
        id: of the page.
        url: as crawled.
        fetched_at: when it was fetched.
        answer: yes or maybe.
    """

    archive: str
    id: str
    url: str
    fetched_at: str
    answer: str


class SearchedPages(msgspec.Struct, frozen=True, kw_only=True):
    """What archives say of a query.

    Attributes:
        query: as it was understood.
        yes: pages that fulfil it.
        maybe: pages that may fulfil it.
        expected_false_drops: how many of these are expected not to.
        archives: the same of each.
        matches: pages, as many as were asked for; of each archive those that fulfil the query first.
    """

    query: str
    yes: int
    maybe: int
    expected_false_drops: float
    archives: tuple[ArchiveCounts, ...]
    matches: tuple[FoundPage, ...]


class _Searched(NamedTuple):
    """An archive and its answer, before and after it was settled."""

    name: str
    sliced: SlicedIndex
    asked: SearchAnswer
    answer: SearchAnswer


def search_archives(run: SearchRun, settings: Settings) -> SearchedPages:
    """Search archives.

    Args:
        run: what to search.
        settings: how files of pages are read.

    Raises:
        ConfigError: the query cannot be read (names the position), an archive is missing or was frozen
            without search, or texts that are to settle are not there or are extracted otherwise.
        CorruptData: an archive or a file is damaged.
    """
    query = bind_query(run.query)
    archives = [path for path in run.files if not run.is_settled or _is_archive(path)]
    pages = [path for path in run.files if path not in archives]
    if not archives:
        raise ConfigError(
            f"name at least one archive that was frozen with search; {', '.join(map(str, pages))}: no archive"
        )
    asked = [(path, _asked(path, query)) for path in archives]
    distinct = distinct_archives(asked, lambda each: each[1].sliced.archive.header)
    found = [each for _, each in distinct]
    if run.is_settled:
        found = [_by_kept_texts(each, must=not pages) for each in found]
        if pages:
            for path, each in distinct:
                require_text_fit(path, each.sliced.archive.facts.get("schema"), settings)
            found = asyncio.run(_by_files(found, query, pages, settings))
    counts = tuple(_counts(each) for each in found)
    matches = [page for each in found for page in _pages(each, run.limit)]
    return SearchedPages(
        query=str(query.query),
        yes=sum(each.yes for each in counts),
        maybe=sum(each.maybe for each in counts),
        expected_false_drops=round(sum(each.expected_false_drops for each in counts), 3),
        archives=counts,
        matches=tuple(matches[: run.limit]),
    )


def readable(found: SearchedPages) -> str:
    """Return the same as text for a person."""
    return "\n".join(_lines(found))


def _asked(path: Path, query: BoundQuery) -> _Searched:
    index = SlicedIndex.open(path)
    _require_tokens(path, index.archive)
    answer = index.search(query)
    return _Searched(utf8_name(path.name), index, answer, answer)


def _require_tokens(path: Path, archive: LoggedArchive) -> None:
    """Refuse an archive whose tokens are made otherwise; a differing Unicode is only warned of."""
    stored = archive.facts.get("schema")
    own = token_schema(SimhashConfig())
    frozen = {name: stored.get(name) for name in own} if isinstance(stored, dict) else {}
    for name in differing_fields(path, frozen, own):
        raise ConfigError(
            f"{path} was frozen with {name} {frozen.get(name)!r}, this program has {own[name]!r}:"
            " search it with the release that froze it"
        )


def _is_archive(path: Path) -> bool:
    """Return whether a regular file begins as archives do; what is read of a pipe would be lost.

    A file that cannot be read is none: its reader complains of it.
    """
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def _by_kept_texts(searched: _Searched, *, must: bool) -> _Searched:
    """Return the same with every maybe settled by the texts that the archive keeps.

    Args:
        searched: an archive and its answer.
        must: whether it is an error that it keeps none.
    """
    archive = searched.sliced.archive
    if not must and not has_texts(archive):
        return searched
    return searched._replace(answer=settle_by_kept_texts(searched.answer, KeptTexts(archive)))


async def _by_files(
    found: Sequence[_Searched], query: BoundQuery, paths: Sequence[Path], settings: Settings
) -> list[_Searched]:
    """Return the same with every maybe settled by the pages of files, found by their ids."""
    wanted: dict[str, list[tuple[int, int]]] = {}
    for number, each in enumerate(found):
        for row in each.answer.maybe.tolist():
            wanted.setdefault(each.sliced.archive.log.page(row).id, []).append((number, row))
    settled: list[dict[int, bool]] = [{} for _ in found]
    async for texts in _texts(paths, settings):
        known = [(page_id, text) for page_id, text in texts if page_id in wanted]
        for said in settle_texts(query, ((i, text) for i, (_, text) in enumerate(known))):
            for number, row in wanted[known[said.row][0]]:
                if _is_same_text(found[number].sliced.archive, row, said.text_fingerprint):
                    settled[number][row] = said.is_fulfilled
    return [each._replace(answer=each.answer.settled(own)) for each, own in zip(found, settled, strict=True)]


def _is_same_text(archive: LoggedArchive, row: int, text_fingerprint: int) -> bool:
    """Return whether a page has the frozen text; False where the archive has no fingerprint of that text."""
    section = archive.file.sections.get("text")
    if section is None:
        return False
    (stored,) = archive.file.rows_of(section, np.array([row])).view("<u8").reshape(-1).tolist()
    return bool(stored == text_fingerprint != _NO_FINGERPRINT)


async def _texts(paths: Sequence[Path], settings: Settings) -> AsyncIterator[list[tuple[str, str]]]:
    """Yield ids and visible texts of the pages of files, read once."""
    limits = settings.pipeline.limits()
    async with (
        FileSource([str(path) for path in paths], settings.limits.max_page_bytes) as source,
        open_preparation(settings, NoMeters(), frozenset({TEXTS})) as preparation,
    ):
        async for records in source.batches(limits.max_batch_pages, limits.max_batch_bytes):
            prepared = await asyncio.to_thread(preparation.prepare, records)
            yield [
                (arrival.page.id, arrival.kept.decoded)
                for arrival in prepared.arrivals
                if arrival.kept is not None
            ]


def _counts(searched: _Searched) -> ArchiveCounts:
    answer = searched.answer
    return ArchiveCounts(
        archive=searched.name,
        pages=searched.sliced.archive.header.page_count,
        yes=answer.yes.size,
        maybe=answer.maybe.size,
        expected_false_drops=round(answer.expected_false_drops, 3),
        settled=searched.asked.maybe.size - answer.maybe.size,
    )


def _pages(searched: _Searched, limit: int) -> Iterator[FoundPage]:
    answer, log = searched.answer, searched.sliced.archive.log
    for rows, said in ((answer.yes, "yes"), (answer.maybe, "maybe")):
        for row in rows[:limit].tolist():
            page = log.page(row)
            yield FoundPage(
                archive=searched.name,
                id=page.id,
                url=page.url,
                fetched_at=rfc3339(page.fetched_ms),
                answer=said,
            )


def _lines(found: SearchedPages) -> Iterator[str]:
    yield click.style(printable(found.query), bold=True)
    phrases = ", but for phrases" if '"' in found.query else ""
    for each in found.archives:
        expected = f", of which {each.expected_false_drops:.2g} are expected not to{phrases}"
        false = expected if each.maybe else ""
        settled = f"; {each.settled:,} settled by their texts" if each.settled else ""
        yield (
            f"  {printable(each.archive)}: of {each.pages:,} pages {each.yes:,} do,"
            f" {each.maybe:,} may{false}{settled}"
        )
    for page in found.matches:
        answer = click.style(f"{page.answer:>5}", fg="green" if page.answer == "yes" else "yellow")
        yield f"  {answer}  {printable(page.url)}  {page.fetched_at}  {printable(page.archive)}"
    if hidden := found.yes + found.maybe - len(found.matches):
        yield f"  {hidden:,} more: see --limit"


def operator_hint(query: str, found: SearchedPages) -> str:
    """Return that a word of a query is no operator for lack of capitals; empty where pages were found."""
    if found.yes or found.maybe:
        return ""
    words = (each.text for each in leaves(parse_query(query)) if not each.is_quoted)
    small = next((word for word in words if word.upper() in OPERATORS), "")
    return f"{small!r} is searched as a word: write operators as {', '.join(OPERATORS)}" if small else ""
