"""Write the lists of pages that have a key in common, equal lists once, with compiled code."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from neardup_stream.archive.kernel_numbers import put_number
from neardup_stream.archive.kernel_pages import LANE, compiled, mix, signed

__all__ = ["add_lists"]

_HASH, _START, _SIZE, _OFFSET = range(4)
_COUNT, _USED, _WRITTEN = range(3)


@compiled
def _put_list(pages: NDArray[np.uint32], most_posts: int, out: NDArray[np.uint8], at: int) -> int:
    """Write how many ascending pages there are, and so many of them at most; return where they end."""
    count = 1
    for i in range(1, pages.size):
        count += pages[i] != pages[i - 1]
    at = put_number(count, out, at)
    number = taken = former = 0
    for i in range(pages.size):
        if i and pages[i] == pages[i - 1]:
            continue
        if number == (taken * count // most_posts if count > most_posts else taken):
            at = put_number(signed(pages[i]) - former, out, at)
            former = signed(pages[i])
            taken += 1
        number += 1
    return at


@compiled
def _hash_of(pages: NDArray[np.uint32]) -> int:
    """Return a hash of the pages of a key, and sort them if they are not ascending."""
    for i in range(1, pages.size):
        if pages[i] < pages[i - 1]:
            pages.sort()
            break
    word = LANE
    for page in pages:
        word = mix(word ^ np.uint64(page)) + LANE
    return signed(word)


@compiled
def _place_of(
    pages: NDArray[np.uint32],
    own_hash: int,
    table: NDArray[np.int32],
    lists: NDArray[np.int64],
    known: NDArray[np.uint32],
) -> int:
    """Return where in the table a list is, or where it is to be put."""
    place = own_hash & (table.size - 1)
    while table[place]:
        former = lists[table[place] - 1]
        if former[_HASH] == own_hash and former[_SIZE] == pages.size:
            start = former[_START]
            if np.array_equal(known[start : start + pages.size], pages):
                break
        place = (place + 1) & (table.size - 1)
    return place


@njit(
    "int64[::1](uint32[::1], Array(int64, 2, 'C', readonly=True), int32[::1], int64[:, ::1], uint32[::1],"
    " int64[::1], int64, uint8[::1])",
    nogil=True,
    cache=True,
)
def add_lists(
    pages: NDArray[np.uint32],
    bounds: NDArray[np.int64],
    table: NDArray[np.int32],
    lists: NDArray[np.int64],
    known: NDArray[np.uint32],
    state: NDArray[np.int64],
    most_posts: int,
    out: NDArray[np.uint8],
) -> NDArray[np.int64]:
    """Write the lists that are not remembered; return where each list begins.

    Args:
        pages: of all keys.
        bounds: where the pages of each key begin and end.
        table: for each place the number of a remembered list, from 1, or 0; a power of two, and more than
            there are lists.
        lists: hash, start in `known`, size and offset of each remembered list; if there is no more room, all
            are forgotten.
        known: their pages, with room for more.
        state: lists remembered, pages of them, and bytes written so far.
        most_posts: pages listed for one key at most.
        out: for the new lists, with room for all.
    """
    offsets = np.empty(bounds.shape[0], np.int64)
    at = 0
    for key in range(bounds.shape[0]):
        own = pages[bounds[key, 0] : bounds[key, 1]]
        own_hash = _hash_of(own)
        place = _place_of(own, own_hash, table, lists, known)
        if table[place]:
            offsets[key] = lists[table[place] - 1, _OFFSET]
            continue
        if state[_COUNT] == lists.shape[0]:
            table[:] = 0
            state[_COUNT] = state[_USED] = 0
            place = own_hash & (table.size - 1)
        start = state[_USED]
        known[start : start + own.size] = own
        former = lists[state[_COUNT]]
        former[_HASH], former[_START], former[_SIZE] = own_hash, start, own.size
        former[_OFFSET] = offsets[key] = state[_WRITTEN] + at
        state[_COUNT] += 1
        state[_USED] += own.size
        table[place] = state[_COUNT]
        at = _put_list(own, most_posts, out, at)
    state[_WRITTEN] += at
    return offsets
