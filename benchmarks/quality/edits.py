"""Generated pages: how many edited words a setting forgives, and which unrelated pages it takes for alike.

A page is 500 words of a made-up language of 50,000, drawn independently and as unevenly as in natural text
(Zipf-Mandelbrot). An edit puts another word, drawn in the same way, in the place of one.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality.table_settings import TableSetting, are_found, by_recipe, matching_rows
from neardup_stream.fingerprints.simhash import Fingerprints, fingerprint_texts

__all__ = ["EDITED_WORDS", "PAGE_WORDS", "Vocabulary", "edit_recalls", "edited_pages", "unrelated_matches"]

PAGE_WORDS = 500
EDITED_WORDS = (0, 1, 2, 5, 10, 20, 30, 50, 100)
VOCABULARY_WORDS = 50_000
SKEW_SHIFT = 2.7
"""Mandelbrot's, which makes the most frequent words less so."""

BLOCK_PAGES = 10_000

_Numbers = NDArray[np.intp]


class Vocabulary(NamedTuple):
    """Words, and the share of all text that they and those before them make up."""

    words: NDArray[np.object_]
    cumulated_shares: NDArray[np.float64]

    @classmethod
    def make(cls, rng: np.random.Generator) -> "Vocabulary":
        """Distinct words of two to nine letters, the most frequent one first."""
        letters = np.array(list("etaoinshrdlucmfwyp"))
        drawn: dict[str, None] = {}
        while len(drawn) < VOCABULARY_WORDS:
            drawn["".join(rng.choice(letters, rng.integers(2, 10)))] = None
        shares = 1 / (np.arange(VOCABULARY_WORDS) + 1 + SKEW_SHIFT)
        return cls(np.array(list(drawn), dtype=np.object_), np.cumsum(shares) / shares.sum())

    def draw(self, rng: np.random.Generator, *shape: int) -> _Numbers:
        """Numbers of words."""
        return np.searchsorted(self.cumulated_shares, rng.random(shape))

    def write(self, pages: _Numbers) -> list[str]:
        """Return one text a row."""
        return [" ".join(row) for row in self.words[pages]]


def edit_recalls(
    settings: Sequence[TableSetting], page_count: int, vocabulary: Vocabulary, rng: np.random.Generator
) -> dict[str, list[float]]:
    """Share of edited pages that each setting finds, for each number of EDITED_WORDS."""
    pages = vocabulary.draw(rng, page_count, PAGE_WORDS)
    originals = vocabulary.write(pages)
    edited = [vocabulary.write(edited_pages(pages, count, vocabulary, rng)) for count in EDITED_WORDS]
    recalls = {}
    for recipe, sharing in by_recipe(settings):
        lefts = fingerprint_texts(originals, *recipe)
        rights = [fingerprint_texts(texts, *recipe) for texts in edited]
        for setting in sharing:
            recalls[setting.name] = [float(are_found(lefts, each, setting).mean()) for each in rights]
            assert recalls[setting.name][0] == 1, "every page without an edit is found"
    return recalls


def unrelated_matches(
    settings: Sequence[TableSetting], page_count: int, vocabulary: Vocabulary, rng: np.random.Generator
) -> dict[str, int]:
    """Pairs that each setting finds among pages that share nothing but their language."""
    sizes = [min(BLOCK_PAGES, page_count - first) for first in range(0, page_count, BLOCK_PAGES)]
    blocks = [vocabulary.write(vocabulary.draw(rng, size, PAGE_WORDS)) for size in sizes]
    counts = {}
    for recipe, sharing in by_recipe(settings):
        parts = [fingerprint_texts(block, *recipe) for block in blocks]
        pages = Fingerprints(*map(np.concatenate, zip(*parts, strict=True)))
        for setting in sharing:
            counts[setting.name] = len(matching_rows(pages, setting))
    return counts


def edited_pages(pages: _Numbers, count: int, vocabulary: Vocabulary, rng: np.random.Generator) -> _Numbers:
    """Return the pages with so many of their words replaced, each by another one."""
    places = rng.permuted(np.tile(np.arange(PAGE_WORDS), (len(pages), 1)), axis=1)[:, :count]
    before = np.take_along_axis(pages, places, axis=1)
    after = vocabulary.draw(rng, *places.shape)
    after = np.where(after == before, (after + 1) % VOCABULARY_WORDS, after)
    edited = pages.copy()
    np.put_along_axis(edited, places, after, axis=1)
    return edited
