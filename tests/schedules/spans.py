"""A tracer of runs, which refuses spans that begin in a trace that has ended."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from neardup_stream.message import Record
from neardup_stream.meters import Stage

__all__ = ["StrictTracer"]


class _StrictTrace:
    """The trace of one batch."""

    def __init__(self) -> None:
        self._open: list[Stage] = []
        self._has_ended = False

    @contextmanager
    def stage(self, stage: Stage) -> Iterator[None]:
        """Hold the span open for the block; an exception ends the trace."""
        assert not self._has_ended, f"{stage} begins in a trace that has ended"
        self._open.append(stage)
        try:
            yield
        except BaseException:
            self._has_ended = True
            raise
        finally:
            self._open.remove(stage)

    def end(self) -> None:
        """End it, once, behind all of its spans."""
        assert not self._open, f"the trace ends before {self._open}"
        assert not self._has_ended, "the trace ends twice"
        self._has_ended = True


class StrictTracer:
    """Begins such traces."""

    def begin(self, records: Sequence[Record]) -> _StrictTrace:
        """Begin one."""
        return _StrictTrace()
