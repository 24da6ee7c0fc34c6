"""Compare the matches that were found with the true ones."""

from collections.abc import Iterable
from typing import NamedTuple

from neardup_daemon.demo.sample_crawl.truth import SampleCrawl

__all__ = ["KindScore", "Score", "score"]


class KindScore(NamedTuple):
    """One kind of relation: how many pages have it, and how many of them were found."""

    kind: str
    pages: int
    found: int


class Score(NamedTuple):
    """The score of a run.

    Attributes:
        kinds: one for each kind of relation, in the crawl's order.
        false_pairs: matches of unrelated pages, each once, sorted.
    """

    kinds: tuple[KindScore, ...]
    false_pairs: tuple[tuple[str, str], ...]

    @property
    def pages(self) -> int:
        """Near-duplicate pages there are."""
        return sum(kind.pages for kind in self.kinds)

    @property
    def found(self) -> int:
        """Near-duplicate pages that were found."""
        return sum(kind.found for kind in self.kinds)


def score(crawl: SampleCrawl, matches: Iterable[tuple[str, str]]) -> Score:
    """Count what the matches got right and wrong.

    A page counts as found when it was declared a duplicate of a page of the same origin: its original, or
    another variant of that. To be named by another page's match is not enough.

    Args:
        crawl: with the truth.
        matches: (page, the earlier page it was declared a duplicate of), ids, in any order, repeats allowed.
    """
    found: set[str] = set()
    false_pairs: set[tuple[str, str]] = set()
    for page_id, earlier_id in matches:
        if crawl.are_kin(page_id, earlier_id):
            found.add(page_id)
        else:
            false_pairs.add((page_id, earlier_id))
    pages_of: dict[str, list[str]] = {}
    for page_id, relation in crawl.relations.items():
        pages_of.setdefault(relation.kind, []).append(page_id)
    kinds = [KindScore(kind, len(pages), len(found.intersection(pages))) for kind, pages in pages_of.items()]
    return Score(tuple(kinds), tuple(sorted(false_pairs)))
