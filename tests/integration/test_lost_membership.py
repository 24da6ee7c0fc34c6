"""A broker accepts commits without a member id while a group is empty, so a removed member must send none."""

import asyncio
from collections.abc import Mapping, Sequence

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.protocol.group import LeaveGroupRequest

from neardup_stream.message import Partition
from neardup_stream.streams.kafka.source import KafkaSource
from neardup_stream.streams.kafka.start_offsets import NoHistory
from tests.kafka_topics import WAIT_SECONDS, DroppedCommits, MakeTopic, Topic, read_until_assigned


async def test_a_member_that_was_thrown_out_takes_no_offset_back(make_topic: MakeTopic) -> None:
    """Others finished what it had, and left; it drains late, while the group is empty."""
    topic, dropped = make_topic(), DroppedCommits()
    await topic.fill([b"value"] * 10)
    is_drained = asyncio.Event()
    async with topic.source(meters=dropped) as source:

        async def drain() -> None:
            await commit_without_membership(topic, 8)
            await source.commit({Partition(topic.name, 0): 5})
            is_drained.set()

        source.on_revoke(drain)
        await read_until_assigned(source, 10)
        await throw_out(source)
        async with asyncio.timeout(WAIT_SECONDS):
            while not is_drained.is_set():
                await source.read(100, 1 << 20)

        assert dropped.count == 1
    assert await committed(topic) == 8


class SlowHistory(NoHistory):
    """Returns the first witnesses only once the event is set."""

    def __init__(self) -> None:
        self.is_asked = asyncio.Event()
        self.may_return = asyncio.Event()

    async def witnesses(self, partitions: Sequence[Partition]) -> Mapping[Partition, str]:
        if not self.is_asked.is_set():
            self.is_asked.set()
            await self.may_return.wait()
        return await super().witnesses(partitions)


async def test_a_note_begun_in_one_generation_is_not_written_in_the_next(make_topic: MakeTopic) -> None:
    """Redis answers late: the offset of the note is from before, and the records were read again."""
    topic, dropped = make_topic(), DroppedCommits()
    await topic.fill([b"value"] * 10)
    partition, history = Partition(topic.name, 0), SlowHistory()
    history.is_asked.set()  # the first commit, of where the partition begins, is not slow
    async with topic.source(history=history, meters=dropped) as source:
        await read_until_assigned(source, 10)
        history.is_asked.clear()
        noting = asyncio.create_task(source.note_decided({partition: 10}))
        await history.is_asked.wait()
        await throw_out(source)
        async with asyncio.timeout(WAIT_SECONDS):
            while not await source.read(100, 1 << 20):
                pass
        assert await source.commit({partition: 10}) == {partition: 10}
        history.may_return.set()

        assert await noting == set()
        assert dropped.count == 1
    assert await committed(topic) == 10


async def throw_out(source: KafkaSource) -> None:
    """Make the broker forget the member, as when its session has ended."""
    assert source._consumer is not None
    coordinator = source._consumer._coordinator
    await coordinator._send_req(LeaveGroupRequest(coordinator.group_id, coordinator.member_id))


def outsider(topic: Topic) -> AIOKafkaConsumer:
    """Return a consumer with the group's offsets that is no member of it."""
    return AIOKafkaConsumer(
        bootstrap_servers=topic.connection.bootstrap_servers,
        group_id=topic.source()._config.group_id,
        enable_auto_commit=False,
    )


async def commit_without_membership(topic: Topic, offset: int) -> None:
    one = TopicPartition(topic.name, 0)
    async with outsider(topic) as consumer:
        consumer.assign([one])
        await consumer.commit({one: offset})


async def committed(topic: Topic) -> int | None:
    async with outsider(topic) as consumer:
        found: int | None = await consumer.committed(TopicPartition(topic.name, 0))
        return found
