"""Choose shingles with compiled code: cyclic windows of token hashes, mixed and winnowed.

The file imports no other module of the package, because the compiler's cache detects changes of this file
only: small functions that other kernels need too, as `_mix`, are copies. The tests compare it with
`reference.cyclic_hash` and `hashing.stable.mix`.
"""

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["winnow"]

_MIX1 = np.uint64(0xFF51AFD7ED558CCD)
_MIX2 = np.uint64(0xC4CEB9FE1A85EC53)
_RANK = np.uint64(0x9E3779B97F4A7C15)
"""Added before ranks are mixed again: the leading bits of chosen shingles must stay evenly distributed."""

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def _inlined(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    return cast("Callable[_Arguments, _Result]", njit(inline="always")(function))


@_inlined
def _rotate(word: np.uint64, bits: int) -> np.uint64:
    return (word << np.uint64(bits)) | (word >> np.uint64(-bits & 63))


@_inlined
def _mix(word: np.uint64) -> np.uint64:
    word = (word ^ (word >> np.uint64(33))) * _MIX1
    word = (word ^ (word >> np.uint64(33))) * _MIX2
    return word ^ (word >> np.uint64(33))


@njit(
    "int64(Array(uint64, 1, 'C', readonly=True), int64, int64, uint64[::1], int64[::1])",
    nogil=True,
    cache=True,
)
def winnow(  # noqa: C901, PLR0912 - one thought: roll, rank, choose
    tokens: NDArray[np.uint64],
    width: int,
    window: int,
    hashes: NDArray[np.uint64],
    places: NDArray[np.int64],
) -> int:
    """Write the shingle of least rank of every `window` consecutive ones, each once; return how many.

    Of equal ranks the previous choice is kept while it is in the window, then the last one is taken: a run of
    one repeated token has one choice per `window`. Fewer shingles than a window form one window.

    Args:
        tokens: hashes.
        width: tokens to a shingle, 1 to 63.
        window: shingles, from 1.
        hashes: out, room for one a shingle.
        places: out, the token at which each chosen shingle begins, ascending; room like `hashes`.

    Cost: 3 ns a token.
    """
    shingle_count = tokens.size - width + 1
    if shingle_count < 1:
        return 0
    ranks = np.empty(shingle_count, np.uint64)
    mixed = np.empty(shingle_count, np.uint64)
    state = np.uint64(0)
    for i in range(tokens.size):
        state = _rotate(state, 1) ^ tokens[i]
        if i >= width:
            state ^= _rotate(tokens[i - width], width)
        if i >= width - 1:
            mixed[i - width + 1] = _mix(state)
            ranks[i - width + 1] = _mix(_mix(state) ^ _RANK)
    window = min(window, shingle_count)
    # Where ranks ascend, each choice leaves its window at once; the window is not looked through each time:
    following = np.empty(shingle_count, np.int64)  # the least from a place to where was looked to
    looked_to = 0
    newest = -1  # the least behind that
    count = 0
    least = -1
    for last in range(shingle_count):
        if newest < looked_to or ranks[last] <= ranks[newest]:
            newest = last
        start = last - window + 1
        if start < 0:
            continue
        if least >= start:
            if ranks[last] < ranks[least]:
                least = last
        elif start < looked_to:
            least = following[start]
            if ranks[newest] <= ranks[least]:
                least = newest
        else:
            least = last
            for i in range(last, start - 1, -1):
                if ranks[i] < ranks[least]:
                    least = i
                following[i] = least
            looked_to = last + 1
        if count == 0 or places[count - 1] != least:
            places[count] = least
            hashes[count] = mixed[least]
            count += 1
    return count
