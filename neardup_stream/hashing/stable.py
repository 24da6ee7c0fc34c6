"""64-bit hashes that are the same in every process, version and machine."""

import mmh3

__all__ = ["HASH_NAME", "MASK64", "mix", "rotate", "token_hash"]

MASK64 = (1 << 64) - 1
HASH_NAME = "murmur3-x64-128-low64"
"""Names the hash in the identity of stored bytes: another hash gives other fingerprints."""


def token_hash(token: str) -> int:
    """Return the low 64 bits of MurmurHash3 x64 128 of the token's UTF-8.

    >>> token_hash("")
    0
    """
    return mmh3.hash64(token.encode(), 0, x64arch=True, signed=False)[0]


def rotate(word: int, bits: int) -> int:
    """Return a 64-bit word rotated left by `bits`, from 0.

    >>> rotate(1 << 63 | 1, 1)
    3
    """
    bits %= 64
    return (word << bits | word >> (64 - bits)) & MASK64


def mix(word: int) -> int:
    """Return MurmurHash3's finalizer of a word: a one-to-one map in which each bit affects every other."""
    word = (word ^ word >> 33) * 0xFF51AFD7ED558CCD & MASK64
    word = (word ^ word >> 33) * 0xC4CEB9FE1A85EC53 & MASK64
    return word ^ word >> 33
