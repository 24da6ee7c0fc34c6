"""Two labelled sets of real pages that are mostly frame; the truth is the exact similarity of articles.

`designs`: one article in two designs of a site, and many articles in one design. Labels as in
`benchmarks.quality.labelled_set`, from the article alone.

`siblings`: two documents are different pages, however alike their articles are. Only captures of one document
are positive (from .90) or grey. Equal articles of two documents are grey: they say nothing of their own.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from benchmarks.quality.frames.article import article_tokens
from benchmarks.quality.frames.sites import DESIGN_SITES, SIBLING_SITES, Site
from benchmarks.quality.labelled_set import (
    LEAST_SIMILARITY,
    POSITIVE,
    Label,
    LabelledSet,
    Pair,
    connected,
    label_of,
    pair,
)
from benchmarks.quality.manuals import HtmlPage
from benchmarks.quality.packages import draw_place, html_files
from benchmarks.quality.similarity import page_tokens, similar_pairs

__all__ = ["CrawledPage", "FramedSet", "build_designs", "build_siblings", "crawl_order", "label_siblings"]

PAGES_PER_CAPTURE = 150
LEAST_TOKENS = 20
"""Shorter articles are a name and nothing else."""


class CrawledPage(NamedTuple):
    """A page of a site.

    Attributes:
        id: its address without the scheme, so the host comes first.
        document: the same for a page in other captures of its site.
        html: the whole page.
        article: the words of its article.
        frame_share: of the words of the page, those outside its article.
    """

    id: str
    document: str
    html: str
    article: Sequence[str]
    frame_share: float


@dataclass(frozen=True)
class FramedSet:
    """A labelled set, and what its pages are made of.

    Attributes:
        name: of the set.
        truth: pages in the order of the crawl, labels and true clusters.
        frame_shares: by page.
        article_similarities: of all pairs of at least LEAST_SIMILARITY.
    """

    name: str
    truth: LabelledSet
    frame_shares: dict[str, float]
    article_similarities: dict[Pair, float]


def build_designs(cache: Path) -> FramedSet:
    """Build the set `designs`; fetch the packages that `cache` lacks."""
    pages = crawl_order(_read_sites(DESIGN_SITES, cache))
    similarities = _similarities(pages)
    labels = {both: label_of(similarity) for both, similarity in similarities.items()}
    return _framed_set("designs", pages, labels, similarities)


def build_siblings(cache: Path) -> FramedSet:
    """Build the set `siblings`; fetch the packages that `cache` lacks."""
    pages = crawl_order(_read_sites(SIBLING_SITES, cache))
    similarities = _similarities(pages)
    return _framed_set("siblings", pages, label_siblings(pages, similarities), similarities)


def label_siblings(pages: Iterable[CrawledPage], similarities: dict[Pair, float]) -> dict[Pair, Label]:
    """Label pages of one document by similarity, and equal articles of different documents grey.

    Args:
        pages: all of the set.
        similarities: of articles, of all pairs of at least LEAST_SIMILARITY.
    """
    documents = {page.id: page.document for page in pages}
    captures: dict[str, list[str]] = {}
    for page_id, document in documents.items():
        captures.setdefault(document, []).append(page_id)
    labels: dict[Pair, Label] = {}
    for members in captures.values():
        for one, other in combinations(members, 2):
            both = pair(one, other)
            labels[both] = label_of(similarities.get(both, 0))
    for both, similarity in similarities.items():
        if similarity == 1:
            labels.setdefault(both, "grey")
    return labels


def crawl_order(captures: Iterable[Sequence[CrawledPage]]) -> list[CrawledPage]:
    """Interleave the captures of all sites: a site's captures one after the other, each from its root down.

    Args:
        captures: pages of each; captures of one host are adjacent and in order of time.
    """
    by_host: dict[str, list[Sequence[CrawledPage]]] = {}
    for pages in captures:
        by_host.setdefault(_host(pages[0]), []).append(pages)
    placed = []
    for in_time in by_host.values():
        for number, pages in enumerate(in_time):
            for place, page in enumerate(sorted(pages, key=_depth_first_drawn)):
                placed.append(((number + place / len(pages)) / len(in_time), page.id, page))
    return [page for _, _, page in sorted(placed, key=lambda each: each[:2])]


def _host(page: CrawledPage) -> str:
    return page.id.partition("/")[0]


def _depth_first_drawn(page: CrawledPage) -> tuple[int, bytes]:
    return page.document.count("/"), draw_place(page.document)


def _read_sites(sites: Iterable[Site], cache: Path) -> Iterator[list[CrawledPage]]:
    for site in sites:
        wanted = re.compile(site.documents)
        for capture in site.captures:
            files = html_files(capture.package, cache)
            paths = sorted(filter(wanted.match, files), key=draw_place)[:PAGES_PER_CAPTURE]
            assert paths, f"{capture.package} has no page that {site.documents} matches"
            pages = []
            for path in paths:
                article = article_tokens(files[path], capture.article)
                if article is not None and len(article) >= LEAST_TOKENS:
                    page_id = f"{site.host}/{capture.folder}/{path}"
                    share = 1 - len(article) / len(page_tokens(files[path]))
                    document = f"{site.host}/{path}"
                    pages.append(CrawledPage(page_id, document, files[path], article, share))
            assert len(pages) > len(paths) / 2, f"{capture.package}: {capture.article} is not the article"
            yield pages


def _similarities(pages: Sequence[CrawledPage]) -> dict[Pair, float]:
    similar = similar_pairs([page.article for page in pages], LEAST_SIMILARITY)
    return {pair(pages[each.left].id, pages[each.right].id): each.similarity for each in similar}


def _framed_set(
    name: str, pages: Sequence[CrawledPage], labels: dict[Pair, Label], similarities: dict[Pair, float]
) -> FramedSet:
    positive = (both for both, label in labels.items() if label in POSITIVE)
    truth = LabelledSet([HtmlPage(page.id, page.html) for page in pages], labels, connected(positive))
    assert len({page.id for page in pages}) == len(pages), "an id twice"
    assert {*POSITIVE} <= {*labels.values()}, "a label without a pair"
    return FramedSet(name, truth, {page.id: page.frame_share for page in pages}, similarities)
