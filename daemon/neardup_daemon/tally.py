"""Counts the results of a run over files, for its summary and its progress bar."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from neardup_daemon.terminal import counted
from neardup_stream.meters import NoMeters, Outcome
from neardup_stream.wire.presets import PRESETS, Preset

__all__ = [
    "Tally",
    "by_outcome",
    "by_reason",
    "dead_letter_complaint",
    "missing_preset",
    "missing_texts",
    "unseen_pages",
]

_NEARLY_ALL = 0.95


def by_outcome(counts: Iterable[tuple[str, int]], skipped: Counter[str]) -> str:
    """Return how many records had each outcome, and of the skipped ones the reasons.

    Args:
        counts: records by outcome; those that are 0 are left out.
        skipped: skipped records by reason.

    >>> print(by_outcome([("unique", 7), ("skipped", 3), ("dead_letter", 1)], Counter(warc_type=2, status=1)))
    7 unique, 3 skipped (2 warc_type, 1 status), 1 dead letter
    """
    return ", ".join(_part(outcome, count, skipped) for outcome, count in counts if count)


def by_reason(counts: Counter[str]) -> str:
    """Return how many records had each reason, the most frequent one first."""
    return ", ".join(f"{count:,} {reason}" for reason, count in counts.most_common())


def _part(outcome: str, count: int, skipped: Counter[str]) -> str:
    match outcome:
        case "skipped":
            return f"{count:,} skipped ({by_reason(skipped)})"
        case "dead_letter":
            return counted(count, "dead letter")
        case _:
            return f"{count:,} {outcome}"


def dead_letter_complaint(dead: int, judged: int, files: Sequence[str] = ()) -> str:
    """Return a warning where nearly all of so many records are dead letters; empty otherwise.

    Args:
        dead: records that became dead letters.
        judged: records in all.
        files: those read, of which the columns are named that have some.
    """
    if not dead or dead < _NEARLY_ALL * judged:
        return ""
    columns = "".join(map(_columns_of, files))
    presets = "|".join(name for name in PRESETS if name != "none")
    return (
        f"{dead:,} of {judged:,} records are dead letters: see docs/pages.md for what a page is, in"
        f" JSON Lines one line of JSON in UTF-8; read what a crawler wrote with --set page.preset={presets},"
        f" or map its own names of fields with [page.fields]{columns}"
    )


def _columns_of(path: str) -> str:
    from neardup_stream.streams.files.file_names import has_ending  # noqa: PLC0415 - arrays are not for --help
    from neardup_stream.streams.files.parquet import PARQUET_ENDING, column_names  # noqa: PLC0415 - the same

    if not has_ending(path, PARQUET_ENDING):
        return ""
    return f"; the columns of {path} are {', '.join(column_names(path))}"


def missing_texts(skipped: Counter[str], record_count: int) -> str:
    """Return a warning where nearly all lines of Browsertrix are without text; empty otherwise.

    Args:
        skipped: records that were skipped, by reason.
        record_count: records in all, with these.
    """
    count, judged = skipped["no_text"], record_count - skipped["header"]
    if not count or count < _NEARLY_ALL * judged:
        return ""
    return (
        f"{count:,} of {judged:,} records have no text (no_text): if they are pages, crawl with --text"
        " to-pages, or read the archives of the crawl (docs/crawlers.md)"
    )


def missing_preset(header_count: int, preset: Preset) -> str:
    """Return a warning where lines of Browsertrix are read without its preset; empty otherwise.

    Args:
        header_count: headers of `pages.jsonl` that were skipped.
        preset: in force.
    """
    if not header_count or preset != "none":
        return ""
    return (
        "a header of Browsertrix (json-pages-1.0) was skipped: read its lines with --page-preset browsertrix,"
        " or the id of each capture counts as another page"
    )


def unseen_pages(revisit_count: int) -> str:
    """Return a warning where an archive has references in the places of pages; empty otherwise.

    Args:
        revisit_count: `revisit` records that were skipped.
    """
    if not revisit_count:
        return ""
    return (
        f"{counted(revisit_count, 'revisit record')} skipped: such a record refers to an earlier capture and"
        " holds no page, so the page in whose place it stands was not seen in this run; have the crawler"
        " write every page in full (docs/crawlers.md)"
    )


class Tally(NoMeters):
    """Meters that add up.

    Args:
        on_records: called with the number of records finished so far.

    Attributes:
        outcomes: records by outcome; they sum to the records.
        skipped: skipped records by reason.
        bucket_cap_hit_count: ranges that were not read to their end.
        truncated_count: pages of which a probe left entries unread.
    """

    def __init__(self, on_records: Callable[[int], None] | None = None) -> None:
        self.outcomes: Counter[Outcome] = Counter()
        self.skipped: Counter[str] = Counter()
        self.bucket_cap_hit_count = self.truncated_count = 0
        self._on_records = on_records
        self._record_count = 0

    def complaint(self, files: Sequence[str] = ()) -> str:
        """Return a warning where nearly all records of these files are dead letters; empty otherwise."""
        judged = self.outcomes.total() - self.outcomes["skipped"]
        return dead_letter_complaint(self.outcomes["dead_letter"], judged, files)

    def missing_matches(self) -> str:
        """Return where matches may be missing, because many pages share ranges or bands; empty otherwise."""
        parts = [(self.bucket_cap_hit_count, "range", "held"), (self.truncated_count, "page", "met")]
        found = [f"{counted(count, noun)} {verb}" for count, noun, verb in parts if count]
        more = "more entries than a probe reads (index.bucket_cap)"
        where = "matches may be missing, among error pages (pages.status) or others that say nearly the same"
        return f"{' and '.join(found)} {more}: {where}" if found else ""

    def pages(self, count: int, size_bytes: int) -> None:
        """Add, and report the sum."""
        del size_bytes
        self._record_count += count
        if self._on_records is not None:
            self._on_records(self._record_count)

    def outcome(self, outcome: Outcome, count: int, reason: str = "") -> None:
        """Add."""
        self.outcomes[outcome] += count
        if outcome == "skipped":
            self.skipped[reason] += count

    def bucket_cap_hits(self, count: int) -> None:
        """Add."""
        self.bucket_cap_hit_count += count

    def truncated_probes(self, count: int) -> None:
        """Add."""
        self.truncated_count += count
