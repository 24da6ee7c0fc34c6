"""A random order of all 64-bit words, one for each key.

Whoever keeps of a set what comes first in such an order, or what falls on every m-th place of it, draws a
sample, and draws the same elements from every set that has them.
"""

import numpy as np
from numpy.typing import NDArray

from neardup_stream.hashing.stable import mix

__all__ = ["mixed", "ranks"]

_NO_PATTERN = 0x9E3779B97F4A7C15
"""2**64 divided by the golden ratio, so that key 0 is as good as any: `mix` leaves 0 alone."""


def ranks(words: NDArray[np.uint64], key: int) -> NDArray[np.uint64]:
    """The place of each word in the order of the key: a one-to-one map.

    Orders of different keys are as good as independent. They are no secret: from its rank a word can be
    computed by those who know the key.

    Args:
        words: uint64, any shape.
        key: in [0, 2**64).

    Cost: 4 to 20 ns a word, 20 in small arrays.
    """
    # Keys of consecutive numbers only swap the places of consecutive words, unless both are mixed first.
    return mixed(mixed(words) ^ np.uint64(mix(key ^ _NO_PATTERN)))


def mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """`stable.mix` of each word of an array."""
    bits = np.uint64(33)
    words = (words ^ words >> bits) * np.uint64(0xFF51AFD7ED558CCD)
    words = (words ^ words >> bits) * np.uint64(0xC4CEB9FE1A85EC53)
    return words ^ words >> bits
