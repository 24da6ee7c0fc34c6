"""Compute selective fingerprints: a few shingles of a text, so that texts with a common passage share some.

Shingles of SHINGLE_TOKENS tokens are winnowed: of every w consecutive ones the one of least rank is chosen.
So a common run of w + SHINGLE_TOKENS - 1 tokens has at least one chosen shingle. w grows with the text, so
that some `wanted` shingles are chosen of any text. A smaller w chooses every hash that a larger one chooses:
two texts of different lengths share what the longer one's window chooses. The choice among equal shingles
affects only the places, not the hashes; the previous choice is kept while it is in the window, so a text that
repeats itself has no more places than any other.
"""

import functools
from pathlib import Path
from types import ModuleType
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup_stream.kernel_cache import load_compiled

__all__ = [
    "QUERY_SHINGLES",
    "SHINGLE_TOKENS",
    "STORED_SHINGLES",
    "Selection",
    "all_shingles",
    "choose_shingles",
    "stored_recipe",
    "window_of",
    "winnow",
]

SHINGLE_TOKENS: Final = 8
STORED_SHINGLES: Final = 100
"""Target number of shingles of a stored page; a page with fewer shingles stores all of them."""

QUERY_SHINGLES: Final = 1000
"""Target number of shingles of a query page; a page with fewer shingles uses all of them."""


class Selection(NamedTuple):
    """Chosen shingles of a text, in its order.

    Attributes:
        hashes: uint64, evenly spread.
        places: int64, the token at which each begins.
    """

    hashes: NDArray[np.uint64]
    places: NDArray[np.int64]


def stored_recipe() -> dict[str, int]:
    """Return the parameters that decide which hashes are stored of a page."""
    return {"shingle_tokens": SHINGLE_TOKENS, "shingles": STORED_SHINGLES}


def window_of(token_count: int, wanted: int) -> int:
    """Return the window, in shingles, with which some `wanted` shingles are chosen of all.

    >>> window_of(107, 100), window_of(1007, 100), window_of(1007, 1000)
    (1, 19, 1)
    """
    shingle_count = max(0, token_count - SHINGLE_TOKENS + 1)
    return max(1, -(-2 * shingle_count // wanted) - 1)


def choose_shingles(tokens: NDArray[np.uint64], wanted: int) -> Selection:
    """Choose some `wanted` shingles of a text; none of a text with fewer than SHINGLE_TOKENS tokens.

    Args:
        tokens: hashes of its tokens, uint64.
        wanted: STORED_SHINGLES or QUERY_SHINGLES.

    Cost: 5 µs, and 6 ns a token. The GIL is released.
    """
    return winnow(tokens, window_of(tokens.size, wanted))


def all_shingles(tokens: NDArray[np.uint64]) -> Selection:
    """Return every shingle of a text."""
    return winnow(tokens, 1)


def winnow(tokens: NDArray[np.uint64], window: int) -> Selection:
    """Return of every `window` consecutive shingles the one of least rank, each once; at least one."""
    hashes, places = np.empty(tokens.size, np.uint64), np.empty(tokens.size, np.int64)
    count = _load_kernel().winnow(tokens, SHINGLE_TOKENS, window, hashes, places)
    return Selection(hashes[:count], places[:count])


@functools.cache
def _load_kernel() -> ModuleType:
    return load_compiled(
        "selection",
        "neardup_stream.fingerprints.selection_kernel",
        [Path(__file__).with_name("selection_kernel.py")],
    )
