"""Write numbers as LEB128 with compiled code."""

import numpy as np
from numpy.typing import NDArray

from neardup_stream.archive.kernel_pages import compiled

__all__ = ["put_number"]


@compiled
def put_number(number: int, out: NDArray[np.uint8], at: int) -> int:
    """Write a number from 0; return where it ends.

    Raises:
        ValueError: it is below 0.
    """
    if number < 0:
        raise ValueError("a number below 0 has no LEB128 bytes")
    while number > 0x7F:
        out[at] = np.uint8(number & 0x7F | 0x80)
        number >>= 7
        at += 1
    out[at] = np.uint8(number)
    return at + 1
