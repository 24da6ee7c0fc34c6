"""What the library reports while it works, as a protocol, with an implementation that does nothing.

The library never imports a metrics client: `daemon/metrics.py` binds these names to Prometheus, tests
bind them to lists.
"""

from collections.abc import Mapping
from typing import Literal, Protocol

from neardup_stream.message import Partition

__all__ = ["Dependency", "NoMeters", "Outcome", "PipelineMeters", "Rejection", "Stage"]

Outcome = Literal[
    "unique",
    "duplicate",
    "undecided",
    "unchanged",
    "superseded",
    "skipped",
    "forgotten",
    "forget_unknown",
    "dead_letter",
]
"""What became of a record. Every record gets exactly one, so they sum to the pages."""

Stage = Literal[
    "decode",
    "text",
    "fingerprint",
    "frames",
    "settled",
    "record",
    "probe",
    "verify",
    "decide",
    "mark",
    "send",
    "commit",
    "trim",
]
"""A step of the page's journey, as timed per batch."""


Rejection = Literal["ghost", "scope", "contained", "unlike"]
"""Why a candidate is no match: its page is no more, is compared elsewhere, or is not alike enough."""

Dependency = Literal["store", "stream"]
"""What a step may wait for."""


class PipelineMeters(Protocol):
    """Counts and times of one pipeline. Every method is cheap, called per batch and never raises."""

    def pages(self, count: int, size_bytes: int) -> None:
        """`count` records were read, holding `size_bytes` of key and value."""

    def outcome(self, outcome: Outcome, count: int, reason: str = "") -> None:
        """`count` records met `outcome`; `reason` is from a closed set, empty where none applies."""

    def stage_seconds(self, stage: Stage, seconds: float) -> None:
        """One batch spent `seconds` in `stage`."""

    def candidates(self, count: int) -> None:
        """Probes found `count` candidates, before verification."""

    def rejected_candidates(self, reason: Rejection, count: int) -> None:
        """`count` candidates came to nothing."""

    def bucket_cap_hits(self, count: int) -> None:
        """`count` ranges held more entries than a probe may read, so matches may be missing."""

    def charset_fallbacks(self, count: int) -> None:
        """`count` bodies had an unknown or wrong charset label and were decoded by detection."""

    def frame_tokens(self, frame: int, tokens: int) -> None:
        """Of `tokens` tokens of pages, `frame` stood in lines that were taken for the frame of their site."""

    def frame_lessons(self, taught: int, dropped: int) -> None:
        """Frame tables of so many sites were written; so many lessons gave way to other daemons' writes."""

    def frame_sites(self, known: int, settled: int) -> None:
        """So many sites' frame tables are cached now, `settled` of them with enough pages to be relied on."""

    def truncated_dead_letters(self, count: int) -> None:
        """`count` dead letters were too large for their topic and carry their beginning only."""

    def in_flight(self, pages: int, size_bytes: int) -> None:
        """This many pages and bytes are now between reading and commit."""

    def committed(self, next_offsets: Mapping[Partition, int]) -> None:
        """Everything below these offsets is finished, and committed."""

    def dropped_commits(self, count: int) -> None:
        """The commits of `count` partitions came after they were given away; others read them again."""

    def retry(self, dependency: Dependency) -> None:
        """A step is about to be tried again because `dependency` was away."""

    def dependency_error(self, dependency: Dependency, reason: str) -> None:
        """A step found `dependency` away; `reason` is of its own closed set."""


class NoMeters:
    """Reports nothing."""

    def pages(self, count: int, size_bytes: int) -> None:
        """Ignore."""

    def outcome(self, outcome: Outcome, count: int, reason: str = "") -> None:
        """Ignore."""

    def stage_seconds(self, stage: Stage, seconds: float) -> None:
        """Ignore."""

    def candidates(self, count: int) -> None:
        """Ignore."""

    def rejected_candidates(self, reason: Rejection, count: int) -> None:
        """Ignore."""

    def bucket_cap_hits(self, count: int) -> None:
        """Ignore."""

    def charset_fallbacks(self, count: int) -> None:
        """Ignore."""

    def frame_tokens(self, frame: int, tokens: int) -> None:
        """Ignore."""

    def frame_lessons(self, taught: int, dropped: int) -> None:
        """Ignore."""

    def frame_sites(self, known: int, settled: int) -> None:
        """Ignore."""

    def truncated_dead_letters(self, count: int) -> None:
        """Ignore."""

    def in_flight(self, pages: int, size_bytes: int) -> None:
        """Ignore."""

    def committed(self, next_offsets: Mapping[Partition, int]) -> None:
        """Ignore."""

    def dropped_commits(self, count: int) -> None:
        """Ignore."""

    def retry(self, dependency: Dependency) -> None:
        """Ignore."""

    def dependency_error(self, dependency: Dependency, reason: str) -> None:
        """Ignore."""
