"""How alike two sets are: Broder's two ratios, exact, and how far estimates of them stray.

    resemblance   what both have / what either has          symmetric; 1 - resemblance is a metric
    containment   what both have / what the one has         of the one in the other

Sets are arrays of 64-bit words, ascending and distinct. A ratio of nothing to nothing is NaN: it is unknown,
and reaches no threshold.

Source: Broder 1997, "On the resemblance and containment of documents".
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup_stream.bits.words import Words

__all__ = ["Overlap", "Union", "exact_overlap", "ratio", "standard_error", "union"]


class Overlap(NamedTuple):
    """How many elements two sets have, and how many they share; or two samples of them, drawn alike.

    Attributes:
        first_count: of the first set.
        second_count: of the second.
        common_count: of both.
    """

    first_count: int
    second_count: int
    common_count: int

    @property
    def resemblance(self) -> float:
        """In [0, 1]; NaN when both are empty."""
        return ratio(self.common_count, self.first_count + self.second_count - self.common_count)

    @property
    def first_in_second(self) -> float:
        """The containment of the first in the second, in [0, 1]; NaN when the first is empty."""
        return ratio(self.common_count, self.first_count)

    @property
    def second_in_first(self) -> float:
        """The containment of the second in the first, in [0, 1]; NaN when the second is empty."""
        return ratio(self.common_count, self.second_count)


class Union(NamedTuple):
    """Two sets as one.

    Attributes:
        words: what is in either, ascending and distinct.
        is_common: for each of them, whether it is in both.
    """

    words: Words
    is_common: NDArray[np.bool_]


def exact_overlap(first: Words, second: Words) -> Overlap:
    """What two sets have in common. Cost: O(n); 15 µs for two sets of 600."""
    common_count = int(np.count_nonzero(union(first, second).is_common))
    return Overlap(first.size, second.size, common_count)


def union(first: Words, second: Words) -> Union:
    """The union of two sets. Cost: O(n): of two sorted runs a stable sort makes one in a single pass."""
    merged = np.sort(np.concatenate([first, second]), kind="stable")
    is_repeated = merged[1:] == merged[:-1]
    is_first = np.ones(merged.size, np.bool_)
    is_first[1:] = ~is_repeated
    is_common = np.zeros(merged.size, np.bool_)
    is_common[:-1] = is_repeated
    return Union(merged[is_first], is_common[is_first])


def ratio(part: int, whole: int) -> float:
    """The part of the whole, NaN when that is 0."""
    return part / whole if whole else math.nan


def standard_error(expected: float, drawn_count: float, population_count: float = math.inf) -> float:
    """How far an estimated ratio typically is from the true one: the standard deviation of the estimate.

    The estimate is the share of drawn elements that have a property, and none is drawn twice:

        sqrt(r * (1 - r) / s * (n - s) / (n - 1))

    Two estimates in three are within it, 19 in 20 within twice of it.

    Args:
        expected: the ratio, r, in [0, 1]; the estimate serves if the true one is not known.
        drawn_count: how many elements were judged by, s, above 0: of a union for a resemblance, of the set
            in question for a containment.
        population_count: how many there are, n; if it is not known, the error is stated a little too large.

    >>> round(standard_error(0.5, 100), 3)
    0.05
    """
    if drawn_count >= population_count:
        return 0.0
    unseen = (
        1.0 if population_count == math.inf else (population_count - drawn_count) / (population_count - 1)
    )
    return math.sqrt(expected * (1 - expected) / drawn_count * unseen)
