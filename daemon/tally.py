"""What a run over files came to, for its summary and its progress bar."""

from collections import Counter
from collections.abc import Callable

from neardup_stream.meters import NoMeters, Outcome

__all__ = ["Tally"]


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

    def pages(self, count: int, size_bytes: int) -> None:
        """Add, and tell."""
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
