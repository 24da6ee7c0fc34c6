"""What `dedup` makes of a labelled set: the program as delivered, with a server of its own."""

from collections.abc import Sequence
from typing import NamedTuple

from benchmarks.quality.dedup import Duplicate, InputPage, find_duplicates
from benchmarks.quality.labelled_set import Pair, pair
from benchmarks.quality.manuals import HtmlPage

__all__ = ["Answer", "run_dedup"]

COPIED_PAGES = 50
"""Pages that are read a second time, at another address: every copy must be found."""

COPY_PREFIX = "copy-of/"

SETTINGS = ("verdict.matches_limit=10000", "index.expected_pages=10000", "log.level=warning")


class Answer(NamedTuple):
    """The pairs that events name, and the clusters at the end, copies left out."""

    matches: set[Pair]
    clusters: list[list[str]]


def run_dedup(pages: Sequence[HtmlPage], rule: str) -> Answer:
    """Deduplicate pages, and some of them once more; all of those must be found.

    Args:
        pages: in the order to be read.
        rule: a value of `clusters.rule`.
    """
    copies = [HtmlPage(COPY_PREFIX + page.id, page.html) for page in pages[:COPIED_PAGES]]
    matches: set[Pair] = set()

    def take(duplicate: Duplicate) -> None:
        matches.update(pair(duplicate.page, match) for match in duplicate.matches)

    clusters = find_duplicates(map(_as_input, (*pages, *copies)), (*SETTINGS, f"clusters.rule={rule}"), take)
    assert {pair(page.id, COPY_PREFIX + page.id) for page in pages[:COPIED_PAGES]} <= matches
    return Answer(
        {both for both in matches if not any(map(_is_copy, both))},
        [[page for page in members if not _is_copy(page)] for members in clusters],
    )


def _as_input(page: HtmlPage) -> InputPage:
    return InputPage(page.id, f"https://manuals.example/{page.id}", page.html)


def _is_copy(page_id: str) -> bool:
    return page_id.startswith(COPY_PREFIX)
