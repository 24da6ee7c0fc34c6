"""Order all 64-bit words at random, one order for each key.

The first elements of a set in such an order, or every m-th, are a sample. Sets draw a shared element alike.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from neardup_stream.hashing.stable import mix

__all__ = ["MOST_KEY", "mixed", "ranks"]

MOST_KEY: Final = (1 << 64) - 1
"""The last key of an order; the first is 0."""

_NO_PATTERN = 0x9E3779B97F4A7C15
"""2**64 divided by the golden ratio, so that key 0 works like any other: `mix` maps 0 to 0."""


def ranks(words: NDArray[np.uint64], key: int) -> NDArray[np.uint64]:
    """Return the rank of each word in the order of the key; the map is one-to-one.

    Orders of different keys are statistically independent. Ranks are not secret: a word can be computed from
    its rank and the key.

    Args:
        words: uint64, any shape.
        key: in [0, 2**64).

    Cost: 4 to 20 ns a word, 20 in small arrays.
    """
    # Keys that are consecutive numbers would only swap the ranks of consecutive words if they were not mixed.
    return mixed(mixed(words) ^ np.uint64(mix(key ^ _NO_PATTERN)))


def mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return `stable.mix` of each word of an array."""
    bits = np.uint64(33)
    words = (words ^ words >> bits) * np.uint64(0xFF51AFD7ED558CCD)
    words = (words ^ words >> bits) * np.uint64(0xC4CEB9FE1A85EC53)
    return words ^ words >> bits
