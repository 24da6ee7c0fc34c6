import asyncio

import pytest

from neardup_stream.errors import StreamUnavailable
from neardup_stream.message import Message, Partition
from neardup_stream.streams.memory.streams import End, Fail, MemorySink, MemorySource, Pass, Pause, numbered
from neardup_stream.streams.protocol import EndOfStream

ONE, OTHER = Partition("memory", 0), Partition("memory", 1)
MESSAGES = [Message(key=b"key", value=b"value")]


async def test_a_failing_read_loses_nothing() -> None:
    async with MemorySource([*numbered([b"1"]), Fail(), *numbered([b"2"], first_offset=1)]) as source:
        assert [record.value for record in await source.read(10, 100)] == [b"1"]
        with pytest.raises(StreamUnavailable):
            await source.read(10, 100)
        assert [record.value for record in await source.read(10, 100)] == [b"2"]


async def test_reads_return_nothing_until_the_event_is_set() -> None:
    until = asyncio.Event()
    async with MemorySource([Pause(until), *numbered([b"1"])]) as source:
        assert await source.read(10, 100) == []
        until.set()
        assert [record.value for record in await source.read(10, 100)] == [b"1"]


async def test_behind_an_end_reading_continues_when_opened_again() -> None:
    source = MemorySource([*numbered([b"1"]), End(), *numbered([b"2"], first_offset=1)])

    async with source:
        await source.read(10, 100)
        await source.commit({ONE: 1})
        with pytest.raises(EndOfStream):
            await source.read(10, 100)
    async with source:
        assert [record.value for record in await source.read(10, 100)] == [b"2"]


async def test_a_revoked_partition_is_drained_and_neither_read_nor_committed() -> None:
    drained = []

    async def drain() -> None:
        drained.append(source.lag())
        await source.commit({OTHER: 1})

    async with MemorySource([*numbered([b"1"], partition=ONE), *numbered([b"2"], partition=OTHER)]) as source:
        source.on_revoke(drain)
        await source.revoke(OTHER)

        assert [record.value for record in await source.read(10, 100)] == [b"1"]
        await source.commit({ONE: 1, OTHER: 7})

    assert drained == [{ONE: 1, OTHER: 1}]
    assert source.committed == {ONE: 1, OTHER: 1}
    assert source.dropped_commit_count == 1


async def test_keys_and_null_values_are_numbered_too() -> None:
    record, forget = numbered([b"value", None], keys=[None, b"page"], first_offset=5)

    assert (record.key, record.value, record.position.offset) == (None, b"value", 5)
    assert (forget.key, forget.value, forget.position.offset) == (b"page", None, 6)


@pytest.mark.parametrize(("is_delivered", "count"), [(False, 1), (True, 2)], ids=["before", "after"])
async def test_a_send_fails_before_or_after_delivery(is_delivered: bool, count: int) -> None:  # noqa: FBT001 - a parameter of the table
    async with MemorySink([Pass(), Fail(is_delivered=is_delivered)]) as sink:
        await sink.send(MESSAGES)
        with pytest.raises(StreamUnavailable):
            await sink.send(MESSAGES)

        assert sink.messages == MESSAGES * count


async def test_a_send_waits_at_a_pause() -> None:
    pause = Pause()
    async with MemorySink([pause]) as sink:
        sending = asyncio.create_task(sink.send(MESSAGES))
        await asyncio.sleep(0)
        assert sink.messages == []
        pause.until.set()
        await sending

    assert sink.messages == MESSAGES
