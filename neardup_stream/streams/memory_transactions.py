"""Transactions over lists: the twin of Kafka's, with faults in band.

MemoryTransactions(source, events, dead_letters, faults=[Pass(), Fail(is_delivered=True)])
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Self

from neardup_stream.errors import StreamUnavailable
from neardup_stream.message import Message, Partition
from neardup_stream.streams.memory import Fail, MemorySink, MemorySource, Pass, Pause

__all__ = ["MemoryTransactions"]


class MemoryTransactions:
    """Moves the committed offsets of a source and fills two sinks, both or neither.

    Args:
        source: whose offsets are committed.
        events: where events go.
        dead_letters: where dead letters go.
        faults: what meets the deliveries, in turn; afterwards every one passes.

    Attributes:
        delivered_count: transactions that were committed.
    """

    def __init__(
        self,
        source: MemorySource,
        events: MemorySink,
        dead_letters: MemorySink,
        faults: Iterable[Pass | Fail | Pause] = (),
    ) -> None:
        self._source = source
        self._events = events
        self._dead_letters = dead_letters
        self._faults = deque(faults)
        self._epochs: dict[Partition, int] = {}
        self.delivered_count = 0

    async def __aenter__(self) -> Self:
        """Nothing to open."""
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Close what is open."""
        await self.close()

    async def open(self, partitions: Sequence[Partition]) -> Mapping[Partition, int]:
        """Take the next epoch of each."""
        for partition in partitions:
            self._epochs[partition] = self._source.fences.get(partition, 0) + 1
            self._source.fences[partition] = self._epochs[partition]
        return {one: self._source.committed[one] for one in partitions if one in self._source.committed}

    async def deliver(
        self,
        partition: Partition,
        *,
        events: Sequence[Message],
        dead_letters: Sequence[Message],
        next_offset: int,
    ) -> None:
        """Do both, unless a fault or a later epoch stands in the way."""
        epoch = self._epochs.pop(partition, None)
        fault = self._faults.popleft() if self._faults else Pass()
        if isinstance(fault, Pause):
            await fault.until.wait()
        if epoch is None or epoch != self._source.fences[partition]:
            raise StreamUnavailable(f"{partition} is not open, or was opened by another")
        if fault != Fail(is_delivered=False):
            self._events.messages.extend(events)
            self._dead_letters.messages.extend(dead_letters)
            self._source.committed[partition] = next_offset
            self.delivered_count += 1
        if isinstance(fault, Fail):
            raise StreamUnavailable("a fault among the transactions")
        self._epochs[partition] = epoch

    async def close(self) -> None:
        """Deliver for nobody."""
        self._epochs.clear()
