"""Define the metrics of the query API."""

from typing import Final, get_args

from neardup_daemon.connection_limits import ConnectionEnd
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
        self._waiting = registry.gauge("api_waiting_pages", "Requests that wait for the decision of a page.")
        self._connections = registry.gauge("api_connections", "Open connections, TLS handshakes included.")
        self._ended = registry.counter(
            "api_connections_ended", "Connections that the server ended, by reason.", "reason"
        )
        for reason in get_args(ConnectionEnd):
            self._ended.labels(reason)

    def requests(self, running: int, queued: int) -> None:
        """Set how many requests are worked on, and how many wait."""
        self._running.set(running)
        self._queued.set(queued)

    def waiting_pages(self, count: int) -> None:
        """Set how many requests wait for the decision of a page."""
        self._waiting.set(count)

    def connections(self, count: int) -> None:
        """Set how many connections are open."""
        self._connections.set(count)

    def connection_ended(self, reason: ConnectionEnd) -> None:
        """Count a connection that the server ended."""
        self._ended.labels(reason).inc()

    def answered(self, endpoint: EndpointName, status: int, seconds: float) -> None:
        """Count and observe an answer."""
        self._requests.labels(endpoint, str(status)).inc()
        self._seconds.labels(endpoint).observe(seconds)
