"""Define the metrics of retention: what it does, its schedule, and how long reading waits for it."""

from typing import get_args

from neardup_daemon.telemetry.metric_registry import MetricRegistry
from neardup_stream.pipeline.retention import Sweep

__all__ = ["SweepMetrics"]


class SweepMetrics:
    """Counts and gauges of one daemon's sweeps; see docs/operations.md.

    Args:
        registry: where they are registered.
    """

    def __init__(self, registry: MetricRegistry) -> None:
        counter, gauge = registry.counter, registry.gauge
        swept = counter("swept_records", "Records that retention looked at, by what it did.", "action")
        self._swept = {action: swept.labels(action) for action in get_args(Sweep)}
        self._round = gauge("sweep_round_seconds", "How long retention takes to look at every record.")
        self._overdue = gauge(
            "sweep_overdue_seconds", "By how much the latest page that retention removed was late."
        )
        self._lag = gauge("sweep_lag_seconds", "How far retention is behind its schedule.")
        self._in_flight = gauge("sweeps_in_flight", "Sweeps of slots in flight.")
        self._reading_waited = counter("reading_paused_seconds", "Seconds that reading waited for retention.")
        self._clock_offset = gauge("clock_offset_seconds", "How far this host's clock is ahead of Redis.")

    def swept(self, action: Sweep, count: int) -> None:
        """Count what one pass of the sweeper did."""
        self._swept[action].inc(count)

    def sweep_pace(self, round_seconds: float, overdue_seconds: float) -> None:
        """Set how long a round takes, and by how much the latest page of the last pass was late."""
        self._round.set(round_seconds)
        self._overdue.set(overdue_seconds)

    def sweep_lag(self, lag_seconds: float, in_flight: int) -> None:
        """Set how far retention is behind its schedule, and how many sweeps are in flight."""
        self._lag.set(lag_seconds)
        self._in_flight.set(in_flight)

    def reading_waited(self, seconds: float) -> None:
        """Count for how long a batch was not read."""
        self._reading_waited.inc(seconds)

    def clock_offset(self, seconds: float) -> None:
        """Set how far this host's clock is ahead of Redis."""
        self._clock_offset.set(seconds)
