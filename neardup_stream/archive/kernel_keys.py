"""Hash keys of archives with compiled code."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from neardup_stream.archive.kernel_pages import compiled, mix

__all__ = ["hash_keys", "page_keys"]

_TEXT = np.uint64(1 << 32)
_BAND = np.uint64(2 << 32)
"""What a key stands for; the number of a band is added."""


@njit(
    "void(Array(uint64, 1, 'C', readonly=True), Array(uint64, 1, 'C', readonly=True), uint64[::1])",
    nogil=True,
    cache=True,
)
def hash_keys(salts: NDArray[np.uint64], values: NDArray[np.uint64], keys: NDArray[np.uint64]) -> None:
    """Mix each value with its salt into a key of 64 bits."""
    for i in range(values.size):
        keys[i] = mix(mix(salts[i]) ^ values[i])


@compiled
def _is_in(
    words: NDArray[np.uint32], sizes: NDArray[np.int64], at: int, number: int, word: np.uint32
) -> bool:
    """Return whether a view of these sizes, the first of which begins at a word, has this band."""
    for size in sizes:
        if number < size and words[at + number] == word:
            return True
        at += size
    return False


@njit(
    "int64(Array(uint64, 1, 'C', readonly=True), Array(uint64, 1, 'C', readonly=True),"
    " Array(int64, 1, 'C', readonly=True), Array(int64, 1, 'C', readonly=True),"
    " Array(uint32, 1, 'C', readonly=True), Array(int64, 1, 'C', readonly=True), uint64[::1], int64[::1])",
    nogil=True,
    cache=True,
)
def page_keys(
    texts: NDArray[np.uint64],
    scopes: NDArray[np.uint64],
    view_counts: NDArray[np.int64],
    view_sizes: NDArray[np.int64],
    words: NDArray[np.uint32],
    own_places: NDArray[np.int64],
    keys: NDArray[np.uint64],
    places: NDArray[np.int64],
) -> int:
    """Write the keys of pages, those of each page distinct, and the place of each; return how many.

    Args:
        texts: fingerprints of the texts of pages.
        scopes: of pages.
        view_counts: views of each page.
        view_sizes: band words of each view.
        words: of all views, one after the other.
        own_places: of pages.
        keys: for the answer, with room for a key of each text and of each word.
        places: for the answer, as many.
    """
    text_salt = mix(_TEXT)
    count = view = at = 0
    for page in range(texts.size):
        keys[count], places[count] = mix(text_salt ^ texts[page] ^ scopes[page]), own_places[page]
        count += 1
        first_view, first_word = view, at
        scope = scopes[page] & np.uint64(0xFFFFFFFF)
        for _ in range(view_counts[page]):
            for number in range(view_sizes[view]):
                word = words[at + number]
                if view > first_view and _is_in(words, view_sizes[first_view:view], first_word, number, word):
                    continue
                keys[count] = mix(mix(_BAND + np.uint64(number)) ^ np.uint64(word) ^ scope)
                places[count] = own_places[page]
                count += 1
            at += view_sizes[view]
            view += 1
    return count
