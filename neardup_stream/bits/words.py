"""Fingerprints as words of 64 bits: the array type, and how far two of them are apart.

Bit 63 is the leading bit: it is the first of a word written as big-endian bytes, and words sort by it.
"""

import numpy as np
import numpy.typing as npt

__all__ = ["WORD_BITS", "Words", "distances", "hamming_distance"]

WORD_BITS = 64

Words = npt.NDArray[np.uint64]


def hamming_distance(left: int, right: int) -> int:
    """Bits in which two words differ, 0 to 64; both in [0, 2**64).

    >>> hamming_distance(0b1011, 0b0001)
    2
    """
    return (left ^ right).bit_count()


def distances(left: Words, right: Words) -> npt.NDArray[np.uint8]:
    """Bits in which the words of two arrays differ, pair by pair; shapes broadcast."""
    counts: npt.NDArray[np.uint8] = np.bitwise_count(left ^ right)
    return counts
