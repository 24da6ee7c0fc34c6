"""What the query API reports of itself."""

from typing import Final, get_args

from neardup_daemon.query_api.endpoints import EndpointName
from neardup_daemon.telemetry.metric_registry import MetricRegistry

__all__ = ["ApiMetrics"]

_BUCKETS_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class ApiMetrics:
    """Counters and gauges of the query API.

    Args:
        registry: holds them.
    """

    def __init__(self, registry: MetricRegistry) -> None:
        self._requests = registry.counter(
            "api_requests", "Requests of the query API that were answered.", "endpoint", "status"
        )
        self._seconds = registry.histogram(
            "api_request_duration_seconds",
            "From the head of a request to its answer.",
            "endpoint",
            buckets=_BUCKETS_SECONDS,
        )
        for endpoint in get_args(EndpointName):
            self._requests.labels(endpoint, "200")
            self._seconds.labels(endpoint)
        self._running = registry.gauge("api_running_requests", "Requests that are worked on.")
        self._queued = registry.gauge("api_queued_requests", "Requests that wait for their turn.")

    def requests(self, running: int, queued: int) -> None:
        """Set how many requests are worked on, and how many wait."""
        self._running.set(running)
        self._queued.set(queued)

    def answered(self, endpoint: EndpointName, status: int, seconds: float) -> None:
        """Count and observe an answer."""
        self._requests.labels(endpoint, str(status)).inc()
        self._seconds.labels(endpoint).observe(seconds)
