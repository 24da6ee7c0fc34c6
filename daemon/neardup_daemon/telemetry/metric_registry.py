"""Create our metrics under one prefix, on a registry of their own."""

from collections.abc import Sequence
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)

__all__ = ["PREFIX", "MetricRegistry"]

PREFIX: Final = "neardup_"
"""Every name of ours begins with it."""


class MetricRegistry:
    """Makes metrics; holds them and those of the process.

    Attributes:
        prometheus: what the HTTP handler reads.
    """

    def __init__(self) -> None:
        # Otherwise every counter has a gauge with its time of creation beside it.
        disable_created_metrics()  # type: ignore[no-untyped-call] # it has no annotations
        self.prometheus = CollectorRegistry()
        ProcessCollector(registry=self.prometheus)

    def counter(self, name: str, meaning: str, *labels: str) -> Counter:
        """Create a counter; `name` without prefix and without `_total`."""
        return Counter(f"{PREFIX}{name}_total", meaning, labels, registry=self.prometheus)

    def gauge(self, name: str, meaning: str, *labels: str) -> Gauge:
        """Create a gauge; `name` without prefix."""
        return Gauge(f"{PREFIX}{name}", meaning, labels, registry=self.prometheus)

    def histogram(self, name: str, meaning: str, *labels: str, buckets: Sequence[float]) -> Histogram:
        """Create a histogram; `name` without prefix."""
        return Histogram(f"{PREFIX}{name}", meaning, labels, registry=self.prometheus, buckets=buckets)

    def render(self) -> bytes:
        """Everything in Prometheus' text format."""
        return generate_latest(self.prometheus)
