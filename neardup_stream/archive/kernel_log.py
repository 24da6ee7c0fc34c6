"""Encode blocks of the document log with compiled code."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from neardup_stream.archive.kernel_numbers import put_number
from neardup_stream.archive.kernel_pages import compiled

__all__ = ["pack_block"]

_SECOND_MS = 1000


@compiled
def _put_bytes(data: NDArray[np.uint8], start: int, end: int, out: NDArray[np.uint8], at: int) -> int:
    """Write some bytes; return where they end."""
    for i in range(start, end):
        out[at + i - start] = data[i]
    return at + end - start


@compiled
def _put_keys(keys: NDArray[np.uint8], sizes: NDArray[np.int64], out: NDArray[np.uint8], at: int) -> int:
    """Write keys, each without what it shares with the one before it; return where they end."""
    shared = np.zeros(sizes.size, np.int64)
    former = 0
    for i in range(1, sizes.size):
        start = former + sizes[i - 1]
        most = min(sizes[i - 1], sizes[i])
        while shared[i] < most and keys[former + shared[i]] == keys[start + shared[i]]:
            shared[i] += 1
        former = start
    for i in range(sizes.size):
        at = put_number(shared[i], out, at)
    for i in range(sizes.size):
        at = put_number(sizes[i] - shared[i], out, at)
    start = 0
    for i in range(sizes.size):
        at = _put_bytes(keys, start + shared[i], start + sizes[i], out, at)
        start += sizes[i]
    return at


@compiled
def _put_times(times: NDArray[np.int64], out: NDArray[np.uint8], at: int) -> int:
    """Write times, in seconds if all of them are whole seconds; return where they end."""
    unit, base = _SECOND_MS, times.min()
    for time in times:
        if time % _SECOND_MS:
            unit = 1
    at = put_number(unit, out, at)
    at = put_number(base, out, at)
    for time in times:
        at = put_number((time - base) // unit, out, at)
    return at


@njit(
    "int64(Array(uint8, 1, 'C', readonly=True), Array(int64, 1, 'C', readonly=True),"
    " Array(int64, 1, 'C', readonly=True), Array(uint8, 1, 'C', readonly=True),"
    " Array(uint8, 1, 'C', readonly=True), Array(int64, 1, 'C', readonly=True), uint8[::1])",
    nogil=True,
    cache=True,
)
def pack_block(
    keys: NDArray[np.uint8],
    key_sizes: NDArray[np.int64],
    times: NDArray[np.int64],
    kinds: NDArray[np.uint8],
    others: NDArray[np.uint8],
    other_sizes: NDArray[np.int64],
    out: NDArray[np.uint8],
) -> int:
    """Write a block; return its size.

    Args:
        keys: of its pages, one after the other.
        key_sizes: of each.
        times: of its pages, epoch milliseconds.
        kinds: of its pages.
        others: the strings of pages that their keys do not give, one after the other.
        other_sizes: of each.
        out: for the block.
    """
    at = put_number(key_sizes.size, out, 0)
    at = _put_keys(keys, key_sizes, out, at)
    at = _put_times(times, out, at)
    at = _put_bytes(kinds, 0, kinds.size, out, at)
    for size in other_sizes:
        at = put_number(size, out, at)
    return _put_bytes(others, 0, others.size, out, at)
