"""Prepares the pages of one batch in several worker processes at once."""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import aclosing
from queue import SimpleQueue
from types import TracebackType
from typing import Final, NamedTuple, Self

from neardup_stream.chunks import in_chunks
from neardup_stream.errors import DependencyLost
from neardup_stream.frames.table import LineHashes
from neardup_stream.message import Record
from neardup_stream.page import Page
from neardup_stream.pipeline.arrival import Prepared
from neardup_stream.pipeline.column_items import joined
from neardup_stream.pipeline.guarded_preparation import GuardedPreparation

__all__ = ["SpreadPreparation"]

_logger = logging.getLogger(__name__)

_PIECE_RECORDS: Final = 64
"""What a worker is given at once: enough that handing it over costs little."""

_PIECE_BYTES: Final = 4 << 20
"""A batch of larger pages counts as more pieces than it is in, so that the memory of what is in flight is
bounded by the number of workers."""

_PIECES_AT_ONCE: Final = 3
"""Pieces that each worker has: while it prepares one, the next waits in its socket, and one more while the
answer to the one before waits for a thread, which waits for the interpreter's lock."""

_RECORDS_ALONE: Final = 512
"""The first worker prepares so many records before the others start: a small input ends before they would
have loaded."""


class _Batch(NamedTuple):
    """What is prepared of a batch, and as how many pieces it counts."""

    pieces: Sequence[Future[Prepared]]
    piece_count: int


class SpreadPreparation:
    """Spreads each batch over worker processes; a context manager that ends them.

    Args:
        preparations: one for each worker, none of them started. The first one starts with the block, the
            others when the input is long enough.
    """

    batches_at_once: Final = 3
    """While the loop takes one in, the workers have another, and one more where the loop is slow to ask."""

    def __init__(self, preparations: Sequence[GuardedPreparation]) -> None:
        self._preparations = tuple(preparations)
        self._threads = ThreadPoolExecutor(_PIECES_AT_ONCE * len(preparations), "prepare")
        self._idle: SimpleQueue[GuardedPreparation] = SimpleQueue()
        self._waiting = iter(self._preparations)
        self._starting: list[Future[None]] = []
        self._record_count = 0

    def __enter__(self) -> Self:
        """Begin to start the first worker."""
        self._starting.append(self._threads.submit(self._start, next(self._waiting)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End all workers, whatever they do."""
        self._waiting = iter(())
        for preparation in self._preparations:
            preparation.close()
        self._threads.shutdown()

    def wait_until_ready(self) -> None:
        """Return once the first worker has started; to be called before anything is prepared.

        Raises:
            InvariantBroken: it did not start.
            OSError: the system refuses another process.
        """
        self._starting[0].result()

    def prepare(self, records: Sequence[Record]) -> Prepared:
        """See `Prepares`."""
        return joined([piece.result() for piece in self._begin(records)])

    async def prepared(
        self, batches: AsyncGenerator[Sequence[Record], None]
    ) -> AsyncGenerator[Prepared, None]:
        """Yield each batch, prepared, in the order of the input.

        So many are prepared at once that all workers have pieces, but at least `batches_at_once`. A batch
        without records says that the input is silent: neither it nor those before it wait for more. Close the
        generator if it is left early; that closes `batches` too.
        """
        in_flight: deque[_Batch] = deque()
        try:
            async with aclosing(batches):
                async for records in batches:
                    pieces = self._begin(records)
                    in_flight.append(_Batch(pieces, max(len(pieces), _size_bytes(records) // _PIECE_BYTES)))
                    while in_flight and (not records or self._are_enough(in_flight)):
                        yield await _first(in_flight)
            while in_flight:
                yield await _first(in_flight)
        finally:
            for batch in in_flight:
                for piece in batch.pieces:
                    piece.cancel()

    def lines_outside_landmarks(self, page: Page) -> LineHashes | None:
        """See `ReadsLandmarks`."""
        return self._preparations[0].lines_outside_landmarks(page)

    def _are_enough(self, batches: Collection[_Batch]) -> bool:
        piece_count = sum(batch.piece_count for batch in batches)
        wanted_count = _PIECES_AT_ONCE * len(self._preparations)
        return len(batches) >= self.batches_at_once and piece_count >= wanted_count

    def _begin(self, records: Sequence[Record]) -> list[Future[Prepared]]:
        """Give the records to the workers, in pieces; start the other workers if the input is long enough."""
        self._record_count += len(records)
        if self._record_count > _RECORDS_ALONE:
            self._start_others()
        return [self._threads.submit(self._prepare, piece) for piece in in_chunks(records, _PIECE_RECORDS)]

    def _prepare(self, records: Sequence[Record]) -> Prepared:
        preparation = self._idle.get()
        try:
            return preparation.prepare(records)
        finally:
            self._idle.put(preparation)

    def _start_others(self) -> None:
        """Start the workers that wait; raise the error of one that failed to start."""
        for preparation in self._waiting:  # which other threads may iterate over too: each gets others
            self._starting.append(self._threads.submit(self._start_another, preparation))
        for start in self._starting:
            if start.done():
                start.result()

    def _start(self, preparation: GuardedPreparation) -> None:
        preparation.start()
        for _ in range(_PIECES_AT_ONCE):
            self._idle.put(preparation)

    def _start_another(self, preparation: GuardedPreparation) -> None:
        """Start a worker; the others do its work if the system refuses or kills another process."""
        try:
            self._start(preparation)
        except (OSError, DependencyLost) as error:
            _logger.warning("worker_start_failed", extra={"fields": {"error": str(error)}})


async def _first(batches: deque[_Batch]) -> Prepared:
    """Take out the first batch, once it is prepared."""
    prepared = joined([await asyncio.wrap_future(piece) for piece in batches[0].pieces])
    batches.popleft()
    return prepared


def _size_bytes(records: Sequence[Record]) -> int:
    """Return the bytes of the values."""
    return sum(len(record.value) for record in records if record.value)
