"""How alike two pages are, exactly, by nothing that the detector computes.

Similarity is 2 * LCS / (|a| + |b|), with the longest common subsequence of all visible tokens. Markup is read
with Python's own parser, and the subsequence is left to RapidFuzz.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from html.parser import HTMLParser
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Indel

__all__ = ["SimilarPair", "VisibleText", "page_tokens", "similar_pairs", "tokens_of"]

COUNTERS = 1024
"""Columns that the tokens of a page are counted in. Fewer let more pairs pass to the exact comparison."""

UNSEEN_TAGS = {"head", "noscript", "script", "style", "template"}


class SimilarPair(NamedTuple):
    """Two pages, as places in the list of all pages, `left` before `right`."""

    left: int
    right: int
    similarity: float


class VisibleText(HTMLParser):
    """Collects what is between the tags, but for tags whose content is never shown."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._unseen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Enter a tag."""
        del attrs
        if tag in UNSEEN_TAGS:
            self._unseen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Leave a tag."""
        if tag in self._unseen:
            del self._unseen[self._unseen.index(tag) :]

    def handle_data(self, data: str) -> None:
        """Keep the text of a tag."""
        if not self._unseen:
            self.parts.append(data)


def page_tokens(html: str) -> list[str]:
    """Return all visible words of a page in order, NFKC and without case."""
    parser = VisibleText()
    parser.feed(html)
    parser.close()
    return tokens_of(parser.parts)


def tokens_of(parts: Iterable[str]) -> list[str]:
    """Return the words of pieces of text in order, NFKC and without case."""
    return re.findall(r"\w+", unicodedata.normalize("NFKC", " ".join(parts)).casefold())


def similar_pairs(pages: Sequence[Sequence[str]], least: float) -> list[SimilarPair]:
    """Return all pairs of pages whose similarity is at least `least`; none is missed.

    Args:
        pages: the tokens of each.
        least: in (0, 1].

    Cost: for 4,000 pages of 1,500 tokens about a minute, nearly all of it for the pairs that are alike.
    """
    characters: dict[str, str] = {}
    written = ["".join(characters.setdefault(word, chr(len(characters))) for word in page) for page in pages]
    compared = (
        SimilarPair(
            left, right, Indel.normalized_similarity(written[left], written[right], score_cutoff=least)
        )
        for left, right in _possible_pairs(written, least)
    )
    return [pair for pair in compared if pair.similarity >= least]


def _possible_pairs(written: Sequence[str], least: float) -> Iterator[tuple[int, int]]:
    """Yield all pairs that may be similar enough.

    A common subsequence holds a token at most as often as either page does, so the sum of the smaller counts
    is at least as long. Counting several tokens in one column can only raise it.
    """
    counts = np.stack([_counted(page) for page in written])
    lengths = counts.sum(axis=1)
    for left in range(len(written) - 1):
        others = left + 1 + np.flatnonzero(_lengths_allow(lengths[left], lengths[left + 1 :], least))
        shared = np.minimum(counts[left], counts[others]).sum(axis=1)
        is_possible = 2 * shared >= least * (lengths[left] + lengths[others])
        yield from ((left, right) for right in others[is_possible].tolist())


def _counted(page: str) -> NDArray[np.int32]:
    numbers = np.frombuffer(page.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    return np.bincount(numbers % COUNTERS, minlength=COUNTERS).astype(np.int32)


def _lengths_allow(length: np.int64, others: NDArray[np.int64], least: float) -> NDArray[np.bool_]:
    allowed: NDArray[np.bool_] = 2 * np.minimum(length, others) >= least * (length + others)
    return allowed
