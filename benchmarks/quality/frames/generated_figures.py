"""Measure what `dedup` finds on generated crawls: recall by edited words and frame share, and false pairs."""

from collections import Counter
from dataclasses import dataclass

from benchmarks.quality.dedup import Duplicate, find_duplicates
from benchmarks.quality.edits import Vocabulary
from benchmarks.quality.frames.generated_crawls import (
    EDITED_WORDS,
    ArticlePage,
    Placement,
    generate_articles,
    generate_unrelated,
    page_of,
)
from benchmarks.quality.frames.scopes import settings_of

__all__ = [
    "COPIES",
    "FRAME_SHARES",
    "ArticleFigures",
    "ArticleTally",
    "measure_articles",
    "measure_unrelated",
]

FRAME_SHARES = (0.0, 0.5, 0.8, 0.9)
COPIES: tuple[Placement, ...] = ("same", "other")


@dataclass(frozen=True)
class ArticleFigures:
    """What was found of the copies of articles at one frame share.

    Attributes:
        recalls: for copies on the same host and on another, by EDITED_WORDS.
        recall: of all copies.
        precision: of all pairs that events name; two copies of one article are neither right nor wrong.
        false_count: pairs of different articles.
    """

    recalls: dict[Placement, list[float]]
    recall: float
    precision: float
    false_count: int


class ArticleTally:
    """Counts pairs of a crawl as they are reported."""

    def __init__(self) -> None:
        self._found: Counter[tuple[Placement, int]] = Counter()
        self._false_count = 0

    def take(self, duplicate: Duplicate) -> None:
        """Count the matches of one event."""
        assert len(duplicate.matches) == duplicate.total, "an event that does not name all matches"
        page = page_of(duplicate.page)
        for match in map(page_of, duplicate.matches):
            self._take_pair(page, match)

    def figures(self, article_count: int) -> ArticleFigures:
        """Return the figures of a crawl of so many articles, the same number for each of EDITED_WORDS."""
        each = article_count / len(EDITED_WORDS)
        found_count = self._found.total()
        asserted_count = found_count + self._false_count
        return ArticleFigures(
            recalls={
                copy: [self._found[copy, edited_words] / each for edited_words in EDITED_WORDS]
                for copy in COPIES
            },
            recall=found_count / (article_count * len(COPIES)),
            precision=found_count / asserted_count if asserted_count else 1.0,
            false_count=self._false_count,
        )

    def _take_pair(self, page: ArticlePage, match: ArticlePage) -> None:
        if page.article != match.article:
            self._false_count += 1
        elif match.placement == "original":
            self._found[page.placement, page.edited_words] += 1


def measure_articles(
    host_count: int, articles_per_host: int, frame_share: float, vocabulary: Vocabulary, scope: str
) -> ArticleFigures:
    """Run `dedup` over articles and their copies, from an empty index.

    Args:
        host_count: how many hosts.
        articles_per_host: a multiple of the number of EDITED_WORDS.
        frame_share: of the words of every page.
        vocabulary: all words.
        scope: of SCOPES.
    """
    assert articles_per_host % len(EDITED_WORDS) == 0
    tally = ArticleTally()
    pages = generate_articles(host_count, articles_per_host, frame_share, vocabulary)
    find_duplicates(pages, settings_of(scope), tally.take)
    figures = tally.figures(host_count * articles_per_host)
    if not frame_share:
        assert all(recalls[0] == 1 for recalls in figures.recalls.values()), "every equal page is found"
    return figures


def measure_unrelated(
    page_count: int, host_count: int, frame_share: float, vocabulary: Vocabulary, scope: str
) -> int:
    """Return how many pairs `dedup` finds among pages of which no two are alike but for their frames."""
    totals: list[int] = []
    pages = generate_unrelated(page_count, host_count, frame_share, vocabulary)
    find_duplicates(
        pages,
        [*settings_of(scope), "verdict.matches_limit=1"],
        lambda duplicate: totals.append(duplicate.total),
    )
    return sum(totals)
