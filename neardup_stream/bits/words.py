"""Represent fingerprints as 64-bit words: the array type and the Hamming distance.

Bit 63 is the leading bit: it comes first in big-endian bytes and in the sort order.
"""

import numpy as np
import numpy.typing as npt

__all__ = ["WORD_BITS", "Words", "distances", "hamming_distance", "require_words"]

WORD_BITS = 64

Words = npt.NDArray[np.uint64]


def hamming_distance(left: int, right: int) -> int:
    """Return the number of bits in which two words differ, 0 to 64; both in [0, 2**64).

    >>> hamming_distance(0b1011, 0b0001)
    2
    """
    return (left ^ right).bit_count()


def distances(left: Words, right: Words) -> npt.NDArray[np.uint8]:
    """Return the number of bits in which the words of two arrays differ, pair by pair; shapes broadcast."""
    counts: npt.NDArray[np.uint8] = np.bitwise_count(left ^ right)
    return counts


def require_words(words: object) -> None:
    """Return if this is a one-dimensional array of words, or of what any word can hold.

    Raises:
        TypeError: it is not; the message says what it is.
    """
    if not isinstance(words, np.ndarray):
        raise TypeError(f"expected an array of uint64, got {type(words).__name__}")
    if words.ndim != 1 or not np.can_cast(words.dtype, np.uint64):
        raise TypeError(f"expected uint64 in one dimension, got {words.dtype} in {words.ndim}")
