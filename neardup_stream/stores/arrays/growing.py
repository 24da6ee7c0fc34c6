"""Implement arrays that grow by doubling."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["with_room"]


def with_room(arrays: Sequence[NDArray[Any]], count: int) -> Sequence[NDArray[Any]]:
    """Return the arrays, or some of twice their rows or more that begin with them.

    Args:
        arrays: of one length, at least 1.
        count: the rows that are needed.
    """
    room = arrays[0].shape[0]
    if room >= count:
        return arrays
    while room < count:
        room *= 2
    return [_grown(array, room) for array in arrays]


def _grown(array: NDArray[Any], room: int) -> NDArray[Any]:
    larger = np.empty((room, *array.shape[1:]), array.dtype)
    larger[: array.shape[0]] = array
    return larger
