"""Decides how many script calls are sent together where a call may leave some of its entries undone."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["Lane", "Rows", "portions"]

Rows = NDArray[np.intp]


class Lane:
    """Entries that one server does in order, some for each call.

    All calls are sent together at first. The answers behind a call that left entries undone do not count, and
    their entries are sent again: otherwise a page would miss one before it. After such a call one is sent by
    itself, and after each round trip in which every call did all of its entries, twice as many.

    Args:
        rows: numbers of the entries, in order.
        size: most entries of a call.
    """

    def __init__(self, rows: Rows, size: int) -> None:
        self._rows = rows
        self._size = size
        self._width = -(-len(rows) // size)

    def __bool__(self) -> bool:
        """Return whether entries are left."""
        return bool(len(self._rows))

    def parts(self) -> list[Rows]:
        """Return the entries of the calls to send now."""
        return list(portions(self._rows[: self._width * self._size], self._size))

    def advance(self, done_counts: Sequence[int]) -> list[Rows]:
        """Take in how many entries each call did, and return them for the calls that count.

        The further calls are those whose answers must be dropped.
        """
        done: list[Rows] = []
        for part, count in zip(self.parts(), done_counts, strict=True):
            done.append(part[:count])
            if count < len(part):
                self._width = 1
                break
        else:
            self._width *= 2
        self._rows = self._rows[sum(map(len, done)) :]
        return done


def portions(rows: Rows, size: int) -> Iterator[Rows]:
    """Yield all rows in order, at most `size` at a time."""
    return (rows[at : at + size] for at in range(0, len(rows), size))
