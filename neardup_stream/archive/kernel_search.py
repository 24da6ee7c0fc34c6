"""The compiled search kernel: terms of pages to bits of signatures, a term to the pages that have its bits.

    term ──► its own slice, if it is a frequent one
         └─► its slices of the signatures (positions) ──► AND ──► one bit a page

`search_tiles.py` and `indexes/slicing.py` hand it arrays; docs/archive-format.md explains every number.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from neardup_stream.archive.kernel_pages import LANE, SOUND, compiled, inlined, mix, signed, touch

__all__ = ["SOUND", "count_hashed", "count_own_slices", "fill_table", "find_term", "mark_pages"]

_NOT_FOUND = -1


@inlined
def _slice_of(term: np.uint64, number: int, width: int) -> int:
    """Return the slice in which the term sets the bit of this number, from 0, in signatures of this width."""
    mixed = mix(term + np.uint64(number + 1) * LANE)
    return signed(((mixed >> np.uint64(32)) * np.uint64(width)) >> np.uint64(32))


@compiled
def _private_slice(term: np.uint64, table: NDArray[np.uint64], numbers: NDArray[np.int64]) -> int:
    """Return the number of the slice that a frequent term has for itself, or _NOT_FOUND."""
    last = np.uint64(table.size - 1)
    slot = term & last
    while numbers[slot] != _NOT_FOUND:
        if table[slot] == term:
            return signed(numbers[slot])
        slot = (slot + np.uint64(1)) & last
    return _NOT_FOUND


@njit("void(Array(uint64, 1, 'C', readonly=True), uint64[::1], int64[::1])", nogil=True, cache=True)
def fill_table(terms: NDArray[np.uint64], table: NDArray[np.uint64], numbers: NDArray[np.int64]) -> None:
    """Put terms into an open-addressing table, a power of two and larger than they are many.

    Args:
        terms: distinct.
        table: out, where the terms stand.
        numbers: out, the number of each term; -1 where there is none.
    """
    numbers[:] = _NOT_FOUND
    last = np.uint64(table.size - 1)
    for number in range(terms.size):
        slot = terms[number] & last
        while numbers[slot] != _NOT_FOUND:
            slot = (slot + np.uint64(1)) & last
        table[slot] = terms[number]
        numbers[slot] = number


@njit(
    "void(Array(uint64, 1, 'C', readonly=True), Array(int64, 1, 'C', readonly=True), uint64[::1], int64[::1],"
    " int64[::1])",
    nogil=True,
    cache=True,
)
def count_hashed(
    terms: NDArray[np.uint64],
    counts: NDArray[np.int64],
    table: NDArray[np.uint64],
    numbers: NDArray[np.int64],
    hashed: NDArray[np.int64],
) -> None:
    """Write how many terms of each page have no slice of their own.

    Args:
        terms: of all pages, one page behind the other.
        counts: terms of each page.
        table: of the frequent terms, see `fill_table`.
        numbers: see `fill_table`.
        hashed: out, int64[pages].
    """
    at = 0
    for page in range(counts.size):
        count = 0
        for i in range(at, at + counts[page]):
            if _private_slice(terms[i], table, numbers) == _NOT_FOUND:
                count += 1
        hashed[page] = count
        at += counts[page]


@njit(
    "void(Array(uint64, 1, 'C', readonly=True), Array(int64, 1, 'C', readonly=True), int64, int64, int64,"
    " uint64[::1], int64[::1], uint8[:, ::1])",
    nogil=True,
    cache=True,
)
def mark_pages(
    terms: NDArray[np.uint64],
    counts: NDArray[np.int64],
    first_column: int,
    width: int,
    slices: int,
    table: NDArray[np.uint64],
    numbers: NDArray[np.int64],
    bits: NDArray[np.uint8],
) -> None:
    """Set the bits of pages in a tile.

    Args:
        terms: of all pages, one page behind the other.
        counts: terms of each page.
        first_column: of the first page.
        width: of signatures; frequent terms have the slices behind it.
        slices: bits that a term sets.
        table: of the frequent terms, see `fill_table`.
        numbers: see `fill_table`.
        bits: the tile, uint8[slices, columns / 8].
    """
    at = 0
    for page in range(counts.size):
        column = first_column + page
        byte, bit = column >> 3, np.uint8(1 << (column & 7))
        for i in range(at, at + counts[page]):
            private = _private_slice(terms[i], table, numbers)
            if private != _NOT_FOUND:
                bits[width + private, byte] |= bit
            else:
                for number in range(slices):
                    bits[_slice_of(terms[i], number, width), byte] |= bit
        at += counts[page]


@njit(
    "int64(Array(uint8, 1, 'C', readonly=True), Array(uint64, 1, 'C', readonly=True),"
    " Array(uint32, 1, 'C', readonly=True), uint8[::1], int64, int64[::1], int64[::1], int64[::1],"
    " int64[::1], int64, int64, uint64, uint8[::1])",
    nogil=True,
    cache=True,
)
def find_term(
    data: NDArray[np.uint8],
    words: NDArray[np.uint64],
    checks: NDArray[np.uint32],
    seen: NDArray[np.uint8],
    bits_at: int,
    offsets: NDArray[np.int64],
    strides: NDArray[np.int64],
    widths: NDArray[np.int64],
    firsts: NDArray[np.int64],
    slices: int,
    private: int,
    term: np.uint64,
    found: NDArray[np.uint8],
) -> int:
    """Write one bit a column: whether the page may have the term; return the first damaged page, or SOUND.

    Args:
        data: the file as bytes.
        words: the file as words.
        checks: the checksum of each page of the file.
        seen: which of them were checked.
        bits_at: where the tiles begin in the file.
        offsets: of each tile behind that.
        strides: bytes of a slice of each tile.
        widths: of the signatures of each tile.
        firsts: where the columns of each tile begin in `found`, in bytes.
        slices: bits that a term sets.
        private: the number of the term's own slice, or -1.
        term: the term.
        found: out, one bit for each column of all tiles.
    """
    for tile in range(offsets.size):
        stride = strides[tile]
        base = bits_at + offsets[tile]
        out = found[firsts[tile] : firsts[tile] + stride]
        read = 1 if private >= 0 else slices if widths[tile] else 0
        if read == 0:
            out[:] = 0
        for number in range(read):
            row = widths[tile] + private if private >= 0 else _slice_of(term, number, widths[tile])
            at = base + row * stride
            bad = touch(words, checks, seen, at, at + stride)
            if bad != SOUND:
                return bad
            bits = data[at : at + stride]
            if number == 0:
                out[:] = bits
            else:
                for i in range(stride):
                    out[i] &= bits[i]
    return SOUND


@njit(
    "void(uint64, Array(uint64, 1, 'C', readonly=True), int64, int64[::1], int64[::1])",
    nogil=True,
    cache=True,
)
def count_own_slices(
    term: np.uint64,
    others: NDArray[np.uint64],
    slices: int,
    widths: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    """Write for each tile in how many distinct slices a term is, that none of some other terms is in.

    Args:
        term: the term.
        others: without a slice of their own.
        slices: bits that a term sets.
        widths: of the signatures of each tile.
        counts: out, int64[tiles].
    """
    for tile in range(widths.size):
        counts[tile] = 0
        for number in range(slices if widths[tile] else 0):
            row = _slice_of(term, number, widths[tile])
            is_own = True
            for before in range(number):
                is_own = is_own and _slice_of(term, before, widths[tile]) != row
            for other in others:
                for theirs in range(slices):
                    is_own = is_own and _slice_of(other, theirs, widths[tile]) != row
            counts[tile] += is_own
