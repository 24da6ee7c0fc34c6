"""Configure how the loop of the pipeline paces itself."""

from collections.abc import Callable
from dataclasses import dataclass

from neardup_stream.errors import ConfigError
from neardup_stream.message import Partition
from neardup_stream.pipeline.in_flight import InFlightLimits

__all__ = ["LoopConfig"]


def _is_never_read_again(_partition: Partition) -> bool:
    """Return False: a stream is resumed where it was committed."""
    return False


@dataclass(frozen=True, slots=True)
class LoopConfig:
    """How the loop paces itself.

    Attributes:
        limits: what may be in flight.
        commit_interval_seconds: longest time a finished batch waits for its commit.
        drain_seconds: how long in-flight batches may take to finish when partitions are revoked.
        is_read_again: whether a partition is read from its start again by the next run, if this one is cut
            off, over a store that outlives it. Its decision records are kept until `Loop.end`, so the next
            run publishes the same events again.
    """

    limits: InFlightLimits = InFlightLimits()  # noqa: RUF009 - frozen, so one default serves all
    commit_interval_seconds: float = 1.0
    drain_seconds: float = 20.0
    is_read_again: Callable[[Partition], bool] = _is_never_read_again

    def __post_init__(self) -> None:
        """Refuse negative times.

        Raises:
            ConfigError: a time is negative.
        """
        if self.commit_interval_seconds < 0 or self.drain_seconds < 0:
            raise ConfigError("pipeline.commit_interval_seconds and drain_seconds must not be negative")
