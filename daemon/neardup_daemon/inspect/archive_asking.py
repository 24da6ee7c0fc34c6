"""Look up one page in archives, for `archive query`."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import msgspec
from msgspec import UNSET, UnsetType

from neardup_daemon.archives import open_archives
from neardup_daemon.inspect.page_lookup import STDIN, named_ids, read_given, reporting_no_file
from neardup_daemon.preparing import verdict_config
from neardup_daemon.settings.settings import Settings
from neardup_daemon.terminal import printable
from neardup_stream.errors import ConfigError
from neardup_stream.event_parts import rounded_ratio
from neardup_stream.match import MatchKind, View
from neardup_stream.pipeline.archive_lookup import AskingPage, OpenArchive, consult
from neardup_stream.pipeline.archived import ArchivedMatch
from neardup_stream.wire.times import rfc3339

__all__ = ["ArchiveAnswer", "FrozenEntry", "FrozenMatch", "frozen_matches", "query_archives", "readable"]


class FrozenEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A page of an archive.

    Attributes:
        archive: name of its file.
        id: of the page.
        url: as crawled.
        fetched_at: when it was fetched.
        is_forgotten: whether it is forgotten, and matches nothing.
    """

    archive: str
    id: str
    url: str
    fetched_at: str
    is_forgotten: bool = False


class FrozenMatch(msgspec.Struct, frozen=True, kw_only=True):
    """A page of an archive that a page is like; see `EventMatch` for the fields of likeness.

    Attributes:
        keys: that both pages have, so that the page was found: `text`, `band N` or `fuzzy N`.
    """

    archive: str
    id: str
    url: str
    fetched_at: str
    kind: MatchKind
    distance_bits: int
    resemblance: float | UnsetType = UNSET
    containment: float | UnsetType = UNSET
    contained_in: float | UnsetType = UNSET
    view: View = "whole"
    keys: tuple[str, ...] = ()


class ArchiveAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What archives say of one page.

    Attributes:
        entries: pages of its id.
        matches: pages it is like, best first; none for a page that is only named, because archives keep no
            texts to look for its likes.
    """

    entries: tuple[FrozenEntry, ...]
    matches: tuple[FrozenMatch, ...]


def query_archives(name: str, paths: Sequence[Path], settings: Settings) -> ArchiveAnswer:
    """Ask archives about a page.

    Args:
        name: id or URL of a frozen page, or `-` for a page as JSON on standard input.
        paths: of the archives.
        settings: how pages are compared.

    Raises:
        ConfigError: an archive is missing or does not fit the settings, or none has the page that is named.
        CorruptData: an archive is damaged.
    """
    archives = open_archives(paths, settings)
    if name != STDIN:
        entries = tuple(_entries(named_ids(name), archives))
        if not entries:
            with reporting_no_file(name):
                raise ConfigError(f"{', '.join(map(str, paths))} has no page {name!r}")
        return ArchiveAnswer(entries=entries, matches=())
    page = read_given(STDIN, settings)
    return ArchiveAnswer(
        entries=tuple(_entries([page.record.id], archives)),
        matches=frozen_matches(page.asking, archives, settings, settings.verdict.matches_limit),
    )


def frozen_matches(
    page: AskingPage, archives: Sequence[OpenArchive], settings: Settings, limit: int
) -> tuple[FrozenMatch, ...]:
    """Return the pages of archives that a page is like, best first, and the keys by which they are found.

    Raises:
        CorruptData: an archive is damaged.
    """
    (found,) = consult([page], archives, verdict_config(settings), limit).answers
    return tuple(map(_match_entry, found.matches))


def _match_entry(archived: ArchivedMatch) -> FrozenMatch:
    match = archived.match
    return FrozenMatch(
        archive=archived.archive_name,
        id=match.id,
        url=match.url,
        fetched_at=rfc3339(archived.fetched_ms),
        kind=match.kind,
        distance_bits=match.distance_bits,
        resemblance=rounded_ratio(match.resemblance),
        containment=rounded_ratio(match.containment),
        contained_in=rounded_ratio(match.contained_in),
        view=match.view,
        keys=archived.keys,
    )


def readable(answer: ArchiveAnswer) -> str:
    """Return the same as text for a person."""
    return "\n".join(_lines(answer))


def _entries(names: Sequence[str], archives: Sequence[OpenArchive]) -> Iterator[FrozenEntry]:
    for archive in archives:
        for row in dict.fromkeys(archive.index.log.find(names).values()):
            page = archive.index.log.page(row)
            yield FrozenEntry(
                archive=archive.name,
                id=page.id,
                url=page.url,
                fetched_at=rfc3339(page.fetched_ms),
                is_forgotten=bool(archive.gone[row]),
            )


def _lines(answer: ArchiveAnswer) -> Iterator[str]:
    if not answer.entries and not answer.matches:
        yield "no archive has this page, or one like it"
    for entry in answer.entries:
        forgotten = ", forgotten" if entry.is_forgotten else ""
        yield f"{printable(entry.archive)} has {printable(entry.url)}, fetched {entry.fetched_at}{forgotten}"
    for match in answer.matches:
        likeness = "" if match.resemblance is UNSET else f"{match.resemblance:6.1%} alike"
        figures = click.style(f"{match.kind:>9}{likeness} {match.distance_bits:>3} bits", fg="green")
        yield f"  {figures}  {printable(match.url)}  {match.fetched_at}  {printable(match.archive)}"
        yield f"             found by {', '.join(match.keys)}"
