"""Counts the records that a command prepares and does not judge, for its summary."""

from collections import Counter

from neardup_daemon.tally import by_outcome
from neardup_daemon.terminal import counted
from neardup_stream.pipeline.arrival import Prepared
from neardup_stream.streams.files.source import PlaceOf

__all__ = ["PreparedTally"]

_FIRST_DEAD_LETTERS = 5


class PreparedTally:
    """Counts that add up; of pages they are added by the command.

    Attributes:
        outcomes: records by outcome; they sum to the records.
    """

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self._skipped: Counter[str] = Counter()

    def add_others(self, prepared: Prepared, place_of: PlaceOf) -> list[str]:
        """Count what of a batch is no page; return what the first few dead letters of all are about."""
        room = max(0, _FIRST_DEAD_LETTERS - self.outcomes["dead_letter"])
        self.outcomes["dead_letter"] += len(prepared.rejected)
        self.outcomes["skipped"] += len(prepared.skipped)
        self.outcomes["forgotten"] += len(prepared.forgets)
        self._skipped.update(each.reason for each in prepared.skipped)
        return [f"{place_of(each.record.position)}: {each.error}" for each in prepared.rejected[:room]]

    def __str__(self) -> str:
        """Return the number of records and how many had each outcome, without those that are 0."""
        outcomes = by_outcome(self.outcomes.items(), self._skipped)
        return f"{counted(self.outcomes.total(), 'record')}: {outcomes or 'none'}"
