"""Pack arrays of integers of any bit width without gaps. Pure.

Item i occupies the bits i * width to (i + 1) * width - 1, lowest bit first: bit b of the array is bit b % 8
of byte b // 8.
"""

import numpy as np
from numpy.typing import NDArray

__all__ = ["MAX_PACKED_BITS", "bits_for", "pack", "unpack"]

MAX_PACKED_BITS = 57
"""The widest item: with up to 7 bits before it in its first byte it still fits into 64 bits."""

_WORD_BITS = 64


def bits_for(largest: int) -> int:
    """Return how many bits hold every number up to `largest`; 1 for 0.

    >>> bits_for(0), bits_for(255), bits_for(256)
    (1, 8, 9)
    """
    return max(1, largest.bit_length())


def pack(values: NDArray[np.uint64], width: int) -> bytes:
    """Return the bytes of these values, each below 2**width.

    64 items fill `width` words; each step places the same item of all such groups.

    Cost: 300 µs, and 10 ns a value.
    """
    groups = -(-values.size // _WORD_BITS)
    items = np.zeros((groups, _WORD_BITS), np.uint64)
    items.reshape(-1)[: values.size] = values
    items = np.ascontiguousarray(items.T)
    words = np.zeros((width, groups), np.uint64)
    for item in range(_WORD_BITS):
        word, shift = divmod(item * width, _WORD_BITS)
        words[word] |= items[item] << np.uint64(shift)
        if shift + width > _WORD_BITS:
            words[word + 1] |= items[item] >> np.uint64(_WORD_BITS - shift)
    return np.ascontiguousarray(words.T).astype("<u8", copy=False).tobytes()[: -(-values.size * width // 8)]


def unpack(packed: NDArray[np.uint8], width: int, rows: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the values of these items, uint64[rows].

    Args:
        packed: the bytes, followed by at least 8 more.
        width: bits of an item, 1 to MAX_PACKED_BITS.
        rows: numbers of the items, int64.

    Cost: 10 µs plus 60 ns an item.
    """
    first_bits = rows * width
    at = (first_bits >> 3)[:, None] + np.arange(8)
    words: NDArray[np.uint64] = np.ascontiguousarray(packed[at]).view("<u8").reshape(-1)
    shifted: NDArray[np.uint64] = words >> (first_bits & 7).astype(np.uint64)
    return shifted & np.uint64((1 << width) - 1)
