"""Hash all windows of a sequence of tokens at once with a rolling hash.

A hash can roll if

    hash(first + second) = shift(hash(first), tokens in second) ^ hash(second)

Long windows are joined from short ones, so the cost grows with the logarithm of the width.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["Shift", "cyclic_shift", "window_hashes"]

Shift = Callable[[NDArray[np.uint64], int], NDArray[np.uint64]]
"""Map hashes of sequences to what they contribute when so many more tokens, from 1, follow them."""


def window_hashes(tokens: NDArray[np.uint64], width: int, shift: Shift) -> NDArray[np.uint64]:
    """Return the hash of each window in order; fewer tokens than a window form one window.

    Args:
        tokens: hashes of the tokens, uint64[n], n from 0; the hash of a single token is the token's own.
        width: tokens to a window, from 1.
        shift: the rolling step of the hash.

    Cost: at most 2 * log2(width) shifts of n words.
    """
    width = min(width, tokens.size)
    hashes, reach = tokens, 1
    for binary_digit in f"{width:b}"[1:]:
        hashes = shift(hashes[:-reach], reach) ^ hashes[reach:]
        reach *= 2
        if binary_digit == "1":
            hashes = shift(hashes[:-1], 1) ^ tokens[reach:]
            reach += 1
    return hashes


def cyclic_shift(hashes: NDArray[np.uint64], tokens: int) -> NDArray[np.uint64]:
    """Return cyclic hashes shifted by so many tokens, at most 63: rotated left by one bit for each."""
    return hashes << np.uint64(tokens) | hashes >> np.uint64(64 - tokens)
