"""Spread rows over partitions with compiled code."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from neardup_stream.archive.kernel_pages import signed

__all__ = ["partition_rows"]


@njit("void(Array(uint32, 2, 'C', readonly=True), uint32[:, ::1], int64[::1])", nogil=True, cache=True)
def partition_rows(rows: NDArray[np.uint32], ordered: NDArray[np.uint32], ends: NDArray[np.int64]) -> None:
    """Write rows in the order of their partitions, those of one partition in the order in which they came.

    Args:
        rows: words of each row, the first two of which are a field of 64 bits; its leading byte is the
            number of the partition.
        ordered: for the rows.
        ends: for the place where each of 256 partitions ends.
    """
    ends[:] = 0
    for row in range(rows.shape[0]):
        ends[signed(rows[row, 1] >> np.uint32(24))] += 1
    end = 0
    for number in range(ends.size):
        end, ends[number] = end + ends[number], end
    for row in range(rows.shape[0]):
        number = signed(rows[row, 1] >> np.uint32(24))
        at = ends[number]
        ends[number] += 1
        for word in range(rows.shape[1]):
            ordered[at, word] = rows[row, word]
