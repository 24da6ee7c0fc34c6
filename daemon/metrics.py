"""The meters as Prometheus metrics, on a registry of their own.

Label values come from closed sets and all exist from the start at 0, so that a rate is never missing its
first increase. Partitions are the exception: a series lives as long as the partition is ours.
"""

import platform
from collections.abc import Mapping
from typing import Final, get_args

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)

from daemon.stalls import Progress
from neardup_stream import __version__
from neardup_stream.errors import BadPageReason, StoreReason, StreamReason
from neardup_stream.message import Partition, topic_of
from neardup_stream.meters import Dependency, Outcome, Rejection, Stage
from neardup_stream.pipeline.retention import Sweep

__all__ = ["CONTENT_TYPE", "Metrics"]

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
"""Of what `Metrics.render` returns."""

_STAGE_BUCKETS_SECONDS: Final = (
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
)  # fmt: skip
"""A stage of a batch of 200 takes 1 to 50 ms when all is well; a send waits for the broker's disk."""

_REASONS: Final[Mapping[Outcome, tuple[str, ...]]] = {
    "dead_letter": get_args(BadPageReason),
    "skipped": ("content_type", "status", "warc_type"),
    "undecided": ("too_short",),
}

_AWAY_REASONS: Final[Mapping[Dependency, tuple[str, ...]]] = {
    "store": get_args(StoreReason),
    "stream": get_args(StreamReason),
}


