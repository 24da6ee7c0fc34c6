"""Counts the results of a run over files, for its summary and its progress bar."""

from collections import Counter
from collections.abc import Callable

from neardup_stream.meters import NoMeters, Outcome
from neardup_stream.wire.presets import PRESETS

__all__ = ["Tally", "dead_letter_complaint"]


_NEARLY_ALL = 0.95


def dead_letter_complaint(dead: int, judged: int) -> str:
    """Return a warning where nearly all of so many records are dead letters; empty otherwise."""
    if not dead or dead < _NEARLY_ALL * judged:
        return ""
    presets = "|".join(name for name in PRESETS if name != "none")
    return (
        f"{dead:,} of {judged:,} records are dead letters: see docs/pages.md for what a page is; read what a"
        f" crawler wrote with --set page.preset={presets}, or map its own names of fields with [page.fields]"
    )


class Tally(NoMeters):
    """Meters that add up.

    Args:
        on_pages: called with the number of records finished so far.

    Attributes:
        outcomes: records by outcome; they sum to the records.
        bucket_cap_hit_count: ranges that were not read to their end.
    """

    def __init__(self, on_pages: Callable[[int], None] | None = None) -> None:
        self.outcomes: Counter[Outcome] = Counter()
        self.bucket_cap_hit_count = 0
        self._on_pages = on_pages
        self._page_count = 0

    def complaint(self) -> str:
        """Return a warning where nearly all records are dead letters; empty otherwise."""
        judged = self.outcomes.total() - self.outcomes["skipped"]
        return dead_letter_complaint(self.outcomes["dead_letter"], judged)

    def pages(self, count: int, size_bytes: int) -> None:
        """Add, and report the sum."""
        del size_bytes
        self._page_count += count
        if self._on_pages is not None:
            self._on_pages(self._page_count)

    def outcome(self, outcome: Outcome, count: int, reason: str = "") -> None:
        """Add."""
        del reason
        self.outcomes[outcome] += count

    def bucket_cap_hits(self, count: int) -> None:
        """Add."""
        self.bucket_cap_hit_count += count
