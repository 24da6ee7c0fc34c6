"""64-bit hashes that are the same in every process, version and machine."""

import mmh3

__all__ = ["HASH_NAME", "MASK64", "mix", "rotate", "token_hash"]

MASK64 = (1 << 64) - 1
HASH_NAME = "murmur3-x64-128-low64"
"""Part of what identifies stored bytes: another hash makes other fingerprints."""


def token_hash(token: str) -> int:
    """MurmurHash3 x64 128 of the token's UTF-8, its low 64 bits, in [0, 2**64).

    >>> token_hash("")
    0
    """
    return mmh3.hash64(token.encode(), 0, x64arch=True, signed=False)[0]


def rotate(word: int, bits: int) -> int:
    """A 64-bit word turned left; `bits` from 0.

    >>> rotate(1 << 63 | 1, 1)
    3
    """
    bits %= 64
    return (word << bits | word >> (64 - bits)) & MASK64


def mix(word: int) -> int:
    """MurmurHash3's finalizer: a one-to-one map of 64-bit words in which each bit sways every other."""
    word = (word ^ word >> 33) * 0xFF51AFD7ED558CCD & MASK64
    word = (word ^ word >> 33) * 0xC4CEB9FE1A85EC53 & MASK64
    return word ^ word >> 33
