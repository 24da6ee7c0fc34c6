"""The read stage: take records from the source while there is room for them in flight."""

import asyncio
from collections.abc import Sequence
from functools import partial

from neardup_stream.message import Record
from neardup_stream.pipeline.batch import InFlightBatch
from neardup_stream.pipeline.in_flight import InFlight
from neardup_stream.pipeline.offsets import next_offsets
from neardup_stream.pipeline.reading_gate import ReadingGate
from neardup_stream.pipeline.retries import Retries
from neardup_stream.pipeline.stage_task import Reports
from neardup_stream.streams.protocol import EndOfStream, Source
from neardup_stream.traces import Tracer

__all__ = ["Read"]


class Read:
    """Reads batches.

    Args:
        source: opened by its owner.
        in_flight: what is between read and delivery.
        gate: delays reading while it is paused.
        retries: while the source is unavailable.
        reports: receive what is read, and what the stage does.
        tracer: receives the trace of each batch.
    """

    def __init__(
        self,
        source: Source,
        in_flight: InFlight,
        gate: ReadingGate,
        retries: Retries,
        reports: Reports,
        tracer: Tracer,
    ) -> None:
        self._source = source
        self._in_flight = in_flight
        self._gate = gate
        self._retries = retries
        self._reports = reports
        self._meters = reports.meters
        self._tracer = tracer
        self._may_read = asyncio.Event()
        self._may_read.set()
        self._membership = 0

    def pause(self) -> None:
        """Read nothing until `resume`: partitions are about to be revoked."""
        self._may_read.clear()

    def end_membership(self) -> None:
        """Count that partitions are revoked: what was read before is not ours to commit any more."""
        self._membership += 1

    def resume(self) -> None:
        """Read again."""
        self._may_read.set()

    def is_current(self, batch: InFlightBatch) -> bool:
        """Return whether no partitions have been revoked since a batch was read."""
        return batch.membership == self._membership

    async def next_batch(self, stop: asyncio.Event) -> InFlightBatch | None:
        """Return the next batch, counted as in flight; None once the source has ended or `stop` is set.

        Raises:
            DependencyLost: the source stayed unavailable.
        """
        while not stop.is_set():
            self._meters.activity("read", "waiting_for_output")
            await self._gate.wait(stop)
            await self._may_read.wait()
            pages, size_bytes = await self._in_flight.wait_for_room()
            self._meters.activity("read", "waiting_for_input")
            self._reports.reach("before", ("read",))
            try:
                records = await self._retries.retry(partial(self._read_unless, stop, pages, size_bytes))
            except EndOfStream:
                return None
            if records:
                self._reports.reach("after", ("read",))
                return self._begin(records)
        return None

    def _begin(self, records: Sequence[Record]) -> InFlightBatch:
        size_bytes = sum(record.size_bytes for record in records)
        trace = self._tracer.begin(records)
        self._in_flight.add(len(records), size_bytes)
        self._meters.read(records)
        return InFlightBatch(
            records, len(records), size_bytes, next_offsets(records), self._membership, trace
        )

    async def _read_unless(self, stop: asyncio.Event, pages: int, size_bytes: int) -> Sequence[Record]:
        """Return the next records; none once asked to stop, even while the source is unavailable."""
        return () if stop.is_set() else await self._source.read(pages, size_bytes)
