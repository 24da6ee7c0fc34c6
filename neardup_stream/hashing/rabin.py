"""Rabin fingerprints of 64 bits: the tokens' bits, read as one polynomial, modulo an irreducible one.

Two different sequences of w tokens have one fingerprint only if the polynomial divides their difference,
of degree below 64 * w, which at most w - 1 of the 2**58 irreducible ones of degree 64 do. So for a polynomial
drawn independently of the tokens, the chance of a clash is at most (w - 1) / 2**58, whatever they are.

A fingerprint is linear, so it rolls: `rabin_shift` is all that `windows.window_hashes` needs. It multiplies
by a power of x, byte by byte, with one table for each byte of a word.
"""

import functools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from neardup_stream.hashing.polynomials import remainder

__all__ = ["POLYNOMIAL", "rabin_fingerprint", "rabin_shift"]

POLYNOMIAL = 0x1F373B60BB61BE277
"""Irreducible, of degree 64: `random_irreducible(64, seed=0)`."""

_WORD_BYTES = 8


def rabin_fingerprint(tokens: Sequence[int], polynomial: int = POLYNOMIAL) -> int:
    """The fingerprint of one sequence of token hashes, from scratch, in [0, 2**64).

    Tokens whose hash is 0 do not count at the beginning of a sequence.

    Args:
        tokens: in [0, 2**64).
        polynomial: irreducible, of degree 64.

    Cost: microseconds a token; it is the definition that the fast way is held to.
    """
    bits = 0
    for token in tokens:
        bits = bits << 64 | token
    return remainder(bits, polynomial)


def rabin_shift(hashes: NDArray[np.uint64], tokens: int, polynomial: int = POLYNOMIAL) -> NDArray[np.uint64]:
    """The fingerprints of sequences as they count when so many tokens, from 1, follow them.

    Cost: 10 to 25 ns a word; 0.4 ms once for each number of tokens and polynomial.
    """
    octets = hashes.astype("<u8").view(np.uint8).reshape(-1, _WORD_BYTES)
    products = np.empty((_WORD_BYTES, hashes.size), np.uint64)
    for place, table in enumerate(_byte_products(tokens, polynomial)):
        # No byte can be past the end; "clip" spares `take` the copy it keeps in case one is.
        table.take(octets[:, place], out=products[place], mode="clip")
    shifted: NDArray[np.uint64] = np.bitwise_xor.reduce(products, axis=0)
    return shifted


@functools.lru_cache(maxsize=64)
def _byte_products(tokens: int, polynomial: int) -> NDArray[np.uint64]:
    """Each byte, at each of its places in a word, times x**(64 * tokens): uint64[8, 256]."""
    power = remainder(1 << 64 * tokens, polynomial)
    of_bits = [remainder(power << bit, polynomial) for bit in range(64)]
    tables = np.zeros((_WORD_BYTES, 1), np.uint64)
    for bit in range(8):
        tables = np.hstack([tables, tables ^ np.array(of_bits[bit::8], np.uint64)[:, np.newaxis]])
    return tables
