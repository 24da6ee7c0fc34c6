"""Transactions on the real broker, read by consumers that read committed and by those that do not."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from neardup_stream.errors import ConfigError, StreamUnavailable
from neardup_stream.message import Message, Partition
from neardup_stream.streams.kafka.config import (
    KafkaConnection,
    KafkaSinkConfig,
    KafkaSourceConfig,
    OutOfRange,
)
from neardup_stream.streams.kafka.producers import discard_producer, largest_message_bytes, open_producer
from neardup_stream.streams.kafka.source import KafkaSource
from neardup_stream.streams.kafka.topic_limits import TopicLimit
from neardup_stream.streams.kafka.transactions import KafkaTransactions, KafkaTransactionsConfig
from tests.contracts.transactions import TRANSACTION_CHECKS, Stage
from tests.kafka_topics import WAIT_SECONDS
from tests.servers.kafka import KafkaBroker

REQUEST_BYTES = 100_000
LARGEST_BYTES = largest_message_bytes(REQUEST_BYTES)


@dataclass
class KafkaStage:
    """Topics and a group of this test's own."""

    broker: KafkaBroker
    prefix: str
    request_timeout_seconds: float = 15

    def create_topics(self) -> None:
        counts = {"pages": 2, "events": 3, "letters": 1}
        self.broker.create_topics({f"{self.prefix}-{name}": count for name, count in counts.items()})

    @property
    def partitions(self) -> Sequence[Partition]:
        return [Partition(f"{self.prefix}-pages", number) for number in range(2)]

    @property
    def connection(self) -> KafkaConnection:
        return KafkaConnection(
            bootstrap_servers=self.broker.bootstrap_servers,
            request_timeout_seconds=self.request_timeout_seconds,
        )

    @property
    def config(self) -> KafkaTransactionsConfig:
        return KafkaTransactionsConfig(
            events=self.limit("events"),
            dead_letters=self.limit("letters"),
            group_id=f"{self.prefix}-group",
        )

    def member(self) -> KafkaTransactions:
        return KafkaTransactions(self.config)

    def limit(self, topic: str) -> TopicLimit:
        return TopicLimit(
            KafkaSinkConfig(
                connection=self.connection, topic=f"{self.prefix}-{topic}", max_request_bytes=REQUEST_BYTES
            )
        )

    def source(self, out_of_range: OutOfRange = "fail") -> KafkaSource:
        return KafkaSource(
            KafkaSourceConfig(
                connection=self.connection,
                topics=(f"{self.prefix}-pages",),
                group_id=f"{self.prefix}-group",
                out_of_range=out_of_range,
            )
        )

    async def delivered(self) -> tuple[list[bytes], list[bytes]]:
        return await self.read("events"), await self.read("letters")

    async def read(
        self, topic: str, isolation_level: str = "read_committed", *, is_open: bool = False
    ) -> list[bytes]:
        """Values in a topic, sorted; those of a transaction that is committed once its markers are written.

        With `is_open` up to the start of a transaction that is neither committed nor aborted.
        """
        name = f"{self.prefix}-{topic}"
        partitions = [TopicPartition(name, number) for number in range({"events": 3, "letters": 1}[topic])]
        servers = self.broker.bootstrap_servers
        async with AIOKafkaConsumer(bootstrap_servers=servers) as uncommitted:
            await uncommitted._client.force_metadata_update()
            ends = await uncommitted.end_offsets(partitions)
        async with AIOKafkaConsumer(bootstrap_servers=servers, isolation_level=isolation_level) as consumer:
            await consumer._client.force_metadata_update()
            if is_open:
                ends = await consumer.end_offsets(partitions)
            consumer.assign(partitions)
            await consumer.seek_to_beginning(*partitions)
            values: list[bytes] = []
            while any([await consumer.position(one) < ends[one] for one in partitions]):
                for records in (await consumer.getmany(timeout_ms=100)).values():
                    values.extend(record.value for record in records)
        return sorted(values)


@pytest.fixture
async def stage(kafka_broker: KafkaBroker, topic_prefix: str) -> KafkaStage:
    stage = KafkaStage(kafka_broker, topic_prefix)
    stage.create_topics()
    async with stage.member() as member:
        await _opened(member, stage.partitions)  # a broker that never had a group must first make room for it
    return stage


