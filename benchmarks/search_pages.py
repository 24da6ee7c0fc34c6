"""Generated pages to be searched, and what is true of them."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["BATCH", "SEED", "VOCABULARY", "MadePages", "Truth"]

VOCABULARY = 500_000
SPREAD = 0.5
BATCH = 4096
DRAWN = 2.6
"""So many times as many terms are drawn as a page has: frequent ones come repeatedly."""
SEED = 5


class MadePages:
    """Terms of pages, made as they are asked for: the same for the same number."""

    def __init__(self, count: int, terms: float, bend: int) -> None:
        rng = np.random.default_rng(SEED)
        self.count = count
        self._bend = bend
        self.names = rng.integers(0, 1 << 64, VOCABULARY, dtype=np.uint64)
        lengths = rng.lognormal(0.0, SPREAD, count)
        self._lengths = np.maximum(1, np.rint(lengths * (terms / lengths.mean()))).astype(np.int64)

    def _ranks(self, uniform: NDArray[np.float64]) -> NDArray[np.int64]:
        """Ranks from 0, by the inverse of their distribution: 1 / rank up to the bend, 1 / rank² beyond."""
        before = math.log(self._bend)
        mass = uniform * (before + 1 - self._bend / VOCABULARY)
        ranks = np.where(mass < before, np.exp(mass), self._bend / np.maximum(1 + before - mass, 1e-12))
        return np.minimum(ranks, VOCABULARY).astype(np.int64) - 1

    def batch(self, first: int) -> list[NDArray[np.int64]]:
        """Return the ranks of the distinct terms of BATCH pages, ascending."""
        rng = np.random.default_rng([SEED, first])
        lengths = self._lengths[first : first + BATCH]
        room = np.ceil(DRAWN * lengths).astype(np.int64)
        drawn = self._ranks(rng.random(int(room.sum())))
        pages = []
        at = 0
        for length, size in zip(lengths.tolist(), room.tolist(), strict=True):
            distinct, places = np.unique(drawn[at : at + size], return_index=True)
            pages.append(np.sort(distinct[np.argsort(places)[:length]]))
            at += size
        return pages


class Truth:
    """For some terms the pages that have them."""

    def __init__(self, ranks: Sequence[int], count: int) -> None:
        self._places = np.full(VOCABULARY, -1)
        self._places[list(ranks)] = np.arange(len(ranks))
        self.pages = np.zeros((len(ranks), count), np.bool_)

    def add(self, first: int, pages: Sequence[NDArray[np.int64]]) -> None:
        """Take in the next pages."""
        for number, ranks in enumerate(pages, start=first):
            places = self._places[ranks]
            self.pages[places[places >= 0], number] = True

    def of(self, rank: int) -> NDArray[np.bool_]:
        """Return the pages that have a term."""
        found: NDArray[np.bool_] = self.pages[self._places[rank]]
        return found
