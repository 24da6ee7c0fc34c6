"""Mix words and verify the checksums of 4 KiB pages with compiled code.

The compiler's cache detects changes of files of this kernel only: small functions that kernels of other
packages need too, as `mix`, are copies.
"""

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

from neardup_stream.archive.units import PAGE_BITS, PAGE_WORDS

__all__ = [
    "LANE",
    "SOUND",
    "check_pages",
    "checksum_pages",
    "compiled",
    "inlined",
    "is_new",
    "mix",
    "popcount",
    "signed",
    "touch",
    "touch_rows",
]

SOUND = -1
"""No page was found damaged."""

LANE = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xFF51AFD7ED558CCD)
_MIX2 = np.uint64(0xC4CEB9FE1A85EC53)

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

signed = cast("Callable[[np.uint64 | int], int]", np.int64)
"""The same number as a signed word: beside an unsigned one the compiler would make it a float."""


def inlined(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Compile a function into those that call it."""
    return cast("Callable[_Arguments, _Result]", njit(inline="always")(function))


def compiled(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Compile a function that compiled code calls."""
    return cast("Callable[_Arguments, _Result]", njit(function))


@inlined
def mix(word: np.uint64) -> np.uint64:
    """Spread every bit of a word over all of it; distinct words stay distinct (the end of MurmurHash3)."""
    word = (word ^ (word >> np.uint64(33))) * _MIX1
    word = (word ^ (word >> np.uint64(33))) * _MIX2
    return word ^ (word >> np.uint64(33))


@inlined
def popcount(word: np.uint64) -> np.uint64:
    """Return how many bits are set."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@inlined
def _absorb(lane: np.uint64, word: np.uint64) -> np.uint64:
    lane ^= word
    return ((lane << np.uint64(29)) | (lane >> np.uint64(35))) * LANE


@compiled
def _checksum(words: NDArray[np.uint64], first: int, page: int) -> np.uint64:
    """32 bits over 512 words, in four lanes so that the processor works on all of them at once."""
    a = mix(np.uint64(page) + np.uint64(1))
    b, c, d = a + LANE, a + _MIX1, a + _MIX2
    for at in range(first, first + PAGE_WORDS, 4):
        a = _absorb(a, words[at])
        b = _absorb(b, words[at + 1])
        c = _absorb(c, words[at + 2])
        d = _absorb(d, words[at + 3])
    return mix(mix(mix(mix(a) ^ b) ^ c) ^ d) >> np.uint64(32)


@inlined
def is_new(seen: NDArray[np.uint8], start: int, end: int) -> bool:
    """Return whether `touch` must check bytes `start` to `end`, no more of them than a page has."""
    return bool(seen[start >> PAGE_BITS] & seen[(end - 1) >> PAGE_BITS] == 0)


@compiled
def touch(
    words: NDArray[np.uint64], checks: NDArray[np.uint32], seen: NDArray[np.uint8], start: int, end: int
) -> int:
    """Check the pages of bytes `start` to `end` that were not checked before."""
    for page in range(start >> PAGE_BITS, ((end - 1) >> PAGE_BITS) + 1):
        if seen[page] == 0:
            if _checksum(words, page * PAGE_WORDS, page) != np.uint64(checks[page]):
                return page
            seen[page] = 1
    return SOUND


@njit("void(Array(uint64, 1, 'C', readonly=True), int64, uint32[::1])", nogil=True, cache=True)
def checksum_pages(words: NDArray[np.uint64], number: int, sums: NDArray[np.uint32]) -> None:
    """Write the checksum of each page of 512 words; `number` is that of the first in the file, from 0."""
    for i in range(sums.size):
        sums[i] = np.uint32(_checksum(words, i * PAGE_WORDS, number + i))


@njit(
    "int64(Array(uint64, 1, 'C', readonly=True), Array(uint32, 1, 'C', readonly=True), uint8[::1],"
    " int64, int64)",
    nogil=True,
    cache=True,
)
def check_pages(
    words: NDArray[np.uint64], checks: NDArray[np.uint32], seen: NDArray[np.uint8], start: int, end: int
) -> int:
    """Check the pages that hold the bytes `start` to `end`."""
    return SOUND if end <= start else touch(words, checks, seen, start, end)


@njit(
    "int64(Array(uint64, 1, 'C', readonly=True), Array(uint32, 1, 'C', readonly=True), uint8[::1],"
    " int64, int64, Array(int64, 1, 'C', readonly=True))",
    nogil=True,
    cache=True,
)
def touch_rows(
    words: NDArray[np.uint64],
    checks: NDArray[np.uint32],
    seen: NDArray[np.uint8],
    offset: int,
    row_bits: int,
    rows: NDArray[np.int64],
) -> int:
    """Check the pages that hold these rows of a section at `offset`."""
    for row in rows:
        start = offset + ((row * row_bits) >> 3)
        bad = touch(words, checks, seen, start, offset + (((row + 1) * row_bits + 7) >> 3))
        if bad != SOUND:
            return bad
    return SOUND
