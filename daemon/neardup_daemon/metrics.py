"""Implement the meters as Prometheus metrics, on a registry of their own.

Label values come from closed sets and all exist from the start at 0, so that a rate is never missing its
first increase. Partitions and sites are the exceptions: a partition's series lives as long as the partition
is ours, and of the sites only those with most duplicates have one.
"""

from collections.abc import Collection, Mapping, Sequence
from math import nan
from time import time
from typing import Final, get_args

from neardup_daemon.query_api.metrics import ApiMetrics
from neardup_daemon.sweep_metrics import SweepMetrics
from neardup_daemon.telemetry.backlog import Backlog
from neardup_daemon.telemetry.exemplars import exemplar
from neardup_daemon.telemetry.metric_registry import MetricRegistry
from neardup_daemon.telemetry.process_metrics import ProcessMetrics
from neardup_daemon.telemetry.stage_times import StageTimes
from neardup_daemon.telemetry.stalls import Progress
from neardup_daemon.telemetry.top_sites import TopSites
from neardup_stream.errors import BadPageReason, LimitName, StoreReason, StreamReason
from neardup_stream.events import EventName
from neardup_stream.match import MatchKind
from neardup_stream.message import Partition, Record, SkipReason, topic_of
from neardup_stream.meters import (
    STEPS,
    Activity,
    Delivered,
    Dependency,
    Outcome,
    PipelineMeters,
    Rejection,
    SiteState,
    Stage,
    Step,
    WorkerEnd,
)
from neardup_stream.stores.redis.usage import Usage

__all__ = ["Metrics"]

_STEP_BUCKETS_SECONDS: Final = (
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0,
)  # fmt: skip
"""A step of a batch of 200 takes 1 to 50 ms when all is well; one that waits for Redis or Kafka, minutes."""

_DELAY_BUCKETS_SECONDS: Final = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 14_400, 86_400)
"""From a daemon that keeps up to one that works off a day's backlog."""

_REASONS: Final[Mapping[Outcome, tuple[str, ...]]] = {
    "dead_letter": get_args(BadPageReason),
    "skipped": get_args(SkipReason),
    "undecided": ("too_short",),
}

_UNAVAILABLE_REASONS: Final[Mapping[Dependency, tuple[str, ...]]] = {
    "store": get_args(StoreReason),
    "stream": get_args(StreamReason),
}


