"""Find the stored pages that a page matches, by probing without storing anything, for `query`."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, ParamSpec, Protocol, TypeVar

import click
import msgspec
from msgspec import UNSET

from neardup_daemon.archives import open_archives
from neardup_daemon.inspect.archive_asking import FrozenMatch, frozen_matches
from neardup_daemon.inspect.page_facts import MatchFacts, PageFacts, cluster_of, match_facts, page_facts
from neardup_daemon.inspect.page_lookup import (
    STDIN,
    AskedPage,
    find_stored,
    place_given,
    read_given,
    reporting_no_file,
)
from neardup_daemon.preparing import verdict_config
from neardup_daemon.settings.settings import Settings
from neardup_daemon.stored_index import open_stored_index
from neardup_daemon.terminal import printable
from neardup_daemon.wiring import Stores
from neardup_stream.event_parts import EventCluster
from neardup_stream.indexes.protocol import Probed
from neardup_stream.match import View
from neardup_stream.pipeline.archive_lookup import OpenArchive
from neardup_stream.pipeline.candidate_comparison import Compared, compare_candidates
from neardup_stream.pipeline.classification import VerdictConfig
from neardup_stream.pipeline.probe import ProbingPage, probe
from neardup_stream.pipeline.verify import fetch_candidates

__all__ = ["Answer", "RunsInThread", "answer_about", "query_page", "readable"]

_Given = ParamSpec("_Given")
_Returned = TypeVar("_Returned")

_VIEWS: Final[Mapping[View, str]] = {"content": "content", "whole": "whole text"}


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one page.

    Attributes:
        page: the page itself.
        matches: verified, best first; of pages with one fingerprint only the first few.
        containers: pages that are no match, but one of the two is mostly inside the other.
        is_truncated: whether more pages may match than were read.
        cluster: the present cluster of the stored page; null where nothing was decided.
        archived: pages of the archives in `archive.files` that it is like, best first.
        asked_by_text_only: archives with fuzzy keys alone, which a stored page has none of: they were asked
            for its exact text.
    """

    page: PageFacts
    matches: tuple[MatchFacts, ...]
    containers: tuple[MatchFacts, ...]
    is_truncated: bool
    cluster: EventCluster | None
    archived: tuple[FrozenMatch, ...] = ()
    asked_by_text_only: tuple[str, ...] = ()


def query_page(name: str, settings: Settings, state_dir: Path | None) -> Answer:
    """Ask an index about a page; nothing is written anywhere.

    A page on standard input is awaited without an event loop, which would keep a signal until it has come.

    Args:
        name: id or URL of a stored page, or `-` for one as JSON on standard input.
        settings: those of the index.
        state_dir: what `dedup --state` keeps; None for the Redis in the settings.

    Raises:
        ConfigError: no such page or no such index.
        StoreUnavailable: Redis is unavailable.
        CorruptData: what is stored is not ours.
    """
    archives = open_archives([Path(name) for name in settings.archive.files], settings)
    given = read_given(STDIN, settings) if name == STDIN else None
    with reporting_no_file(name):
        return asyncio.run(_answer_named(name, given, archives, settings, state_dir))


async def _answer_named(
    name: str,
    given: AskedPage | None,
    archives: Sequence[OpenArchive],
    settings: Settings,
    state_dir: Path | None,
) -> Answer:
    async with open_stored_index(settings, state_dir) as stores:
        page = await (
            place_given(given, settings, stores.pages, stores.frames)
            if given
            else find_stored(name, stores.pages)
        )
        return await answer_about(page, stores, archives, settings)


class RunsInThread(Protocol):
    """Runs a call in a thread, as `asyncio.to_thread` does."""

    async def __call__(
        self, function: Callable[_Given, _Returned], /, *args: _Given.args, **kwargs: _Given.kwargs
    ) -> _Returned:
        """Return what the call returns."""
        ...