@pytest.mark.parametrize("check", TRANSACTION_CHECKS)
async def test_kafka(check: Callable[[Stage], Awaitable[None]], stage: KafkaStage) -> None:
    await check(stage)


async def test_what_a_paused_process_sent_is_there_for_those_who_read_uncommitted_only(
    stage: KafkaStage,
) -> None:
    first, _ = stage.partitions
    paused = await open_producer(stage.config.producer_options(first), stage.connection)
    try:
        async with stage.member() as successor:
            await paused.begin_transaction()
            await paused.send_and_wait(f"{stage.prefix}-events", b"half")
            assert await stage.read("events", is_open=True) == []

            await successor.open([first])  # which cuts it
            await successor.deliver(
                first, events=[Message(key=b"k", value=b"whole")], dead_letters=(), next_offset=1
            )
    finally:
        await discard_producer(paused)

    assert await stage.read("events") == [b"whole"]
    assert await stage.read("events", "read_uncommitted") == [b"half", b"whole"]


async def test_a_message_that_is_too_large_is_found_before_anything_is_sent(stage: KafkaStage) -> None:
    first, _ = stage.partitions
    largest, larger = (Message(key=None, value=b"x" * size) for size in (LARGEST_BYTES, LARGEST_BYTES + 1))
    async with stage.member() as member:
        await member.open([first])
        with pytest.raises(ConfigError, match=f"one of {LARGEST_BYTES + 1} bytes"):
            await member.deliver(first, events=[larger], dead_letters=(), next_offset=1)
        with pytest.raises(ConfigError, match=f"one of {LARGEST_BYTES + 1} bytes"):
            await member.deliver(first, events=(), dead_letters=[larger], next_offset=1)
        await member.deliver(first, events=[largest], dead_letters=[largest], next_offset=1)

    assert [len(value) for value in await stage.read("events")] == [LARGEST_BYTES]


@pytest.mark.parametrize("lowered", ["events", "letters"])
async def test_batches_shrink_when_one_of_the_topics_takes_less_than_it_did(
    stage: KafkaStage, lowered: str
) -> None:
    first, _ = stage.partitions
    messages = [Message(key=b"k", value=os.urandom(2000)) for _ in range(40)]
    async with stage.member() as member:
        await member.open([first])
        stage.broker.configure_topic(f"{stage.prefix}-{lowered}", {"max.message.bytes": "20000"})
        with pytest.raises(StreamUnavailable) as raised:
            await _deliver_until_refused(member, first, messages)

        await _opened(member, [first])
        await member.deliver(first, events=messages, dead_letters=messages, next_offset=1)
        large = [Message(key=b"k", value=os.urandom(20_000))]
        with pytest.raises(ConfigError, match=f"{stage.prefix}-{lowered} accepts messages of at most"):
            await member.deliver(first, events=large, dead_letters=large, next_offset=2)

    assert raised.value.reason == "message_size"
    values = {message.value for message in messages}
    events, dead_letters = await stage.delivered()
    assert (set(events), set(dead_letters)) == (values, values)


async def _deliver_until_refused(
    member: KafkaTransactions, partition: Partition, messages: Sequence[Message]
) -> None:
    """A broker takes a moment to follow a change of a topic."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            await member.deliver(partition, events=messages, dead_letters=messages, next_offset=1)


async def test_a_paused_broker_costs_the_transaction_and_nothing_else(
    stage: KafkaStage, kafka_broker: KafkaBroker
) -> None:
    first, _ = stage.partitions
    async with replace(stage, request_timeout_seconds=1).member() as member:
        await _delivered(member, first, 1)
        kafka_broker.freeze()
        try:
            with pytest.raises(StreamUnavailable, match="no answer in time"):
                await member.deliver(
                    first, events=[Message(key=b"k", value=b"2")], dead_letters=(), next_offset=2
                )
        finally:
            kafka_broker.thaw()
        await _delivered(member, first, 2)

    assert await stage.read("events") == [b"1", b"2"]


async def test_a_topic_that_is_deleted_ends_a_transaction_by_its_name(stage: KafkaStage) -> None:
    first, _ = stage.partitions
    async with replace(stage, request_timeout_seconds=2).member() as member:
        stage.broker.delete_topic(f"{stage.prefix}-events")
        with pytest.raises(ConfigError, match=f"no topic {stage.prefix}-events.*create it"):
            await _delivered(member, first, 1)


async def _delivered(member: KafkaTransactions, partition: Partition, number: int) -> None:
    """Deliver a number as the event before the offset of this number, once, whatever is unavailable."""
    event = Message(key=b"k", value=b"%d" % number)
    async with asyncio.timeout(WAIT_SECONDS):
        while (await _opened(member, [partition])).get(partition) != number:
            with suppress(StreamUnavailable):
                await member.deliver(partition, events=[event], dead_letters=(), next_offset=number)
                return


async def _opened(member: KafkaTransactions, partitions: Sequence[Partition]) -> Mapping[Partition, int]:
    """Return what is committed, once the broker answers."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            try:
                return await member.open(partitions)
            except StreamUnavailable:
                continue


