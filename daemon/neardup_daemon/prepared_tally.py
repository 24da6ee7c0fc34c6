"""Count the records that a command prepares and does not judge, for its summary."""

from collections import Counter
from collections.abc import Mapping

from neardup_daemon.first_dead_letters import FirstDeadLetters
from neardup_daemon.tally import by_outcome
from neardup_daemon.terminal import counted
from neardup_stream.pipeline.arrival import Prepared
from neardup_stream.streams.files.source import PlaceOf

__all__ = ["PreparedTally"]


class PreparedTally:
    """Records by outcome.

    Attributes:
        outcomes: how many records have each; together they are all records.
    """

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self._skipped: Counter[str] = Counter()
        self._letters = FirstDeadLetters()

    def add(self, prepared: Prepared, of_pages: Mapping[str, int], place_of: PlaceOf) -> list[str]:
        """Count the records of a batch; return what the first five dead letters of all batches are about.

        Args:
            prepared: the batch.
            of_pages: how many of its pages have each outcome.
            place_of: names the place of a record.
        """
        self.outcomes.update(of_pages)
        self.outcomes["dead_letter"] += len(prepared.rejected)
        self.outcomes["skipped"] += len(prepared.skipped)
        self.outcomes["forgotten"] += len(prepared.forgets)
        self._skipped.update(each.reason for each in prepared.skipped)
        shown = len(self._letters.lines)
        for each in prepared.rejected:
            self._letters.note(each.record.position, each.error, place_of)
        return self._letters.lines[shown:]

    def __str__(self) -> str:
        """Return the number of records and how many had each outcome, without those that are 0."""
        outcomes = by_outcome(self.outcomes.items(), self._skipped)
        return f"{counted(self.outcomes.total(), 'record')}: {outcomes or 'none'}"
