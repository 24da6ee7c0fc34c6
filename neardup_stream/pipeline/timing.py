"""Times the steps of stages."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

from neardup_stream.meters import PipelineMeters, Step

__all__ = ["timed"]


@contextmanager
def timed(meters: PipelineMeters, step: Step) -> Iterator[None]:
    """Report how long a step took, also when it fails."""
    start = perf_counter()
    try:
        yield
    finally:
        meters.step_seconds(step, perf_counter() - start)
