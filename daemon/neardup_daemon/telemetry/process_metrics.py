"""Define the metrics of the process itself: state, versions, limits in force, its event loop."""

import platform
from collections.abc import Mapping
from typing import Final, Literal, get_args

from neardup_daemon.settings.settings import Settings
from neardup_daemon.telemetry.metric_registry import MetricRegistry
from neardup_stream.version import __version__

__all__ = ["ProcessMetrics", "State"]

State = Literal["starting", "ready", "degraded", "stalled", "draining", "stopped"]
"""How a daemon is; `daemon/neardup_daemon/health.py` draws the transitions."""

_DELAY_BUCKETS_SECONDS: Final = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


class ProcessMetrics:
    """Gauges and histograms of one process."""

    def __init__(self, registry: MetricRegistry) -> None:
        self._ready = registry.gauge("ready", "1 while the daemon reads pages, else 0.")
        states = registry.gauge("state", "1 for the state the daemon is in, 0 for the others.", "state")
        self._states = {state: states.labels(state) for state in get_args(State)}
        self._tasks = registry.gauge("event_loop_tasks", "Tasks that have not ended.")
        self._delay = registry.histogram(
            "event_loop_delay_seconds",
            "How late the event loop wakes a sleeping task.",
            buckets=_DELAY_BUCKETS_SECONDS,
        )
        self._limits = registry.gauge("limit", "Limits in force, by the setting that sets them.", "setting")
        self._service = registry.gauge(
            "service_info",
            "Always 1; the labels say what the daemon works on.",
            *("namespace", "group_id", "pages_topic", "delivery", "schema"),
        )
        build = registry.gauge("build_info", "Always 1; the labels say what runs.", "version", "python")
        build.labels(__version__, platform.python_version()).set(1)
        self.state("starting")

    def state(self, state: State) -> None:
        """Set the state."""
        for each, gauge in self._states.items():
            gauge.set(each == state)
        self._ready.set(state == "ready")

    def settings(self, settings: Settings) -> None:
        """Export the limits in force."""
        for setting, value in _limits(settings).items():
            self._limits.labels(setting).set(value)

    def service(self, settings: Settings, schema_id: str) -> None:
        """Export what the daemon works on, once its index is open."""
        kafka = settings.kafka
        labels = (settings.redis.namespace, kafka.group_id, kafka.pages_topic, kafka.delivery, schema_id)
        self._service.labels(*labels).set(1)

    def event_loop_tasks(self, count: int) -> None:
        """Set how many tasks there are."""
        self._tasks.set(count)

    def event_loop_delay(self, seconds: float) -> None:
        """Observe how late a sleep ended."""
        self._delay.observe(seconds)


def _limits(settings: Settings) -> Mapping[str, float]:
    pipeline, index, limits = settings.pipeline, settings.index, settings.limits
    return {
        "pipeline.max_in_flight_pages": pipeline.max_in_flight_pages,
        "pipeline.max_in_flight_bytes": pipeline.max_in_flight_bytes,
        "pipeline.stall_seconds": pipeline.stall_seconds,
        "pipeline.retry_deadline_seconds": pipeline.retry_deadline_seconds,
        "index.expected_pages": index.expected_pages,
        "index.bucket_cap": index.bucket_cap,
        "limits.max_page_bytes": limits.max_page_bytes,
        "retention.seconds": settings.retention.seconds,
        "api.max_connections": settings.api.max_connections,
        "api.head_timeout_seconds": settings.api.head_timeout_seconds,
        "api.idle_timeout_seconds": settings.api.idle_timeout_seconds,
        "api.max_body_bytes": settings.api.max_body_bytes,
        "api.max_concurrent_requests": settings.api.max_concurrent_requests,
        "api.max_threads": settings.api.max_threads,
        "api.max_queued_requests": settings.api.max_queued_requests,
        "api.max_waiting_pages": settings.api.max_waiting_pages,
    }