async def test_a_source_reads_what_was_committed_and_its_lag_ends_at_zero(stage: KafkaStage) -> None:
    """Markers take offsets, too, and a transaction that is not over is no lag: no consumer can read it."""
    topic = f"{stage.prefix}-pages"
    async with AIOKafkaProducer(
        bootstrap_servers=stage.broker.bootstrap_servers, transactional_id=f"{stage.prefix}-crawler"
    ) as crawler:
        for value, is_kept in ((b"1", True), (b"taken back", False), (b"2", True)):
            await crawler.begin_transaction()
            await crawler.send_and_wait(topic, value, partition=0)
            await (crawler.commit_transaction() if is_kept else crawler.abort_transaction())
        await crawler.begin_transaction()
        await crawler.send_and_wait(topic, b"not finished", partition=0)
        values: list[bytes | None] = []
        async with stage.source() as source, asyncio.timeout(WAIT_SECONDS):
            while len(values) < 2 or source.lag().get(Partition(topic, 0)) != 0:
                values.extend(record.value for record in await source.read(10, 1 << 20))
        await crawler.abort_transaction()

    assert values == [b"1", b"2"]


async def test_whatever_is_read_was_taken_over_before(stage: KafkaStage) -> None:
    """A rebalance may come while a read waits: what that finds is of no membership, or of one not begun."""
    partition, _ = stage.partitions
    async with AIOKafkaProducer(bootstrap_servers=stage.broker.bootstrap_servers) as crawler:
        for number in range(6):
            await crawler.send_and_wait(partition.input_id, b"%d" % number, partition=0)
    taken: list[Sequence[Partition]] = []

    async def take_over(partitions: Sequence[Partition]) -> Mapping[Partition, int]:
        taken.append(partitions)
        return {one: 2 * len(taken) if one == partition else 0 for one in partitions}

    async def values(count: int) -> list[bytes | None]:
        found: list[bytes | None] = []
        async with asyncio.timeout(WAIT_SECONDS):
            while len(found) < count:
                found.extend(record.value for record in await source.read(10, 1 << 20))
        return found

    async with stage.source() as source:
        source.on_assign(take_over)
        first = await values(4)
        assert source._consumer is not None
        assigned = source._consumer.assignment()
        source._consumer.seek(TopicPartition(partition.input_id, 0), 0)
        await source._revoked(assigned)
        between = list(await source.read(10, 1 << 20))
        source._assigned(assigned)
        second = await values(2)

    assert (first, between, second) == ([b"2", b"3", b"4", b"5"], [], [b"4", b"5"])
    assert [sorted(each) for each in taken] == [list(stage.partitions)] * 2


async def test_the_next_owner_gets_another_start_offset(stage: KafkaStage) -> None:
    """Else it would take the records below the lost offset for published."""
    partition, _ = stage.partitions
    committed_offsets: list[int | None] = []
    async with stage.member() as member, stage.source(out_of_range="earliest") as source:
        await member.open([partition])
        await member.deliver(partition, events=(), dead_letters=(), next_offset=50)
        async with AIOKafkaProducer(bootstrap_servers=stage.broker.bootstrap_servers) as crawler:
            await crawler.send_and_wait(partition.input_id, b"page", partition=0)

        async def take_over(partitions: Sequence[Partition]) -> Mapping[Partition, int]:
            committed = await member.open(partitions)
            committed_offsets.append(committed.get(partition))
            return committed

        source.on_assign(take_over)
        async with asyncio.timeout(WAIT_SECONDS):
            while not (records := await source.read(10, 1 << 20)):
                pass

    assert [record.value for record in records] == [b"page"]
    assert (committed_offsets[0], committed_offsets[-1]) == (50, 0)
