"""Count where the stages of the loop spend their time, as a Prometheus collector exact at every scrape."""

from collections.abc import Callable, Iterator
from time import perf_counter
from typing import get_args

from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from neardup_daemon.telemetry.metric_registry import PREFIX
from neardup_stream.meters import Activity, Stage

__all__ = ["StageTimes"]


class StageTimes(Collector):
    """Add up the seconds of each stage by activity; an activity that continues counts up to now.

    Args:
        now_seconds: any clock that only grows.
    """

    def __init__(self, now_seconds: Callable[[], float] = perf_counter) -> None:
        self._now_seconds = now_seconds
        self._seconds = {
            (stage, activity): 0.0 for stage in get_args(Stage) for activity in get_args(Activity)
        }
        self._current: dict[Stage, tuple[Activity, float]] = {}

    def switch(self, stage: Stage, activity: Activity) -> None:
        """`stage` does this from now on."""
        now = self._now_seconds()
        self._add_current(stage, now)
        self._current[stage] = (activity, now)

    def collect(self) -> Iterator[CounterMetricFamily]:
        """Yield the seconds up to now."""
        now = self._now_seconds()
        for stage, (activity, _) in self._current.items():
            self._add_current(stage, now)
            self._current[stage] = (activity, now)
        family = CounterMetricFamily(
            f"{PREFIX}stage_time_seconds",
            "Seconds of each stage by what it did.",
            labels=["stage", "activity"],
        )
        for labels, seconds in self._seconds.items():
            family.add_metric(labels, seconds)
        yield family

    def _add_current(self, stage: Stage, now: float) -> None:
        if stage in self._current:
            activity, since = self._current[stage]
            self._seconds[stage, activity] += now - since
