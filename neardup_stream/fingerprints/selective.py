"""Selective fingerprints: a few shingles of a text, chosen so that texts with a common passage share some.

Shingles of SHINGLE_TOKENS tokens are winnowed: of every w consecutive ones that of least rank is chosen. So a
common run of w + SHINGLE_TOKENS - 1 tokens has one chosen shingle at least. w grows with the text, so that
some `wanted` shingles are chosen of any text. The hashes that a large w chooses a smaller one chooses too:
two texts of different lengths share what the longer one's window chooses. Which of equal shingles is chosen
decides the places only, not the hashes; the former choice is kept while it is in the window, so a text that
repeats itself has as few places as any other.
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
"""Chosen of a stored page, more or less; all of a page that has not more."""

QUERY_SHINGLES: Final = 1000
"""Chosen of a page that is asked about; all of a page that has not more."""


class Selection(NamedTuple):
    """Chosen shingles of a text, in its order.

    Attributes:
        hashes: uint64, evenly spread.
        places: int64, the token at which each begins.
    """

    hashes: NDArray[np.uint64]
    places: NDArray[np.int64]


def stored_recipe() -> dict[str, int]:
    """What decides which hashes are kept of a page."""
    return {"shingle_tokens": SHINGLE_TOKENS, "shingles": STORED_SHINGLES}


def window_of(token_count: int, wanted: int) -> int:
    """Of how many consecutive shingles one is chosen at least, so that some `wanted` are chosen of all.

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
    """Every shingle of a text."""
    return winnow(tokens, 1)


def winnow(tokens: NDArray[np.uint64], window: int) -> Selection:
    """Of every `window` consecutive shingles that of least rank, each once; of fewer one."""
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
