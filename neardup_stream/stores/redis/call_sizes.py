"""Chooses how many entries a script call takes, so that calls are seldom cut by the bound on their work."""

from typing import Final

__all__ = ["CallSize"]

_PLANNED_SHARE: Final = 0.5
"""Of the most work: calls differ, and one that is cut makes all behind it be done twice."""

_LEAST_ENTRIES: Final = 40
"""Where buckets are so large that fewer would be planned, calls are cut."""

_NEWEST_SHARE: Final = 0.2
"""Of the mean, what the newest observation makes up."""


class CallSize:
    """How many entries a call takes, by the work that entries took before.

    The ranges of an index grow with it, and with them the work of an entry.

    Args:
        most_entries: of a call, whatever they take.
        most_work: after which a call is cut.
    """

    def __init__(self, most_entries: int, most_work: int) -> None:
        self._most_entries = most_entries
        self._planned_work = _PLANNED_SHARE * most_work
        self._work_per_entry: float | None = None

    @property
    def entries(self) -> int:
        """Return how many entries the next calls take."""
        if not self._work_per_entry:
            return self._most_entries
        planned = int(self._planned_work / self._work_per_entry)
        return min(self._most_entries, max(_LEAST_ENTRIES, planned))

    def observe(self, entries: int, work: int) -> None:
        """Take in what so many entries took."""
        if not entries:
            return
        newest = work / entries
        mean = newest if self._work_per_entry is None else self._work_per_entry
        self._work_per_entry = mean + _NEWEST_SHARE * (newest - mean)
