"""Compute Broder's two ratios of two sets, exactly, and the standard error of their estimates.

    resemblance   |A and B| / |A or B|     symmetric; 1 - resemblance is a metric
    containment   |A and B| / |A|          of A in B

Sets are arrays of 64-bit words, ascending and distinct. A ratio of two empty sets is NaN: it is unknown, and
reaches no threshold.

Source: Broder 1997, "On the resemblance and containment of documents".
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup_stream.bits.words import Words
from neardup_stream.errors import ConfigError
from neardup_stream.ordered import are_first

__all__ = ["Overlap", "Union", "exact_overlap", "ratio", "standard_error", "union"]


class Overlap(NamedTuple):
    """The sizes of two sets and of their intersection; or of two samples, drawn alike.

    Attributes:
        first_count: elements of the first set.
        second_count: of the second.
        common_count: of both.
    """

    first_count: int
    second_count: int
    common_count: int

    @property
    def resemblance(self) -> float:
        """Return the resemblance, in [0, 1]; NaN if both are empty."""
        return ratio(self.common_count, self.first_count + self.second_count - self.common_count)

    @property
    def first_in_second(self) -> float:
        """Return the containment of the first in the second, in [0, 1]; NaN when the first is empty."""
        return ratio(self.common_count, self.first_count)

    @property
    def second_in_first(self) -> float:
        """Return the containment of the second in the first, in [0, 1]; NaN when the second is empty."""
        return ratio(self.common_count, self.second_count)


class Union(NamedTuple):
    """The union of two sets.

    Attributes:
        words: elements of either, ascending and distinct.
        is_common: for each of them, whether it is in both.
    """

    words: Words
    is_common: NDArray[np.bool_]


def exact_overlap(first: Words, second: Words) -> Overlap:
    """Return the overlap of two sets. Cost: O(n); 15 µs for two sets of 600."""
    common_count = int(np.count_nonzero(union(first, second).is_common))
    return Overlap(first.size, second.size, common_count)


def union(first: Words, second: Words) -> Union:
    """Return the union of two sets.

    Cost: O(n): a stable sort merges two sorted runs in a single pass.
    """
    merged = np.sort(np.concatenate([first, second]), kind="stable")
    is_first = are_first(merged)
    is_common = np.zeros(merged.size, np.bool_)
    is_common[:-1] = ~is_first[1:]
    return Union(merged[is_first], is_common[is_first])


def ratio(part: int, whole: int) -> float:
    """Return the ratio of a part to the whole; NaN if the whole is 0."""
    return part / whole if whole else math.nan


def standard_error(expected: float, drawn_count: float, population_count: float = math.inf) -> float:
    """Return the standard deviation of an estimated ratio.

    The estimate is the fraction of drawn elements that have a property, and none is drawn twice:

        sqrt(r * (1 - r) / s * (n - s) / (n - 1))

    Two estimates in three are within one standard deviation of the true ratio, 19 in 20 within two.

    Args:
        expected: the ratio, r, in [0, 1]; use the estimate if the true ratio is unknown.
        drawn_count: size of the sample, s, above 0: drawn of a union for a resemblance, of the contained set
            for a containment.
        population_count: number of all elements, n; if it is unknown, the result is slightly too large.

    Raises:
        ConfigError: the ratio or the size of the sample is not in its range.

    >>> round(standard_error(0.5, 100), 3)
    0.05
    """
    if expected < 0 or expected > 1:
        raise ConfigError(f"expected is {expected}, must be 0 to 1")
    if drawn_count <= 0:
        raise ConfigError(f"drawn_count is {drawn_count}, must be above 0")
    if drawn_count >= population_count:
        return 0.0
    others_count = max(population_count - 1, 1)  # of one element none or all are drawn
    unseen = 1.0 if population_count == math.inf else (population_count - drawn_count) / others_count
    return math.sqrt(expected * (1 - expected) / drawn_count * unseen)
