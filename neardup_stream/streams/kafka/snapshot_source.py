"""Read a topic as a finite source: what is retained of it, up to given offsets, for a recovery."""

from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from time import time
from typing import Protocol, Self

from neardup_stream.errors import StreamUnavailable
from neardup_stream.message import Partition, Record
from neardup_stream.streams.buffer import take_records
from neardup_stream.streams.finite import FiniteSource
from neardup_stream.streams.protocol import EndOfStream

__all__ = ["SnapshotSource"]


class _Snapshot(Protocol):
    def records(self) -> AsyncIterator[Sequence[Record]]:
        """See `TopicSnapshot`."""
        ...


class SnapshotSource(FiniteSource):
    """Read a snapshot to the given offsets.

    Args:
        snapshot: opened by its owner, and read here alone.
        ends: by partition, the offset below which records are read; of other partitions none are.
        on_records: called with the number of records read; or None.
        now_seconds: the clock, epoch seconds.

    Attributes:
        timestamp_seconds: the latest timestamp of a record that was read, but never after the clock's time:
            epoch seconds.
        record_count: how many were read.
    """

    def __init__(
        self,
        snapshot: _Snapshot,
        ends: Mapping[Partition, int],
        on_records: Callable[[int], None] | None = None,
        now_seconds: Callable[[], float] = time,
    ) -> None:
        self.timestamp_seconds = 0.0
        self.record_count = 0
        self._ends = ends
        self._on_records = on_records
        self._now_seconds = now_seconds
        self._snapshot = snapshot
        self._batches: AsyncIterator[Sequence[Record]] = snapshot.records()
        self._ready: deque[Record] = deque()

    async def __aenter__(self) -> Self:
        """Do nothing."""
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Do nothing."""

    async def read(self, max_records: int, max_bytes: int) -> Sequence[Record]:
        """Return the next records below the ends.

        Raises:
            EndOfStream: all were read.
            StreamUnavailable: no broker answers; calling again continues where this one ended.
            ConfigError: access is denied.
        """
        while not self._ready:
            try:
                batch = await anext(self._batches)
            except StopAsyncIteration:
                raise EndOfStream from None
            except StreamUnavailable:
                self._batches = self._snapshot.records()  # an iterator that has raised is at its end
                raise
            self._ready.extend(
                record
                for record in batch
                if record.position.offset < self._ends.get(record.position.partition, 0)
            )
        records = take_records(self._ready, max_records, max_bytes)
        self.record_count += len(records)
        if self._on_records is not None:
            self._on_records(self.record_count)
        latest_ms = max(record.timestamp_ms for record in records)
        self.timestamp_seconds = max(self.timestamp_seconds, min(latest_ms / 1000, self._now_seconds()))
        return records