async def answer_about(
    page: AskedPage,
    stores: Stores,
    archives: Sequence[OpenArchive],
    settings: Settings,
    in_thread: RunsInThread = asyncio.to_thread,
) -> Answer:
    """Ask open stores about a page; nothing is written anywhere.

    Args:
        page: that is asked about.
        stores: of the index.
        archives: that are asked beside it.
        settings: those of the index.
        in_thread: runs what would stop the event loop.

    Raises:
        StoreUnavailable: the store is unavailable.
        CorruptData: what is stored is not ours.
    """
    compared, is_truncated = await _probe(page, stores, verdict_config(settings))
    return Answer(
        page=page_facts(page),
        matches=tuple(match_facts(match, match.kind) for match in compared.matches),
        containers=tuple(match_facts(match, "contained") for match in compared.containers),
        is_truncated=is_truncated,
        cluster=await cluster_of(page, stores),
        archived=await in_thread(_archived, page, archives, settings) if archives else (),
        asked_by_text_only=_asked_by_text_only(page, archives),
    )


def _asked_by_text_only(page: AskedPage, archives: Sequence[OpenArchive]) -> tuple[str, ...]:
    has_words = bool(page.asking.prefixes) or not page.record.is_indexed
    return tuple(each.name for each in archives if not has_words and "bands" not in each.index.key_kinds)


def _archived(
    page: AskedPage, archives: Sequence[OpenArchive], settings: Settings
) -> tuple[FrozenMatch, ...]:
    return frozen_matches(page.asking, archives, settings, settings.archive.matches_limit)


async def _probe(page: AskedPage, stores: Stores, config: VerdictConfig) -> tuple[Compared, bool]:
    """Probe as the daemon does, but leave stale candidates in the index."""
    if not page.record.is_indexed:
        return Compared((), ()), False
    whole_bands = page.arrival.whole_bands if page.arrival else b""
    probed = await _probe_in_force(ProbingPage(page.handle, page.record, whole_bands), stores)
    records = await fetch_candidates(probed.candidates, stores.pages.records)
    verification = compare_candidates([page.record], probed.candidates, records, config)
    return verification.compared[0], bool(probed.truncated_rows)


async def _probe_in_force(page: ProbingPage, stores: Stores) -> Probed:
    """Probe the tables until their layout did not change meanwhile: those of a former one are removed."""
    while True:
        probed = await probe([page], stores.pages.index)
        await stores.tables.learn()
        if probed.layout_change == stores.tables.state.found.change:
            return probed


def readable(answer: Answer) -> str:
    """Return the same as text for a person."""
    return "\n".join(_lines(answer))


def _lines(answer: Answer) -> Iterator[str]:
    page = answer.page
    yield f"{click.style(printable(page.id), bold=True)}  {_standing(page)}"
    if answer.cluster is not None:
        cluster = answer.cluster
        representative = printable(cluster.representative.id)
        yield f"  cluster {printable(cluster.id)}: {cluster.size:,} in all, {representative} represents it"
    if page.frame_share is not UNSET:
        yield f"  frame of its site: {page.frame_share:.0%} of the page, which is not compared"
    if page.state == "short":
        yield "  too few tokens to be judged: equal to nothing"
    elif page.state == "archived":
        yield "  left to the archives: in no cluster, and equal to nothing in the index"
    elif page.state != "gone":
        yield f"  matches: {len(answer.matches):,}"
    is_framed = page.frame_share is not UNSET
    yield from (_match_line(match, is_framed=is_framed) for match in (*answer.matches, *answer.containers))
    for match in answer.archived:
        likeness = "" if match.resemblance is UNSET else f", {match.resemblance:.1%} alike"
        name, url = printable(match.archive), printable(match.url)
        yield f"  {name} has {url}, fetched {match.fetched_at}: {match.kind}{likeness}"
        yield f"    found by {', '.join(match.keys)}"
    for name in answer.asked_by_text_only:
        shown = printable(name)
        yield f"  {shown} has fuzzy keys alone: give the page as JSON to find more than its exact text"
    if answer.is_truncated:
        yield click.style("  and perhaps more: many pages are this near, and only some were read", dim=True)


def _standing(page: PageFacts) -> str:
    if not page.version:
        return "not stored"
    if page.state == "gone":
        return "forgotten or expired"
    return f"version {page.version}" if page.is_stored else f"differs from version {page.version}, as stored"


def _match_line(match: MatchFacts, *, is_framed: bool) -> str:
    """With the view that decided, where either page has a known frame."""
    likeness = "" if match.resemblance is UNSET else f" {match.resemblance:6.1%} alike"
    if is_framed or match.view == "content":
        likeness += f" by {_VIEWS[match.view]}"
    figures = click.style(f"{match.kind:>9}{likeness} {match.distance_bits:>3} bits", fg="green")
    return f"  {figures}  {printable(match.url)}"
