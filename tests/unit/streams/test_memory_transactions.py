from collections.abc import Awaitable, Callable, Sequence

import pytest

from neardup_stream.errors import StreamUnavailable
from neardup_stream.message import Message, Partition
from neardup_stream.streams.memory.streams import Fail, MemorySink, MemorySource
from tests.contracts.transactions import TRANSACTION_CHECKS, Stage
from tests.doubles.transactions import MemoryTransactions

PARTITIONS = (Partition("memory", 0), Partition("memory", 1))


class MemoryStage:
    """Members that share a source and two sinks."""

    partitions: Sequence[Partition] = PARTITIONS

    def __init__(self, faults: Sequence[Fail] = ()) -> None:
        self.source = MemorySource([])
        self._events, self._dead_letters = MemorySink(faults), MemorySink()

    def member(self) -> MemoryTransactions:
        return MemoryTransactions(self.source, self._events, self._dead_letters)

    async def delivered(self) -> tuple[list[bytes], list[bytes]]:
        events, letters = (
            sorted(message.value or b"" for message in sink.messages)
            for sink in (self._events, self._dead_letters)
        )
        return events, letters


@pytest.mark.parametrize("check", TRANSACTION_CHECKS)
async def test_memory(check: Callable[[Stage], Awaitable[None]]) -> None:
    await check(MemoryStage())


@pytest.mark.parametrize("is_delivered", [False, True], ids=["cut before its end", "its answer lost"])
async def test_a_fault_leaves_all_or_nothing_and_the_partition_closed(*, is_delivered: bool) -> None:
    stage = MemoryStage([Fail(is_delivered)])
    first, _ = PARTITIONS
    async with stage.member() as member:
        await member.open([first])
        for _ in range(2):  # the second time it is not open
            with pytest.raises(StreamUnavailable):
                await member.deliver(
                    first, events=[Message(key=b"k", value=b"v")], dead_letters=(), next_offset=1
                )
        assert await member.open([first]) == ({first: 1} if is_delivered else {})

    assert await stage.delivered() == ([b"v"] if is_delivered else [], [])
