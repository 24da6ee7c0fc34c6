"""What the library reports while it works, as a protocol, with an implementation that does nothing.

The library never imports a metrics client: `neardup_daemon/metrics.py` binds these names to Prometheus, tests
bind them to lists.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

from neardup_stream.errors import LimitName
from neardup_stream.message import Partition, Record, RecordMetadata

__all__ = [
    "Activity",
    "Delivered",
    "Dependency",
    "NoMeters",
    "Outcome",
    "PipelineMeters",
    "Rejection",
    "Stage",
    "Step",
    "WorkerEnd",
]

Outcome = Literal[
    "unique",
    "duplicate",
    "undecided",
    "archived",
    "unchanged",
    "superseded",
    "skipped",
    "forgotten",
    "forget_unknown",
    "dead_letter",
]
"""What became of a record. Every record gets exactly one, so they sum to the pages."""

Step = Literal[
    "decode",
    "extract",
    "fingerprint",
    "frames",
    "consult",
    "look_up",
    "register",
    "probe",
    "verify",
    "decide",
    "follow_up",
    "deliver",
    "commit",
    "trim",
]
"""A step of a batch, as timed. `consult` asks frozen archives; `look_up` asks which records are decided
already; `follow_up` writes ranks to page records and removes the index entries of former versions."""

Stage = Literal["read", "prepare", "view", "register", "probe", "verify", "decide", "deliver"]
"""A task of the loop. All stages work at once, each on a batch of its own."""

Activity = Literal["busy", "waiting_for_input", "waiting_for_output"]
"""What a stage does at a moment: it works, the stage before it is slower, or the stage behind it is."""

WorkerEnd = Literal["page_seconds", "page_memory_bytes", "failed"]
"""Why a worker process ended: a page exceeded a limit, or the process crashed or raised an exception."""

Rejection = Literal["stale", "scope", "contained", "below_threshold"]
"""Why a candidate is no match: its page changed or is gone, is of another scope, or is not alike enough."""

Dependency = Literal["store", "stream"]
"""What a step may wait for."""


class Delivered(NamedTuple):
    """One batch whose events and dead letters are all acknowledged.

    Attributes:
        records: all of the batch.
        event_counts: events by name.
        duplicate_bytes: bytes of key, value and headers of the records whose pages are duplicates.
        site_pages: new or changed pages by site, as `frames.scope` tells sites.
        site_duplicates: those of them that are duplicates.
    """

    records: Sequence[RecordMetadata]
    event_counts: Mapping[str, int]
    duplicate_bytes: int
    site_pages: Mapping[str, int]
    site_duplicates: Mapping[str, int]


class PipelineMeters(Protocol):
    """Counts and times of one pipeline. Every method is cheap, called per batch and never raises."""

    def pages(self, count: int, size_bytes: int) -> None:
        """`count` records were read, holding `size_bytes` of key, value and headers."""

    def outcome(self, outcome: Outcome, count: int, reason: str = "") -> None:
        """`count` records met `outcome`; `reason` is from a closed set, empty where none applies."""

    def delivered(self, delivered: Delivered) -> None:
        """All messages of a batch are acknowledged."""

    def step_seconds(self, step: Step, seconds: float) -> None:
        """`step` took `seconds` for one batch."""

    def activity(self, stage: Stage, activity: Activity) -> None:
        """`stage` does this from now on."""

    def read(self, records: Sequence[Record]) -> None:
        """These records were read; they are not committed yet."""

    def assigned(self, partition_count: int, topic_partition_count: int) -> None:
        """A rebalance gave this consumer so many partitions, of so many that its topics have."""

    def revoked(self) -> None:
        """This consumer has no partitions until the next assignment."""

    def candidates(self, count: int) -> None:
        """Probes found `count` candidates, before verification."""

    def rejected_candidates(self, reason: Rejection, count: int) -> None:
        """`count` candidates came to nothing."""

    def bucket_cap_hits(self, count: int) -> None:
        """`count` ranges held more entries than a probe may read, so matches may be missing."""

    def truncated_probes(self, count: int) -> None:
        """`count` pages met more entries than a probe reports, so matches may be missing."""

    def dropped_edges(self, count: int) -> None:
        """`count` matches were not left for pages that are not decided yet, because enough wait there."""

    def charset_fallbacks(self, count: int) -> None:
        """`count` bodies had an unknown or wrong charset label and were decoded by detection."""

    def over_limit(self, limit: LimitName, count: int) -> None:
        """`count` pages exceeded the limit."""

    def worker_ended(self, end: WorkerEnd) -> None:
        """A process that prepares pages ended and was replaced."""

    def frame_tokens(self, frame: int, tokens: int) -> None:
        """Of `tokens` tokens of pages, `frame` stood in lines that were taken for the frame of their site."""

    def frame_lessons(self, taught: int, dropped: int) -> None:
        """Frame tables of so many sites were written; so many lessons gave way to other daemons' writes."""

    def frame_sites(self, known: int, settled: int) -> None:
        """So many sites' frame tables are cached now, `settled` of them with enough pages to be relied on."""

    def archived(self, exact: int, near: int, candidates: int) -> None:
        """So many pages equal a frozen page, or are nearly equal; `candidates` were compared for it."""

    def truncated_dead_letters(self, count: int) -> None:
        """`count` dead letters were too large for their topic and carry their beginning only."""

    def in_flight(self, pages: int, size_bytes: int) -> None:
        """This many pages and bytes are now between reading and commit."""

    def committed(self, next_offsets: Mapping[Partition, int]) -> None:
        """Everything below these offsets is finished, and committed."""

    def dropped_commits(self, count: int) -> None:
        """The commits of `count` partitions came after they were given away; others read them again."""

    def retry(self, dependency: Dependency) -> None:
        """A step is about to be tried again because `dependency` was unavailable."""

    def dependency_error(self, dependency: Dependency, reason: str) -> None:
        """A step found `dependency` away; `reason` is of its own closed set."""


class NoMeters:
    """Reports nothing."""

    def pages(self, count: int, size_bytes: int) -> None:
        """Ignore."""

    def outcome(self, outcome: Outcome, count: int, reason: str = "") -> None:
        """Ignore."""

    def delivered(self, delivered: Delivered) -> None:
        """Ignore."""

    def step_seconds(self, step: Step, seconds: float) -> None:
        """Ignore."""

    def activity(self, stage: Stage, activity: Activity) -> None:
        """Ignore."""

    def read(self, records: Sequence[Record]) -> None:
        """Ignore."""

    def assigned(self, partition_count: int, topic_partition_count: int) -> None:
        """Ignore."""

    def revoked(self) -> None:
        """Ignore."""

    def candidates(self, count: int) -> None:
        """Ignore."""

    def rejected_candidates(self, reason: Rejection, count: int) -> None:
        """Ignore."""

    def bucket_cap_hits(self, count: int) -> None:
        """Ignore."""

    def truncated_probes(self, count: int) -> None:
        """Ignore."""

    def dropped_edges(self, count: int) -> None:
        """Ignore."""

    def charset_fallbacks(self, count: int) -> None:
        """Ignore."""

    def over_limit(self, limit: LimitName, count: int) -> None:
        """Ignore."""

    def worker_ended(self, end: WorkerEnd) -> None:
        """Ignore."""

    def frame_tokens(self, frame: int, tokens: int) -> None:
        """Ignore."""

    def frame_lessons(self, taught: int, dropped: int) -> None:
        """Ignore."""

    def frame_sites(self, known: int, settled: int) -> None:
        """Ignore."""

    def archived(self, exact: int, near: int, candidates: int) -> None:
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
