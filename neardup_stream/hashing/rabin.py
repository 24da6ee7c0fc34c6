"""Compute 64-bit Rabin fingerprints: the tokens' bits as a polynomial modulo an irreducible polynomial.

Two different sequences of w tokens share a fingerprint only if the modulus divides their difference. The
difference has a degree below 64 * w, so at most w - 1 of the 2**58 irreducible polynomials of degree 64
divide it. For a modulus drawn independently of the tokens, the collision probability is at most (w - 1) /
2**58.

The fingerprint is linear, so it is a rolling hash: `windows.window_hashes` needs only `rabin_shift`, which
multiplies by a power of x byte by byte, with one table for each byte of a word.
"""

import functools

import numpy as np
from numpy.typing import NDArray

from neardup_stream.hashing.polynomials import remainder

__all__ = ["POLYNOMIAL", "rabin_shift"]

POLYNOMIAL = 0x1F373B60BB61BE277
"""An irreducible polynomial of degree 64: `random_irreducible(64, seed=0)`."""

_WORD_BYTES = 8


def rabin_shift(hashes: NDArray[np.uint64], tokens: int, polynomial: int = POLYNOMIAL) -> NDArray[np.uint64]:
    """Return what sequences contribute to a fingerprint when `tokens` more tokens follow them.

    Args:
        hashes: fingerprints of the sequences, uint64.
        tokens: from 1.
        polynomial: irreducible, of degree 64.

    Cost: 10 to 25 ns a word; 0.4 ms once for each number of tokens and polynomial.
    """
    octets = hashes.astype("<u8").view(np.uint8).reshape(-1, _WORD_BYTES)
    products = np.empty((_WORD_BYTES, hashes.size), np.uint64)
    for place, table in enumerate(_byte_products(tokens, polynomial)):
        # A byte is always in range. With "clip", `take` skips the copy it would make to check that.
        table.take(octets[:, place], out=products[place], mode="clip")
    shifted: NDArray[np.uint64] = np.bitwise_xor.reduce(products, axis=0)
    return shifted


@functools.lru_cache(maxsize=64)
def _byte_products(tokens: int, polynomial: int) -> NDArray[np.uint64]:
    """Return the product of each byte, at each place in a word, with x**(64 * tokens): uint64[8, 256]."""
    power = remainder(1 << 64 * tokens, polynomial)
    of_bits = [remainder(power << bit, polynomial) for bit in range(64)]
    tables = np.zeros((_WORD_BYTES, 1), np.uint64)
    for bit in range(8):
        tables = np.hstack([tables, tables ^ np.array(of_bits[bit::8], np.uint64)[:, np.newaxis]])
    return tables
