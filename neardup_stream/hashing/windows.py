"""Hashes of all windows of a sequence of tokens at once.

It works for any hash of words that can roll: one for which

    hash(first + second) = shift(hash(first), tokens in second) ^ hash(second)

Windows are joined from shorter ones, so the cost grows with the logarithm of their width.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["Shift", "cyclic_shift", "window_hashes"]

Shift = Callable[[NDArray[np.uint64], int], NDArray[np.uint64]]
"""The hashes of sequences as they count when so many tokens, from 1, follow them."""


def window_hashes(tokens: NDArray[np.uint64], width: int, shift: Shift) -> NDArray[np.uint64]:
    """The hash of each window, in order; tokens that do not fill one are a window together.

    Args:
        tokens: hashes of the tokens, uint64[n], n from 0; a token by itself has its own hash.
        width: tokens to a window, from 1.
        shift: what makes the hash roll.

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
    """The shift of the cyclic hash: words are turned left by one bit for each token, of at most 63."""
    return hashes << np.uint64(tokens) | hashes >> np.uint64(64 - tokens)
