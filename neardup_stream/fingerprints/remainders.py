"""Compare two pages without their common lines, to distinguish edited copies from other pages. Pure.

An edited copy and a sibling page may share equally many lines with a page. The other lines of the copy are
the same lines with single words changed; those of the sibling are different lines.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup_stream.fingerprints.simhash import PageLines
from neardup_stream.ordered import are_first

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

    Cost: 30 µs for pages of 500 tokens.
    """
    our_lines, their_lines = one.hashes.tolist(), other.hashes.tolist()
    shared = set(our_lines).intersection(their_lines)  # for a page's few lines faster than sorted arrays
    our_count, ours = _own_pairs(one, our_lines, shared)
    their_count, theirs = _own_pairs(other, their_lines, shared)
    token_count, most = max(our_count, their_count), max(ours.size, theirs.size)
    if not most:
        return Remainders(token_count, 1.0)
    both = np.sort(np.concatenate([ours, theirs]))
    common = np.count_nonzero(both[1:] == both[:-1])
    return Remainders(token_count, float(common / most))


def _own_pairs(
    page: PageLines, lines: Sequence[int], shared: AbstractSet[int]
) -> tuple[int, NDArray[np.uint64]]:
    """Return how many tokens the unshared lines have, and their distinct pairs, ascending."""
    is_own = np.repeat(np.array([line not in shared for line in lines], np.bool_), page.token_counts)
    first = np.flatnonzero(is_own[:-1] & is_own[1:])
    pairs = np.sort(page.tokens[first] * _MULTIPLIER + page.tokens[first + 1])
    return int(np.count_nonzero(is_own)), pairs[are_first(pairs)]
