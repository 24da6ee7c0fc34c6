"""Define what the library reports while it works, as methods that do nothing until they are overridden.

The library never imports a metrics client: `neardup_daemon/metrics.py` binds these methods to Prometheus,
tests bind them to lists.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple

from neardup_stream.errors import LimitName
from neardup_stream.message import Partition, Record, RecordMetadata

__all__ = [
    "STEPS",
    "Activity",
    "Delivered",
    "Dependency",
    "NoMeters",
    "Outcome",
    "PipelineMeters",
    "Rejection",
    "SiteState",
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
"""The outcome of a record. Every record has exactly one, so the outcomes sum to the pages."""

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
"""A step of a stage, as timed. `frames` takes the frames of sites out of pages; `consult` searches frozen
archives; `look_up` reads which records are decided already; `follow_up` writes ranks to page records and
removes the index entries of former versions; `trim` removes decision records.
"""

Stage = Literal[
    "read",
    "decode",
    "extract",
    "fingerprint",
    "register",
    "probe",
    "verify",
    "decide",
    "deliver",
    "commit",
]
"""A stage in the journey of a batch, in order; `pipeline.stages` is the table of them. Stages work
concurrently, each on a batch of its own, except that decode and extract are one call, and commit follows
deliver.
"""

STEPS: Final[Mapping[Stage, tuple[Step, ...]]] = {
    "decode": ("decode",),
    "extract": ("extract",),
    "fingerprint": ("fingerprint", "frames", "consult"),
    "register": ("look_up", "register"),
    "probe": ("probe",),
    "verify": ("verify",),
    "decide": ("decide",),
    "deliver": ("follow_up", "deliver"),
    "commit": ("commit", "trim"),
}
"""The steps of each stage; a read is not timed, because it waits for records."""

Activity = Literal["busy", "waiting_for_input", "waiting_for_output"]
"""The state of a stage: it works, or waits for the stage before it, or for the stage after it."""

WorkerEnd = Literal["page_seconds", "page_memory_bytes", "failed"]
"""Why a worker process ended: a page exceeded a limit, or the process crashed or raised an exception."""

Rejection = Literal["stale", "scope", "contained", "below_threshold"]
"""Why a candidate is no match: its page changed or is gone, has another scope, or is not similar enough."""

SiteState = Literal["young", "settled", "full"]
"""What is known of the frame of a site: of few pages, of enough, or with no room for more lines."""

Dependency = Literal["store", "stream"]
"""A dependency that a step may wait for."""


class Delivered(NamedTuple):
    """A batch whose events and dead letters are all acknowledged.

    Attributes:
        records: all of the batch.
        event_counts: events by name.
        duplicate_bytes: bytes of key, value and headers of the records whose pages are duplicates.
        site_pages: new or changed pages by site, as `frames.scope` defines sites; none too short to be
            judged.
        site_duplicates: those of them that are duplicates.
    """

    records: Sequence[RecordMetadata]
    event_counts: Mapping[str, int]
    duplicate_bytes: int
    site_pages: Mapping[str, int]
    site_duplicates: Mapping[str, int]


class PipelineMeters:
    """Receive counts and times of one pipeline, and ignore what a subclass has no method of its own for.

    Every method is cheap, called per batch and never raises.
    """

    def pages(self, count: int, size_bytes: int) -> None:
        """Count `count` records delivered, with `size_bytes` of key, value and headers."""

    def outcome(self, outcome: Outcome, count: int, reason: str = "") -> None:
        """Count `count` records with `outcome`; `reason` is from a closed set, empty if none applies."""

    def delivered(self, delivered: Delivered) -> None:
        """Report that all messages of a batch are acknowledged."""

    def step_seconds(self, step: Step, seconds: float) -> None:
        """Report that `step` took `seconds` for one batch."""

    def activity(self, stage: Stage, activity: Activity) -> None:
        """Report the state of `stage` from now on."""

    def read(self, records: Sequence[Record]) -> None:
        """Report records that were read and are not committed yet."""

    def assigned(self, partition_count: int, topic_partition_count: int) -> None:
        """Report a rebalance: the partitions of this consumer, and those of all its topics."""

    def revoked(self) -> None:
        """Report that this consumer has no partitions until the next assignment."""

    def candidates(self, count: int) -> None:
        """Count `count` candidates that probes found, before verification."""

    def rejected_candidates(self, reason: Rejection, count: int) -> None:
        """Count `count` candidates that are no matches."""

    def bucket_cap_hits(self, count: int) -> None:
        """Count `count` ranges that held more entries than a probe may read, so matches may be missing."""

    def truncated_probes(self, count: int) -> None:
        """Count `count` pages that met more entries than a probe reports, so matches may be missing."""

    def dropped_edges(self, count: int) -> None:
        """Count `count` pending edges to undecided pages that were dropped, because too many wait there."""

    def charset_fallbacks(self, count: int) -> None:
        """Count `count` bodies with an unknown or wrong charset label, decoded by detection."""

    def over_limit(self, limit: LimitName, count: int) -> None:
        """Count `count` pages above the limit."""

    def worker_ended(self, end: WorkerEnd) -> None:
        """Count a worker process that ended and was replaced."""

    def frame_tokens(self, frame: int, tokens: int) -> None:
        """Count `tokens` tokens of pages, of which `frame` were in lines that are frame."""

    def frame_lessons(self, taught: int, dropped: int) -> None:
        """Count the sites whose frame tables were written, and those dropped because of concurrent writes."""

    def frame_sites(self, counts: Mapping[SiteState, int]) -> None:
        """Report of how many sites of each state frame tables are cached."""

    def archived(self, exact: int, near: int, candidates: int, sampled_keys: int) -> None:
        """Count pages equal or similar to archived pages.

        Args:
            exact: equal ones.
            near: similar ones.
            candidates: archived pages that were compared for that.
            sampled_keys: keys that so many archived pages have that only some of them were.
        """

    def refused_archives(self, count: int) -> None:
        """Report how many archives are not the file under their name, which is refused or missing."""

    def truncated_dead_letters(self, count: int) -> None:
        """Count `count` dead letters that were truncated because they are too large for their topic."""

    def in_flight(self, pages: int, size_bytes: int) -> None:
        """Report the pages and bytes between reading and delivery."""

    def committed(self, next_offsets: Mapping[Partition, int]) -> None:
        """Report the committed offsets: everything below them is finished."""

    def dropped_commits(self, count: int) -> None:
        """Count `count` partitions whose commit came after they were revoked.

        Their next owner reads them again.
        """

    def retry(self, dependency: Dependency) -> None:
        """Count a retry of a step because `dependency` was unavailable."""

    def dependency_error(self, dependency: Dependency, reason: str) -> None:
        """Count an error of `dependency` by `reason`, from a closed set of its own."""


class NoMeters(PipelineMeters):
    """Reports nothing."""
