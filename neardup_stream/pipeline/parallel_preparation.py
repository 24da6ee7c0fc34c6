"""Prepares several batches at once, each in a worker process, and returns them in order."""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from types import TracebackType
from typing import Final, Self

from neardup_stream.errors import DependencyLost
from neardup_stream.frames.table import LineHashes
from neardup_stream.message import Record
from neardup_stream.page import Page
from neardup_stream.pipeline.arrival import Prepared
from neardup_stream.pipeline.guarded_preparation import GuardedPreparation

__all__ = ["ParallelPreparation"]

_logger = logging.getLogger(__name__)

_BATCHES_ALONE: Final = 8
"""The first worker prepares so many batches before the others start: a small input ends before they would
have loaded."""


class ParallelPreparation:
    """Spreads batches over worker processes; a context manager.

    Args:
        preparations: one for each worker, the first of them started; the others start when the input is
            long enough.
    """

    def __init__(self, preparations: Sequence[GuardedPreparation]) -> None:
        self._preparations = tuple(preparations)
        self._idle: asyncio.Queue[GuardedPreparation] = asyncio.Queue()
        self._idle.put_nowait(self._preparations[0])
        self._starting: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        """Take over the workers."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End all workers, whatever they do."""
        for preparation in self._preparations:
            preparation.close()
        await asyncio.gather(*self._starting, return_exceptions=True)  # those closed while they started raise

    async def prepared(
        self, batches: AsyncGenerator[Sequence[Record], None]
    ) -> AsyncGenerator[Prepared, None]:
        """Yield each batch, prepared, in the order of the input.

        One batch more than there are workers is in flight. Close the generator if it is left early;
        that closes `batches` too.
        """
        in_flight: deque[asyncio.Task[Prepared]] = deque()
        count = 0
        try:
            async with aclosing(batches):
                async for records in batches:
                    in_flight.append(asyncio.create_task(self._prepare(records)))
                    count += 1
                    if count == _BATCHES_ALONE:
                        self._starting = [
                            asyncio.create_task(self._start(each)) for each in self._preparations[1:]
                        ]
                    self._require_started()
                    if len(in_flight) > len(self._preparations):
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

    async def _prepare(self, records: Sequence[Record]) -> Prepared:
        preparation = await self._idle.get()
        try:
            return await asyncio.to_thread(preparation.prepare, records)
        finally:
            self._idle.put_nowait(preparation)

    async def _start(self, preparation: GuardedPreparation) -> None:
        """Start a worker; the others do its work if the system refuses or kills another process."""
        try:
            await asyncio.to_thread(preparation.start)
        except (OSError, DependencyLost) as error:
            _logger.warning("worker_start_failed", extra={"fields": {"error": str(error)}})
            return
        self._idle.put_nowait(preparation)

    def _require_started(self) -> None:
        """Raise the error of a worker that failed to start."""
        for start in self._starting:
            if start.done():
                start.result()
