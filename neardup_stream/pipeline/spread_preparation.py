"""Prepares the pages of one batch in several worker processes at once."""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import aclosing
from queue import SimpleQueue
from types import TracebackType
from typing import Final, Self

from neardup_stream.chunks import in_chunks
from neardup_stream.errors import DependencyLost
from neardup_stream.frames.table import LineHashes
from neardup_stream.message import Record
from neardup_stream.page import Page
from neardup_stream.pipeline.arrival import Prepared
from neardup_stream.pipeline.column_items import joined
from neardup_stream.pipeline.guarded_preparation import GuardedPreparation

__all__ = ["BATCHES_AT_ONCE", "SpreadPreparation"]

_logger = logging.getLogger(__name__)

BATCHES_AT_ONCE: Final = 3
"""Batches that may be prepared at once: while the loop takes one in, the workers have another, and one more
where the loop is slow to ask."""

_PIECE_RECORDS: Final = 64
"""What a worker is given at once: enough that handing it over costs little."""

_PIECES_AT_ONCE: Final = 3
"""Pieces that each worker has: while it prepares one, the next waits in its socket, and one more while the
answer to the one before waits for a thread, which waits for the interpreter's lock."""

_RECORDS_ALONE: Final = 512
"""The first worker prepares so many records before the others start: a small input ends before they would
have loaded."""


class SpreadPreparation:
    """Spreads each batch over worker processes; a context manager that ends them.

    Args:
        preparations: one for each worker, none of them started. The first one starts with the block, the
            others when the input is long enough.
    """

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
        """See `Prepares`; batches may be prepared at once."""
        self._record_count += len(records)
        if self._record_count > _RECORDS_ALONE:
            self._start_others()
        pieces = [self._threads.submit(self._prepare, piece) for piece in in_chunks(records, _PIECE_RECORDS)]
        return joined([each.result() for each in pieces])

    async def prepared(
        self, batches: AsyncGenerator[Sequence[Record], None]
    ) -> AsyncGenerator[Prepared, None]:
        """Yield each batch, prepared, in the order of the input; `BATCHES_AT_ONCE` are prepared at once.

        Close the generator if it is left early; that closes `batches` too.
        """
        in_flight: deque[asyncio.Task[Prepared]] = deque()
        try:
            async with aclosing(batches):
                async for records in batches:
                    in_flight.append(asyncio.create_task(asyncio.to_thread(self.prepare, records)))
                    if len(in_flight) == BATCHES_AT_ONCE:
                        yield await in_flight.popleft()
            while in_flight:
                yield await in_flight.popleft()
        finally:
            for batch in in_flight:
                batch.cancel()
            await asyncio.gather(*in_flight, return_exceptions=True)

    def lines_outside_landmarks(self, page: Page) -> LineHashes | None:
        """See `ReadsLandmarks`."""
        return self._preparations[0].lines_outside_landmarks(page)

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
