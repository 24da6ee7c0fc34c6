"""Report what was found on the demo's site with a frame: its articles, their near-duplicates, the frame."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import floor
from typing import NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from neardup_daemon.demo.facts import DemoRun, closeness
from neardup_daemon.demo.sample_crawl.truth import SampleCrawl
from neardup_stream.event_parts import EventMatch
from neardup_stream.events import DuplicateFound

__all__ = ["FrameReport", "FramedCopy", "build_frame_report", "print_frame_report"]


class FramedCopy(NamedTuple):
    """A near-duplicate of one of the site's articles.

    Attributes:
        kind: its true relation to the article.
        url: of the page.
        match: with the article or another copy of it; None if no event reported one.
    """

    kind: str
    url: str
    match: EventMatch | None


@dataclass(frozen=True, slots=True)
class FrameReport:
    """The site against the truth.

    Attributes:
        host: of the site.
        page_count: pages of the site.
        true_share: share of frame in the words of its pages, in [0, 1].
        found_share: mean share of frame in the pages that the daemon compared without frame, in [0, 1].
        framed_count: how many pages these are; the others came before the daemon knew the frame.
        article_count: different articles.
        common_share: least share of words that two of their pages have in common, frame included, in [0, 1].
        pair_count: pairs of different articles.
        false_pair_count: how many of these pairs were matched, themselves or by their near-duplicates.
        copies: near-duplicates of articles.
    """

    host: str
    page_count: int
    true_share: float
    found_share: float
    framed_count: int
    article_count: int
    common_share: float
    pair_count: int
    false_pair_count: int
    copies: tuple[FramedCopy, ...]


def build_frame_report(crawl: SampleCrawl, run: DemoRun) -> FrameReport | None:
    """Compare a run with the truth about the site; return None for a crawl without such a site."""
    framed = crawl.framed
    if not framed.articles:
        return None
    words = {page_id: Counter(crawl.text_of(page_id).split()) for page_id in _site_pages(crawl)}
    pairs = list(combinations(framed.articles, 2))
    found = [share for page_id in words if (share := run.frame_shares.get(page_id, 0.0))]
    matches = {
        published.data.page.id: published.data.matches
        for published in run.published()
        if isinstance(published.data, DuplicateFound)
    }
    return FrameReport(
        host=framed.host,
        page_count=len(words),
        true_share=len(words) * framed.frame_word_count / sum(map(Counter.total, words.values())),
        found_share=sum(found) / max(len(found), 1),
        framed_count=len(found),
        article_count=len(framed.articles),
        common_share=min(_common_share(words[one], words[other]) for one, other in pairs),
        pair_count=len(pairs),
        false_pair_count=len(_false_pairs(crawl, matches)),
        copies=tuple(_copies(crawl, matches)),
    )


def print_frame_report(report: FrameReport, console: Console) -> None:
    """Print a line for the frame, what was taken out, the articles, false pairs, and each near-duplicate."""
    console.print(
        f"\n[bold]A site with a frame[/bold]: {report.host}, {report.page_count} pages", highlight=False
    )
    grid = Table.grid(padding=(0, 1))
    grid.add_row("  frame", f"{report.true_share:.0%} of all words: header, navigation and footer")
    grid.add_row("  taken out", _taken_out(report))
    grid.add_row(
        "  different articles",
        f"{report.article_count}; any two share at least {floor(100 * report.common_share)}% of their words",
    )
    grid.add_row(
        "  false pairs",
        Text(f"{report.false_pair_count}", "bold red" if report.false_pair_count else "bold green").append(
            f" of {report.pair_count} pairs of different articles", "default"
        ),
    )
    for copy in report.copies:
        grid.add_row(f"  {copy.kind}", _copy_words(copy, report.host))
    console.print(grid)


def _site_pages(crawl: SampleCrawl) -> list[str]:
    framed = crawl.framed
    pages = (*framed.articles, *framed.near_duplicates)
    return [page_id for page_id in pages if _host(page_id) == framed.host]


def _common_share(one: Counter[str], other: Counter[str]) -> float:
    """Return the share of the longer page's words that the other has too."""
    return (one & other).total() / max(one.total(), other.total())


def _false_pairs(crawl: SampleCrawl, matches: dict[str, tuple[EventMatch, ...]]) -> set[frozenset[str]]:
    """Return the pairs of different articles that were matched, themselves or by their near-duplicates."""
    articles = set(crawl.framed.articles)
    pairs = (
        frozenset((crawl.base_of(page_id), crawl.base_of(match.id)))
        for page_id, found in matches.items()
        for match in found
    )
    return {pair for pair in pairs if len(pair) > 1 and pair <= articles}


def _copies(crawl: SampleCrawl, matches: dict[str, tuple[EventMatch, ...]]) -> Iterator[FramedCopy]:
    for page_id in crawl.framed.near_duplicates:
        kin = (match for match in matches.get(page_id, ()) if crawl.are_kin(page_id, match.id))
        yield FramedCopy(crawl.relations[page_id].kind, page_id, next(kin, None))


def _taken_out(report: FrameReport) -> str:
    if not report.framed_count:
        return "nothing: no page was compared without its frame"
    early = report.page_count - report.framed_count
    pages = f"from {report.framed_count} of {report.page_count} pages" if early else "from every page"
    reason = f"; {early} came before the frame was known" if early else ""
    return f"{report.found_share:.0%} of the text, {pages}{reason}"


def _copy_words(copy: FramedCopy, host: str) -> Text:
    if copy.match is None:
        return Text("MISSED", "bold red")
    view = "without frames" if copy.match.view == "content" else "whole pages"
    place = "" if _host(copy.url) == host else ", on another site"
    return Text("found", "bold green").append(f", alike: {closeness(copy.match)} ({view}){place}", "default")


def _host(url: str) -> str:
    """In the sample crawl a page's URL is its id."""
    return url.partition("://")[2].partition("/")[0]
