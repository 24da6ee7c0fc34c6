"""Compare two pages without their common lines, to distinguish edited copies from other pages. Pure.

An edited copy and a sibling page may share equally many lines with a page. The other lines of the copy are
the same lines with single words changed; those of the sibling are different lines.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup_stream.fingerprints.simhash import PageLines

__all__ = ["Remainders", "compare_remainders"]

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


class Remainders(NamedTuple):
    """The comparison of two pages without their common lines.

    Attributes:
        token_count: tokens of the page that has more of them, from 0.
        overlap: fraction of neighboring tokens that both have in common, of the page that has more of them,
            in [0, 1]; 1 if neither has any.
    """

    token_count: int
    overlap: float


def compare_remainders(one: PageLines, other: PageLines) -> Remainders:
    """Compare two pages without their common lines. Symmetric.

    Cost: 60 µs for pages of 500 tokens.
    """
    (our_count, ours), (their_count, theirs) = _own_pairs(one, other.hashes), _own_pairs(other, one.hashes)
    token_count, most = max(our_count, their_count), max(ours.size, theirs.size)
    if not most:
        return Remainders(token_count, 1.0)
    common = np.intersect1d(ours, theirs, assume_unique=True).size
    return Remainders(token_count, float(common / most))


def _own_pairs(page: PageLines, shared_lines: NDArray[np.uint32]) -> tuple[int, NDArray[np.uint64]]:
    """Return how many tokens the unshared lines have, and their distinct pairs, ascending."""
    is_own = np.repeat(~np.isin(page.hashes, shared_lines), page.token_counts)
    first, second = page.tokens[:-1], page.tokens[1:]
    pairs = np.unique((first * _MULTIPLIER + second)[is_own[:-1] & is_own[1:]])
    return int(np.count_nonzero(is_own)), pairs
