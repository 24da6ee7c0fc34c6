"""What transactions promise, as checks that any implementation must pass.

A check takes a stage: an input, two outputs, and as many members of one group as it wants, each with
transactions of its own.
"""

from collections.abc import Sequence
from typing import Protocol

import pytest

from neardup_stream.errors import StreamUnavailable
from neardup_stream.message import Message, Partition
from neardup_stream.streams.transactions import Transactions

__all__ = ["TRANSACTION_CHECKS", "Stage"]


class Stage(Protocol):
    """The input and the sinks of a check. Nothing is committed yet, and nothing sent."""

    @property
    def partitions(self) -> Sequence[Partition]:
        """Two of the input."""
        ...

    def member(self) -> Transactions:
        """Return one more daemon."""
        ...

    async def delivered(self) -> tuple[list[bytes], list[bytes]]:
        """Values of the events, then of the dead letters, that were committed; sorted."""
        ...


def _messages(*values: bytes) -> list[Message]:
    return [Message(key=value, value=value) for value in values]


async def check_messages_and_offset_are_committed_together(stage: Stage) -> None:
    first, _ = stage.partitions
    async with stage.member() as member:
        assert await member.open([first]) == {}
        await member.deliver(
            first, events=_messages(b"a", b"b"), dead_letters=_messages(b"letter"), next_offset=7
        )
    async with stage.member() as member:
        assert await member.open([first]) == {first: 7}

    assert await stage.delivered() == ([b"a", b"b"], [b"letter"])


async def check_transactions_follow_one_another(stage: Stage) -> None:
    first, _ = stage.partitions
    async with stage.member() as member:
        await member.open([first])
        for number in range(1, 6):
            await member.deliver(first, events=_messages(b"%d" % number), dead_letters=(), next_offset=number)
        assert await member.open([first]) == {first: 5}

    assert await stage.delivered() == ([b"1", b"2", b"3", b"4", b"5"], [])


async def check_an_offset_may_be_committed_without_messages(stage: Stage) -> None:
    first, _ = stage.partitions
    async with stage.member() as member:
        await member.open([first])
        await member.deliver(first, events=(), dead_letters=(), next_offset=3)
        assert await member.open([first]) == {first: 3}

    assert await stage.delivered() == ([], [])


async def check_an_open_fences_the_former_owner(stage: Stage) -> None:
    first, _ = stage.partitions
    async with stage.member() as paused, stage.member() as successor:
        await paused.open([first])
        await paused.deliver(first, events=_messages(b"in time"), dead_letters=(), next_offset=1)
        assert await successor.open([first]) == {first: 1}
        with pytest.raises(StreamUnavailable):
            await paused.deliver(first, events=_messages(b"too late"), dead_letters=(), next_offset=9)
        await successor.deliver(first, events=_messages(b"by the successor"), dead_letters=(), next_offset=2)
        assert await successor.open([first]) == {first: 2}

    assert await stage.delivered() == ([b"by the successor", b"in time"], [])


async def check_what_was_fenced_may_be_opened_again(stage: Stage) -> None:
    first, _ = stage.partitions
    async with stage.member() as one, stage.member() as other:
        await one.open([first])
        await other.open([first])
        await other.deliver(first, events=_messages(b"other"), dead_letters=(), next_offset=4)
        with pytest.raises(StreamUnavailable):
            await one.deliver(first, events=_messages(b"lost"), dead_letters=(), next_offset=5)
        assert await one.open([first]) == {first: 4}
        await one.deliver(first, events=_messages(b"one"), dead_letters=(), next_offset=5)

    assert await stage.delivered() == ([b"one", b"other"], [])


async def check_partitions_do_not_fence_each_other(stage: Stage) -> None:
    first, second = stage.partitions
    async with stage.member() as one, stage.member() as other:
        await one.open([first, second])
        await other.open([second])
        with pytest.raises(StreamUnavailable):
            await one.deliver(second, events=_messages(b"lost"), dead_letters=(), next_offset=1)
        await one.deliver(first, events=_messages(b"first"), dead_letters=(), next_offset=1)
        await other.deliver(second, events=_messages(b"second"), dead_letters=(), next_offset=2)
        assert await one.open([first, second]) == {first: 1, second: 2}

    assert await stage.delivered() == ([b"first", b"second"], [])


async def check_nothing_is_delivered_for_a_partition_that_is_not_open(stage: Stage) -> None:
    first, second = stage.partitions
    async with stage.member() as member:
        await member.open([first])
        with pytest.raises(StreamUnavailable):
            await member.deliver(second, events=_messages(b"never opened"), dead_letters=(), next_offset=1)
        await member.close()
        with pytest.raises(StreamUnavailable):
            await member.deliver(first, events=_messages(b"closed"), dead_letters=(), next_offset=1)
        assert await member.open([first, second]) == {}

    assert await stage.delivered() == ([], [])


TRANSACTION_CHECKS = [
    check_messages_and_offset_are_committed_together,
    check_transactions_follow_one_another,
    check_an_offset_may_be_committed_without_messages,
    check_an_open_fences_the_former_owner,
    check_what_was_fenced_may_be_opened_again,
    check_partitions_do_not_fence_each_other,
    check_nothing_is_delivered_for_a_partition_that_is_not_open,
]
"""For every implementation: memory and Kafka."""
