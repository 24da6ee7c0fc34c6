"""Implement transactions over lists, like Kafka's. Faults are items among the sends of its sinks."""

from collections.abc import Mapping, Sequence
from typing import Self

from neardup_stream.errors import StreamUnavailable
from neardup_stream.message import Message, Partition
from neardup_stream.streams.memory.streams import Fail, MemorySink, MemorySource

__all__ = ["MemoryTransactions"]


class MemoryTransactions:
    """Move the committed offsets of a source and fill two sinks, both or neither.

    Args:
        source: whose offsets are committed; two instances that share it fence each other.
        events: the sink of events.
        dead_letters: the sink of dead letters.
    """

    def __init__(self, source: MemorySource, events: MemorySink, dead_letters: MemorySink) -> None:
        self._source = source
        self._events = events
        self._dead_letters = dead_letters
        self._fences: dict[Partition, int] = {}

    async def __aenter__(self) -> Self:
        """Do nothing."""
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Close everything that is open."""
        await self.close()

    async def open(self, partitions: Sequence[Partition]) -> Mapping[Partition, int]:
        """Raise the fence of each."""
        fences = self._source.fences
        for partition in partitions:
            self._fences[partition] = fences[partition] = fences.get(partition, 0) + 1
        return {one: self._source.committed[one] for one in partitions if one in self._source.committed}

    async def deliver(
        self,
        partition: Partition,
        *,
        events: Sequence[Message],
        dead_letters: Sequence[Message],
        next_offset: int,
    ) -> None:
        """Do both, unless a fault or a higher fence prevents it."""
        faults = [await self._events.meet_fault(), await self._dead_letters.meet_fault()]
        fence = self._fences.pop(partition, None)
        if fence is None or fence != self._source.fences[partition]:
            raise StreamUnavailable(f"{partition} is not open, or was opened by another instance")
        if Fail(is_delivered=False) in faults:
            raise StreamUnavailable("a fault before the end of a transaction")
        self._events.messages.extend(events)
        self._dead_letters.messages.extend(dead_letters)
        self._source.committed[partition] = next_offset
        if Fail(is_delivered=True) in faults:
            raise StreamUnavailable("a fault after the end of a transaction")
        self._fences[partition] = fence

    async def close(self) -> None:
        """Close every partition."""
        self._fences.clear()
