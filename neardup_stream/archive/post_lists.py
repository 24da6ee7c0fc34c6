"""Write the lists of pages that have a key in common: equal ones once, as copies of a text share all keys."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from neardup_stream.archive.kernels import load_archive_kernel

__all__ = ["MOST_POSTS", "PostLists"]

MOST_POSTS: Final = 128
"""Pages listed for one key at most; of more, as many are taken at equal distances."""

_MOST_REMEMBERED: Final = 1 << 20
"""Lists that are remembered to be stored once; the same whatever memory there is, so that files are equal."""

_LIST_FIELDS: Final = 4
_MOST_NUMBER_BYTES: Final = 5


class PostLists:
    """Writes each list once; 40 bytes for each list that it remembers, and up to 8 for each of its pages.

    Args:
        most_remembered: after so many lists all are forgotten; a power of two.
    """

    def __init__(self, most_remembered: int = _MOST_REMEMBERED) -> None:
        self._table = np.zeros(2 * most_remembered, np.int32)
        self._lists = np.empty((most_remembered, _LIST_FIELDS), np.int64)
        self._known = np.empty(0, np.uint32)
        self._state = np.zeros(3, np.int64)

    def add(
        self, pages: NDArray[np.uint32], starts: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], bytes]:
        """Return where the lists of some keys begin, and the bytes of those that are new.

        Args:
            pages: of all keys; those of one key are sorted if they are not ascending.
            starts: where the pages of each key begin, one at least.
            ends: where they end.

        Cost: 0.1 µs a list.
        """
        sizes = ends - starts
        self._reserve(int(sizes.sum()))
        numbers = starts.size + int(np.minimum(sizes, MOST_POSTS).sum())
        out = np.empty(_MOST_NUMBER_BYTES * numbers, np.uint8)
        written = int(self._state[-1])
        bounds = np.stack([starts, ends], axis=1)
        offsets = load_archive_kernel().add_lists(
            pages, bounds, self._table, self._lists, self._known, self._state, MOST_POSTS, out
        )
        return offsets, out[: self._state[-1] - written].tobytes()

    def _reserve(self, more: int) -> None:
        """Make room for so many pages more."""
        used = int(self._state[1])
        if used + more > self._known.size:
            known = np.empty(2 * (used + more), np.uint32)
            known[:used] = self._known[:used]
            self._known = known
