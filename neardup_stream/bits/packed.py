"""Pack arrays of integers of any bit width without gaps. Pure.

Item i occupies the bits i * width to (i + 1) * width - 1, lowest bit first: bit b of the array is bit b % 8
of byte b // 8.
"""

import numpy as np
from numpy.typing import NDArray

__all__ = ["MAX_PACKED_BITS", "bits_for", "pack", "unpack"]

MAX_PACKED_BITS = 57
"""The widest item: with up to 7 bits before it in its first byte it still fits into 64 bits."""


def bits_for(largest: int) -> int:
    """Return how many bits hold every number up to `largest`; 1 for 0.

    >>> bits_for(0), bits_for(255), bits_for(256)
    (1, 8, 9)
    """
    return max(1, largest.bit_length())


def pack(values: NDArray[np.uint64], width: int) -> bytes:
    """Return the bytes of these values, each below 2**width. Cost: 30 ns a value and bit."""
    shifts = np.arange(width, dtype=np.uint64)
    bits = (values[:, None] >> shifts).astype(np.uint8) & np.uint8(1)
    return np.packbits(bits.reshape(-1), bitorder="little").tobytes()


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
