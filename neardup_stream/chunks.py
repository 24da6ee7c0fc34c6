"""Split an iterable into chunks of bounded size."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["in_chunks", "in_runs"]

_T = TypeVar("_T")


def in_chunks(items: Iterable[_T], size: int) -> Iterator[list[_T]]:
    """Yield all items in order, in lists of `size`; the last list may be shorter, none is empty."""
    rest = iter(items)
    while chunk := list(islice(rest, size)):
        yield chunk


def in_runs(sizes: "NDArray[np.int64]", most: int) -> Iterator[tuple[int, int]]:
    """Yield where runs of items begin and end whose sizes add up to at most `most`, or that are one item."""
    ends = sizes.cumsum()
    start = 0
    while start < sizes.size:
        before = int(ends[start - 1]) if start else 0
        end = max(start + 1, int(ends.searchsorted(before + most, side="right")))
        yield start, end
        start = end
