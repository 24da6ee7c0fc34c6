"""Keep rows by the time at which they are due."""

from bisect import bisect_right, insort
from typing import Final

from .page_rows import PageRows

__all__ = ["DueRows"]

_FEWEST_SORTED: Final = 1000
"""With so many that were removed, and as many as are left, all are sorted anew."""


class DueRows:
    """The times of pages, and the pages whose time has come.

    Args:
        rows: of each page its time.
    """

    def __init__(self, rows: PageRows) -> None:
        self._rows = rows
        self._order = self._sorted()  # and what was removed since

    def put(self, page_id: str, time: float) -> None:
        """Set the time of a page."""
        self._rows.put(page_id, time)
        insort(self._order, (time, page_id))
        if len(self._order) > _FEWEST_SORTED + 2 * len(self._rows):
            self._order = self._sorted()

    def _sorted(self) -> list[tuple[float, str]]:
        return sorted((row[0], page_id) for page_id, row in self._rows)

    def remove(self, page_id: str) -> None:
        """Remove the time of a page, if it has one."""
        self._rows.remove(page_id)

    def until(self, now: float) -> tuple[str, ...]:
        """Return the pages whose time is not later, the earliest first."""
        end = bisect_right(self._order, now, key=lambda each: each[0])
        due = dict.fromkeys(each for each in self._order[:end] if self._rows.get(each[1]) == each[:1])
        self._order[:end] = due
        return tuple(page_id for _, page_id in due)