class Metrics:
    """Implements `PipelineMeters`, and holds what the process knows of itself."""

    def __init__(self) -> None:
        # Else a gauge with a date of birth would stand beside every counter.
        disable_created_metrics()  # type: ignore[no-untyped-call] # it has no annotations
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._pages = self._counter("pages", "Records read.")
        self._page_bytes = self._counter("page_bytes", "Bytes of key and value read.")
        outcomes = self._counter("outcomes", "What became of each record; sums to the pages.", "outcome")
        self._outcomes = {outcome: outcomes.labels(outcome) for outcome in get_args(Outcome)}
        self._reasons = self._counter(
            "outcome_reasons", "Outcomes that have a reason, by reason.", "outcome", "reason"
        )
        for outcome, reasons in _REASONS.items():
            for reason in reasons:
                self._reasons.labels(outcome, reason)
        stages = Histogram(
            "neardup_stage_seconds",
            "Time of one batch in one stage.",
            ["stage"],
            registry=self._registry,
            buckets=_STAGE_BUCKETS_SECONDS,
        )
        self._stages = {stage: stages.labels(stage) for stage in get_args(Stage)}
        self._candidates = self._counter("candidates", "Candidates found by probes, before verification.")
        rejected = self._counter(
            "rejected_candidates", "Candidates that came to nothing, by reason.", "reason"
        )
        self._rejected = {reason: rejected.labels(reason) for reason in get_args(Rejection)}
        self._cap_hits = self._counter("bucket_cap_hits", "Ranges larger than a probe may read.")
        self._fallbacks = self._counter("charset_fallbacks", "Bodies decoded by detection, not by label.")
        self._frame_tokens = self._counter(
            "frame_tokens", "Tokens in lines that were taken for the frame of their site."
        )
        self._framed_tokens = self._counter("viewed_tokens", "Tokens of pages whose site is known by name.")
        lessons = self._counter(
            "frame_lessons", "Writes of a site's frame table, by what became of them.", "result"
        )
        self._taught, self._dropped_lessons = lessons.labels("taught"), lessons.labels("dropped")
        sites = self._gauge("frame_sites", "Sites whose frame tables this process keeps.", "state")
        self._young_sites, self._settled_sites = sites.labels("young"), sites.labels("settled")
        self._truncated = self._counter("truncated_dead_letters", "Dead letters that were cut to fit.")
        self._dropped = self._counter(
            "dropped_commits", "Partitions whose commit came after they were given away."
        )
        retries = self._counter("retries", "Steps tried again because a dependency was away.", "dependency")
        self._retries = {dependency: retries.labels(dependency) for dependency in get_args(Dependency)}
        self._dependency_errors = self._counter(
            "dependency_errors", "Steps that found a dependency away, by why.", "dependency", "reason"
        )
        for dependency, reasons in _AWAY_REASONS.items():
            for reason in reasons:
                self._dependency_errors.labels(dependency, reason)
        swept = self._counter("swept_records", "Records that retention looked at, by what it did.", "action")
        self._swept = {action: swept.labels(action) for action in get_args(Sweep)}
        self._lag = self._gauge("lag_records", "Records not yet read.", "topic", "partition")
        self._in_flight_pages = self._gauge("in_flight_pages", "Pages between reading and commit.")
        self._in_flight_bytes = self._gauge("in_flight_bytes", "Bytes between reading and commit.")
        self._tasks = self._gauge("event_loop_tasks", "Tasks that have not ended.")
        self._in_flight_count = 0
        self._committed: dict[Partition, int] = {}
        self._ready = self._gauge("ready", "1 while the daemon takes pages, else 0.")
        build = self._gauge("build_info", "Always 1; the labels say what runs.", "version", "python")
        build.labels(__version__, platform.python_version()).set(1)

    def pages(self, count: int, size_bytes: int) -> None:
        """See `PipelineMeters`, here and below."""
        self._pages.inc(count)
        self._page_bytes.inc(size_bytes)

    def outcome(self, outcome: Outcome, count: int, reason: str = "") -> None:
        """Count an outcome, and its reason if it has one."""
        self._outcomes[outcome].inc(count)
        if reason:
            self._reasons.labels(outcome, reason).inc(count)

    def stage_seconds(self, stage: Stage, seconds: float) -> None:
        """Observe one batch."""
        self._stages[stage].observe(seconds)

    def candidates(self, count: int) -> None:
        """Count candidates."""
        self._candidates.inc(count)

    def rejected_candidates(self, reason: Rejection, count: int) -> None:
        """Count what verification dropped."""
        self._rejected[reason].inc(count)

    def bucket_cap_hits(self, count: int) -> None:
        """Count ranges that were cut."""
        self._cap_hits.inc(count)

    def charset_fallbacks(self, count: int) -> None:
        """Count bodies decoded by detection."""
        self._fallbacks.inc(count)

    def frame_tokens(self, frame: int, tokens: int) -> None:
        """Count tokens that were taken out, of all."""
        self._frame_tokens.inc(frame)
        self._framed_tokens.inc(tokens)

    def frame_lessons(self, taught: int, dropped: int) -> None:
        """Count writes of frame tables."""
        self._taught.inc(taught)
        self._dropped_lessons.inc(dropped)

    def frame_sites(self, known: int, settled: int) -> None:
        """Set what is kept, by whether enough pages are counted."""
        self._young_sites.set(known - settled)
        self._settled_sites.set(settled)

    def truncated_dead_letters(self, count: int) -> None:
        """Count dead letters that were cut."""
        self._truncated.inc(count)

    def in_flight(self, pages: int, size_bytes: int) -> None:
        """Set both gauges."""
        self._in_flight_count = pages
        self._in_flight_pages.set(pages)
        self._in_flight_bytes.set(size_bytes)

    def committed(self, next_offsets: Mapping[Partition, int]) -> None:
        """Remember, for `progress`."""
        for partition, offset in next_offsets.items():
            self._committed[Partition(topic_of(partition.input_id), partition.number)] = offset

    def progress(self, lag: Mapping[Partition, int]) -> Progress:
        """How far we have come; `lag` names partitions by their topics."""
        return Progress(lag, dict(self._committed), self._in_flight_count)

    def dropped_commits(self, count: int) -> None:
        """Count commits that came too late."""
        self._dropped.inc(count)

    def retry(self, dependency: Dependency) -> None:
        """Count a repeat."""
        self._retries[dependency].inc()

    def dependency_error(self, dependency: Dependency, reason: str) -> None:
        """Count why a dependency was away."""
        self._dependency_errors.labels(dependency, reason).inc()

    def swept(self, action: Sweep, count: int) -> None:
        """Count what one pass of the sweeper did."""
        self._swept[action].inc(count)

    def lag(self, records: Mapping[Partition, int]) -> None:
        """Set the lag of every partition that is ours; the others' series end."""
        self._lag.clear()
        for partition, count in records.items():
            self._lag.labels(partition.input_id, str(partition.number)).set(count)

    def event_loop_tasks(self, count: int) -> None:
        """Set how many tasks there are."""
        self._tasks.set(count)

    def ready(self, *, ready: bool) -> None:
        """Say whether the daemon takes pages."""
        self._ready.set(ready)

    def outcome_counts(self) -> dict[str, int]:
        """Records by outcome so far, without those that nothing met; they sum to the pages."""
        counts = {
            outcome: self._registry.get_sample_value("neardup_outcomes_total", {"outcome": outcome})
            for outcome in get_args(Outcome)
        }
        return {outcome: int(count) for outcome, count in counts.items() if count}

    def render(self) -> bytes:
        """Everything in the text format that Prometheus scrapes, as `CONTENT_TYPE`."""
        return generate_latest(self._registry)

    def _counter(self, name: str, meaning: str, *labels: str) -> Counter:
        return Counter(f"neardup_{name}_total", meaning, labels, registry=self._registry)

    def _gauge(self, name: str, meaning: str, *labels: str) -> Gauge:
        return Gauge(f"neardup_{name}", meaning, labels, registry=self._registry)
