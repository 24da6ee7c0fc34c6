"""Estimate how many pages of an answer do not fulfil the query: those that have its bits by chance."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from itertools import combinations
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup_stream.archive.search_tiles import Bitmap, SearchTiles
from neardup_stream.indexes.query_logic import BoundQuery, evaluate, required_terms

__all__ = ["Found", "expected_false_drops"]

_PAIRED_TERMS: Final = 8
"""With more terms, the few pages that have the bits of two terms by chance are counted twice."""

_NEGLIGIBLE_PAGES: Final = 0.001
"""Pairs of terms with fewer expected pages than this are not counted."""


class Found(NamedTuple):
    """The bitmaps of a query's terms.

    Attributes:
        bitmaps: of each term, the pages that may have it.
        exact: the terms whose bitmaps are exact.
        living: the pages that are not forgotten.
    """

    bitmaps: Mapping[int, Bitmap]
    exact: AbstractSet[int]
    living: Bitmap


def expected_false_drops(tiles: SearchTiles, bound: BoundQuery, found: Found, possible: Bitmap) -> float:
    """Return how many of the possible pages are expected not to fulfil the query.

    If every bitmap were exact, the query itself would give the number of pages that fulfil it. But of the
    pages that lack a term, and whose result depends on it, some have its bits by chance. Their number follows
    from the moments of their tile. If a page has the bits of two terms by chance, both terms count it.

    Args:
        tiles: of the archive.
        bound: the query.
        found: its terms.
        possible: the living pages that may fulfil it.
    """
    counts = _Counts(tiles, bound, found)
    expected = float((counts.of(possible) - counts.of(counts.fulfilling({}))).sum())
    uncertain = [term for term in found.bitmaps if term not in found.exact]
    required = required_terms(bound) - found.exact
    own = {term: tiles.own_slices(term, sorted(required - {term})) for term in uncertain}
    rates = {term: tiles.drop_rates(own[term]) for term in uncertain}
    for term in uncertain:
        odds = np.where(rates[term] < 1, rates[term] / np.maximum(1 - rates[term], 1e-9), 0.0)
        expected += float(counts.surplus(term) @ odds)
    if len(uncertain) <= _PAIRED_TERMS:
        for one, other in combinations(uncertain, 2):
            both = tiles.drop_rates(own[one] + own[other]) - 2 * rates[one] * rates[other]
            if float(tiles.page_counts @ abs(both)) > _NEGLIGIBLE_PAGES:
                expected += float(counts.interaction(one, other) @ both)
    return max(0.0, expected)


class _Counts:
    """Count the living pages of each tile for which a query has a given result, some terms forced."""

    def __init__(self, tiles: SearchTiles, bound: BoundQuery, found: Found) -> None:
        self._tiles = tiles
        self._bound = bound
        self._found = found
        self._values = {True: np.full_like(found.living, 0xFF), False: np.zeros_like(found.living)}

    def of(self, bitmap: Bitmap) -> NDArray[np.int64]:
        """Return the number of set bits in each tile."""
        starts = self._tiles.first_bytes
        if not starts.size:
            return np.zeros(0, np.int64)
        return np.add.reduceat(np.bitwise_count(bitmap), starts, dtype=np.int64)

    def fulfilling(self, given: Mapping[int, bool]) -> Bitmap:
        """Return the living pages that fulfil the query if they have, or lack, the given terms."""
        values = {term: self._values[value] for term, value in given.items()}
        return evaluate(self._bound, {**self._found.bitmaps, **values}) & self._found.living

    def surplus(self, term: int) -> NDArray[np.int64]:
        """Return the gain of a term per tile, over pages without its bits.

        The gain is the number of pages that fulfil the query with the term, minus those that fulfil it
        without.
        """
        lacking = ~self._found.bitmaps[term]
        with_term, without = self.fulfilling({term: True}), self.fulfilling({term: False})
        return self.of(with_term & lacking) - self.of(without & lacking)

    def interaction(self, one: int, other: int) -> NDArray[np.int64]:
        """Return the gain of two terms together beyond that of each, over pages without their bits."""
        lacking = ~(self._found.bitmaps[one] | self._found.bitmaps[other])
        total = np.zeros(self._tiles.first_bytes.size, np.int64)
        for has_one in (False, True):
            for has_other in (False, True):
                fulfilling = self.of(self.fulfilling({one: has_one, other: has_other}) & lacking)
                total += fulfilling if has_one == has_other else -fulfilling
        return total
