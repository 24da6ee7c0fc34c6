"""A labelled set: pages of manuals, and for every pair of them whether it is a near-duplicate.

    exact     the same visible tokens
    near      similarity of at least .95
    probable  of at least .90: these three are positive
    grey      of at least .70: finding it is neither right nor wrong

Every other pair is negative. The true clusters are what the positive pairs connect.
"""

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchmarks.quality.manuals import MANUALS, HtmlPage, read_manual
from benchmarks.quality.similarity import SimilarPair, page_tokens, similar_pairs

__all__ = ["POSITIVE", "Label", "LabelledSet", "Pair", "build_labelled_set", "connected", "label_of", "pair"]

Label = Literal["exact", "near", "probable", "grey"]
Pair = tuple[str, str]
"""Ids of two pages, the smaller one first."""

POSITIVE: tuple[Label, ...] = ("exact", "near", "probable")
LEAST_SIMILARITY = 0.70
LEAST_TOKENS = 50
"""Shorter pages are a menu and a heading, alike for no reason that would matter."""


@dataclass(frozen=True)
class LabelledSet:
    """Pages in the order they are to be read in, all labels that are not negative, and the true clusters."""

    pages: Sequence[HtmlPage]
    labels: dict[Pair, Label]
    clusters: Sequence[frozenset[str]]

    def positives(self) -> Counter[Label]:
        """Return how many pairs have each positive label."""
        return Counter(label for label in self.labels.values() if label in POSITIVE)


def build_labelled_set(cache: Path) -> LabelledSet:
    """Fetch what `cache` lacks, and compare all pages with each other."""
    tokens = {}
    for manual in MANUALS:
        for page in read_manual(manual, cache):
            words = page_tokens(page.html)
            if len(words) >= LEAST_TOKENS:
                tokens[page] = words
    pages = list(tokens)
    random.Random(1).shuffle(pages)
    similar = similar_pairs([tokens[page] for page in pages], LEAST_SIMILARITY)
    labels = {_page_pair(pages, found): label_of(found.similarity) for found in similar}
    positive = (both for both, label in labels.items() if label in POSITIVE)
    return LabelledSet(pages, labels, connected(positive))


def pair(one: str, other: str) -> Pair:
    """Two ids in the order that a pair has."""
    return (one, other) if one < other else (other, one)


def label_of(similarity: float) -> Label:
    """Return the label of a pair of at least LEAST_SIMILARITY."""
    if similarity == 1:
        return "exact"
    if similarity >= 0.95:
        return "near"
    return "probable" if similarity >= 0.90 else "grey"


def connected(pairs: Iterable[Pair]) -> list[frozenset[str]]:
    """Return the groups of two or more that chains of pairs connect."""
    group: dict[str, set[str]] = {}
    for one, other in pairs:
        smaller, larger = sorted((group.get(one, {one}), group.get(other, {other})), key=len)
        larger |= smaller
        group.update(dict.fromkeys([*smaller, one, other], larger))
    return [frozenset(members) for members in {id(members): members for members in group.values()}.values()]


def _page_pair(pages: Sequence[HtmlPage], found: SimilarPair) -> Pair:
    return pair(pages[found.left].id, pages[found.right].id)
