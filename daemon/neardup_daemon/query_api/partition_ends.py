"""Knows which records were published to a topic, by where its partitions end."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from time import monotonic
from typing import Final

from neardup_stream.errors import StreamUnavailable

__all__ = ["PartitionEnds"]

_PAUSE_SECONDS: Final = 1.0
"""Between two readings, each of which opens connections of its own."""

_ANSWER_SECONDS: Final = 5.0


class PartitionEnds:
    """Keeps the ends of partitions, and reads them again for a position that lies behind them.

    Args:
        read_ends: returns the offset behind the last record of each partition.
    """

    def __init__(self, read_ends: Callable[[], Awaitable[Mapping[int, int]]]) -> None:
        self._read_ends = read_ends
        self._ends: Mapping[int, int] = {}
        self._read_at = 0.0
        self._reading = asyncio.Lock()

    async def may_have(self, partition: int, offset: int) -> bool:
        """Return False if there was no such partition or record when it was asked for.

        Requests at the same time share a reading that began after all of them: a record that another process
        has just published is found. Where no broker answers within five seconds, there may be any record.
        """
        if offset < self._ends.get(partition, 0):
            return True
        asked_at = monotonic()
        with suppress(StreamUnavailable, TimeoutError):
            async with asyncio.timeout(_ANSWER_SECONDS), self._reading:
                if self._read_at < asked_at:
                    await self._read()
            return offset < self._ends.get(partition, 0)
        return True

    async def _read(self) -> None:
        await asyncio.sleep(self._read_at + _PAUSE_SECONDS - monotonic())
        read_at = monotonic()
        self._ends, self._read_at = await self._read_ends(), read_at