class Metrics(PipelineMeters):
    """Implements `PipelineMeters`.

    Args:
        top_sites: sites with most duplicates that have series of their own; 0 for none.

    Attributes:
        registry: holds everything.
        process: what the process knows of itself.
        sweep: what retention does.
        api: what the query API does.
    """

    def __init__(self, top_sites: int = 0) -> None:
        self.registry = registry = MetricRegistry()
        self.process = ProcessMetrics(registry)
        self.sweep = SweepMetrics(registry)
        self.api = ApiMetrics(registry)
        self._stage_times = StageTimes()
        self._top_sites = TopSites(top_sites)
        for collector in (self._stage_times, self._top_sites):
            registry.prometheus.register(collector)
        self._backlog = Backlog()
        self._in_flight_count = 0
        self._committed: dict[Partition, int] = {}
        self._make_counts()
        self._make_waits()

    def _make_counts(self) -> None:
        """Create the metrics that count what is read, found and published."""
        counter, gauge = self.registry.counter, self.registry.gauge
        self._pages = counter("pages", "Records delivered.")
        self._page_bytes = counter("page_bytes", "Bytes of key, value and headers of the records delivered.")
        outcomes = counter("outcomes", "Records by outcome; the outcomes sum to the pages.", "outcome")
        self._outcome_counter = outcomes
        self._outcomes = {outcome: outcomes.labels(outcome) for outcome in get_args(Outcome)}
        self._reasons = counter(
            "outcome_reasons", "Outcomes that have a reason, by reason.", "outcome", "reason"
        )
        for outcome, reasons in _REASONS.items():
            for reason in reasons:
                self._reasons.labels(outcome, reason)
        events = counter("events", "Events acknowledged by the broker, by type.", "type")
        self._events = {name: events.labels(name) for name in get_args(EventName)}
        self._duplicate_bytes = counter("duplicate_bytes", "Bytes of the records whose pages are duplicates.")
        self._candidates = counter("candidates", "Candidates found by probes, before verification.")
        rejected = counter("rejected_candidates", "Candidates that are no match, by reason.", "reason")
        self._rejected = {reason: rejected.labels(reason) for reason in get_args(Rejection)}
        self._cap_hits = counter("bucket_cap_hits", "Ranges larger than a probe may read.")
        self._truncated_probes = counter("truncated_probes", "Pages for which a probe left entries unread.")
        self._dropped_edges = counter("dropped_pending_edges", "Pending edges that were dropped.")
        self._fallbacks = counter("charset_fallbacks", "Bodies decoded by detection, not by label.")
        over_limit = counter("over_limit", "Pages over a limit, by the setting.", "limit")
        self._over_limit = {limit: over_limit.labels(limit) for limit in get_args(LimitName)}
        ends = counter("worker_ends", "Worker processes that a page ended, by reason.", "reason")
        self._worker_ends = {end: ends.labels(end) for end in get_args(WorkerEnd)}
        self._worker_end_count = 0
        self._frame_tokens = counter("frame_tokens", "Tokens in lines that are the frame of their site.")
        self._framed_tokens = counter("viewed_tokens", "Tokens of pages whose site is known by name.")
        lessons = counter("frame_lessons", "Writes of a site's frame table, by result.", "result")
        self._taught, self._dropped_lessons = lessons.labels("taught"), lessons.labels("dropped")
        sites = gauge("frame_sites", "Sites whose frame tables this process caches.", "state")
        self._frame_sites = {state: sites.labels(state) for state in get_args(SiteState)}
        archived = counter("archived", "Pages that match a page of an archive, by the best match.", "kind")
        self._archived = {kind: archived.labels(kind) for kind in get_args(MatchKind)}
        self._archive_candidates = counter(
            "archive_candidates", "Frozen pages that pages were compared with."
        )
        self._archive_cap_hits = counter(
            "archive_cap_hits", "Keys that more frozen pages have than are compared."
        )
        self._refused_archives = gauge("refused_archives", "Archives asked in the place of a refused file.")
        self._truncated = counter("truncated_dead_letters", "Dead letters that were cut to fit.")

    def _make_waits(self) -> None:
        """Create the metrics of durations and of what waits."""
        counter, gauge = self.registry.counter, self.registry.gauge
        steps = self.registry.histogram(
            "stage_duration_seconds",
            "Time of one batch in one step of a stage.",
            "stage",
            "step",
            buckets=_STEP_BUCKETS_SECONDS,
        )
        self._steps = {step: steps.labels(stage, step) for stage, own in STEPS.items() for step in own}
        self._delivery_delay = self.registry.histogram(
            "delivery_delay_seconds",
            "From a record's timestamp to the acknowledgement of its events.",
            buckets=_DELAY_BUCKETS_SECONDS,
        )
        self._dropped = counter("dropped_commits", "Partitions whose commit came after they were revoked.")
        retries = counter("retries", "Steps retried because a dependency was unavailable.", "dependency")
        self._retries = {dependency: retries.labels(dependency) for dependency in get_args(Dependency)}
        self._dependency_errors = counter(
            "dependency_errors",
            "Steps that found a dependency unavailable, by reason.",
            "dependency",
            "reason",
        )
        for dependency, reasons in _UNAVAILABLE_REASONS.items():
            for reason in reasons:
                self._dependency_errors.labels(dependency, reason)
        self._rebalances = counter("rebalances", "Assignments of partitions by the consumer group.")
        self._assigned = gauge("assigned_partitions", "Partitions assigned to this consumer.")
        self._topic_partitions = gauge("topic_partitions", "Partitions of the pages topic.")
        self._lag = gauge("lag_records", "Records not yet read.", "topic", "partition")
        self._uncommitted = gauge("uncommitted_records", "Records not yet committed.", "topic", "partition")
        self._lag_seconds = gauge(
            "lag_seconds", "Age of the oldest uncommitted record.", "topic", "partition"
        )
        self._stored = gauge("stored_pages", "Page records in the index, by a sample.")
        memory = gauge(
            "redis_memory_bytes", "Memory of the fullest Redis primary: used, and its maxmemory.", "kind"
        )
        self._used_bytes, self._max_bytes = memory.labels("used"), memory.labels("max")
        self._in_flight_pages = gauge("in_flight_pages", "Pages between reading and delivery.")
        self._in_flight_bytes = gauge("in_flight_bytes", "Bytes between reading and delivery.")

    def pages(self, count: int, size_bytes: int) -> None:
        """See `PipelineMeters`, here and below."""
        self._pages.inc(count)
        self._page_bytes.inc(size_bytes)

    def outcome(self, outcome: Outcome, count: int, reason: str = "") -> None:
        """Count an outcome, and its reason if it has one."""
        self._outcomes[outcome].inc(count)
        if reason:
            self._reasons.labels(outcome, reason).inc(count)

    def delivered(self, delivered: Delivered) -> None:
        """Count events, observe delays, count sites; the slowest record's trace is the exemplar."""
        for name, count in delivered.event_counts.items():
            self._events[name].inc(count)
        self._duplicate_bytes.inc(delivered.duplicate_bytes)
        self._top_sites.add(delivered.site_pages, delivered.site_duplicates)
        now_seconds = time()
        slowest = min(delivered.records, key=lambda record: record.timestamp_ms, default=None)
        for record in delivered.records:
            delay_seconds = max(0.0, now_seconds - record.timestamp_ms / 1000)
            self._delivery_delay.observe(delay_seconds, exemplar(record) if record is slowest else None)

    def step_seconds(self, step: Step, seconds: float) -> None:
        """Observe one batch."""
        self._steps[step].observe(seconds)

    def activity(self, stage: Stage, activity: Activity) -> None:
        """Add up what the stage did before."""
        self._stage_times.switch(stage, activity)

    def read(self, records: Sequence[Record]) -> None:
        """Remember, for `lag`."""
        self._backlog.read(records)

    def assigned(self, partition_count: int, topic_partition_count: int) -> None:
        """Count a rebalance and set both gauges."""
        self._rebalances.inc()
        self._assigned.set(partition_count)
        self._topic_partitions.set(topic_partition_count)

    def revoked(self) -> None:
        """Forget what was read of partitions that are not ours any more."""
        self._assigned.set(0)
        self._backlog.clear()

    def candidates(self, count: int) -> None:
        """Count candidates."""
        self._candidates.inc(count)

    def rejected_candidates(self, reason: Rejection, count: int) -> None:
        """Count what verification dropped."""
        self._rejected[reason].inc(count)

    def bucket_cap_hits(self, count: int) -> None:
        """Count ranges that were cut."""
        self._cap_hits.inc(count)

    def truncated_probes(self, count: int) -> None:
        """Count pages that may lack matches."""
        self._truncated_probes.inc(count)

    def dropped_edges(self, count: int) -> None:
        """Count matches that do not wait for their page."""
        self._dropped_edges.inc(count)

    def charset_fallbacks(self, count: int) -> None:
        """Count bodies decoded by detection."""
        self._fallbacks.inc(count)

    def over_limit(self, limit: LimitName, count: int) -> None:
        """Count pages over a limit."""
        self._over_limit[limit].inc(count)

    def worker_ended(self, end: WorkerEnd) -> None:
        """Count the end of a worker process."""
        self._worker_ends[end].inc()
        self._worker_end_count += 1

    def frame_tokens(self, frame: int, tokens: int) -> None:
        """Count tokens that were taken out, of all."""
        self._frame_tokens.inc(frame)
        self._framed_tokens.inc(tokens)

    def frame_lessons(self, taught: int, dropped: int) -> None:
        """Count writes of frame tables."""
        self._taught.inc(taught)
        self._dropped_lessons.inc(dropped)

    def frame_sites(self, counts: Mapping[SiteState, int]) -> None:
        """Set what is kept, by what is known of a site."""
        for state, gauge in self._frame_sites.items():
            gauge.set(counts.get(state, 0))

    def archived(self, exact: int, near: int, candidates: int, sampled_keys: int) -> None:
        """Count pages that are like frozen ones."""
        self._archived["exact"].inc(exact)
        self._archived["near"].inc(near)
        self._archive_candidates.inc(candidates)
        self._archive_cap_hits.inc(sampled_keys)

    def refused_archives(self, count: int) -> None:
        """Set how many archives are not the file under their name."""
        self._refused_archives.set(count)

    def truncated_dead_letters(self, count: int) -> None:
        """Count dead letters that were cut."""
        self._truncated.inc(count)

    def in_flight(self, pages: int, size_bytes: int) -> None:
        """Set both gauges."""
        self._in_flight_count = pages
        self._in_flight_pages.set(pages)
        self._in_flight_bytes.set(size_bytes)

    def committed(self, next_offsets: Mapping[Partition, int]) -> None:
        """Remember, for `progress` and `lag`."""
        self._backlog.committed(next_offsets)
        for partition, offset in next_offsets.items():
            self._committed[partition] = offset

    def progress(self, lag: Mapping[Partition, int], untaken: Collection[Partition]) -> Progress:
        """Return how far we have come."""
        return Progress(lag, dict(self._committed), self._in_flight_count, self._worker_end_count, untaken)

    def dropped_commits(self, count: int) -> None:
        """Count commits that came too late."""
        self._dropped.inc(count)

    def retry(self, dependency: Dependency) -> None:
        """Count a repeat."""
        self._retries[dependency].inc()

    def dependency_error(self, dependency: Dependency, reason: str) -> None:
        """Count why a dependency was unavailable."""
        self._dependency_errors.labels(dependency, reason).inc()

    def lag(self, unread: Mapping[Partition, int]) -> None:
        """Set the three lags of every partition that is ours; the others' series end.

        Args:
            unread: records not yet read.
        """
        for gauge in (self._lag, self._uncommitted, self._lag_seconds):
            gauge.clear()
        now_seconds = time()
        backlogs = self._backlog.by_partition()
        for partition, count in unread.items():
            labels = (topic_of(partition.input_id), str(partition.number))
            backlog = backlogs.get(partition)
            self._lag.labels(*labels).set(count)
            self._uncommitted.labels(*labels).set(count + (backlog.records if backlog else 0))
            age_seconds = max(0.0, now_seconds - backlog.oldest_timestamp_ms / 1000) if backlog else 0.0
            self._lag_seconds.labels(*labels).set(age_seconds)

    def usage(self, usage: Usage | None) -> None:
        """Set how full Redis is; None while it does not say."""
        self._stored.set(usage.records if usage else nan)
        self._used_bytes.set(usage.used_bytes if usage else nan)
        self._max_bytes.set(usage.max_bytes if usage else nan)

    def outcome_counts(self) -> dict[str, int]:
        """Return the number of records of each outcome that occurred; they sum to the pages."""
        samples = (sample for family in self._outcome_counter.collect() for sample in family.samples)
        return {sample.labels["outcome"]: int(sample.value) for sample in samples if sample.value}
