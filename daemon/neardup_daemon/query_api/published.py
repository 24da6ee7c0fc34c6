"""Knows which records were published to a topic, by where its partitions end."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from time import monotonic

__all__ = ["Published"]


class Published:
    """Keeps the ends of partitions, and reads them again for a position that lies behind them.

    Args:
        read_ends: returns the offset behind the last record of each partition.
    """

    def __init__(self, read_ends: Callable[[], Awaitable[Mapping[int, int]]]) -> None:
        self._read_ends = read_ends
        self._ends: Mapping[int, int] = {}
        self._read_at = 0.0
        self._reading = asyncio.Lock()

    async def has(self, partition: int, offset: int) -> bool:
        """Return whether there is this partition, and it has this record, or had it when it was asked for.

        Requests at the same time share a reading that began after all of them: a record that another process
        has just published is found.
        """
        if offset < self._ends.get(partition, 0):
            return True
        asked_at = monotonic()
        async with self._reading:
            if self._read_at < asked_at:
                read_at = monotonic()
                self._ends, self._read_at = await self._read_ends(), read_at
        return offset < self._ends.get(partition, 0)
