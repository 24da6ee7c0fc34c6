import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from neardup_stream.errors import ConfigError, InvariantBroken, StreamUnavailable
from neardup_stream.message import Message, Partition, Record
from neardup_stream.pipeline.offsets import next_offsets
from neardup_stream.streams.kafka.admin import describe_topics
from neardup_stream.streams.kafka.config import (
    KafkaConnection,
    KafkaSinkConfig,
    KafkaSourceConfig,
)
from neardup_stream.streams.kafka.sink import KafkaSink
from neardup_stream.streams.kafka.source import KafkaSource
from neardup_stream.streams.protocol import Sink, Source
from tests.contracts.sinks import SINK_CHECKS, MakeSink, ReadBack
from tests.contracts.streams import (
    GAP_CHECKS,
    GAP_END,
    RESUMABLE_SOURCE_CHECKS,
    SOURCE_CHECKS,
    MakeGap,
    MakeSource,
    read_records,
)
from tests.kafka_topics import WAIT_SECONDS, DroppedCommits, MakeTopic, Topic
from tests.servers.kafka import KafkaBroker


@pytest.fixture
def make_source(make_topic: MakeTopic) -> MakeSource:
    async def make(values: Sequence[bytes]) -> Callable[[], Source]:
        topic = make_topic(partitions=3)
        await topic.fill(values)
        return topic.source

    return make


@pytest.fixture(params=["none", "gzip", "snappy", "lz4", "zstd"])
def make_sink(request: pytest.FixtureRequest, make_topic: MakeTopic) -> MakeSink:
    def make() -> tuple[Sink, ReadBack]:
        topic = make_topic(partitions=3, configs={"max.message.bytes": "300000"})

        async def read_back() -> list[tuple[bytes | None, bytes | None]]:
            return [(record.key, record.value) for record in await read_topic(topic)]

        return topic.sink(request.param), read_back

    return make


async def read_topic(topic: Topic) -> list[Record]:
    """Everything in the topic now, without a trace."""
    reader = replace(topic.source()._config, group_id=f"{topic.name}-reader", first_start="earliest")
    async with AIOKafkaConsumer(bootstrap_servers=topic.connection.bootstrap_servers) as consumer:
        facts = await describe_topics(topic.connection, [topic.name])
        fact = facts[topic.name]
        assert fact is not None
        ends = await consumer.end_offsets([TopicPartition(topic.name, n) for n in range(fact.partitions)])
    async with KafkaSource(reader) as source:
        return await read_records(source, sum(ends.values()))


@pytest.mark.parametrize("check", [*SOURCE_CHECKS, *RESUMABLE_SOURCE_CHECKS])
async def test_source(check: Callable[[MakeSource], Awaitable[None]], make_source: MakeSource) -> None:
    await check(make_source)


@pytest.mark.parametrize("check", GAP_CHECKS)
async def test_source_with_a_gap(check: Callable[[MakeGap], Awaitable[None]], make_topic: MakeTopic) -> None:
    async def make() -> tuple[Source, Callable[[], Awaitable[None]]]:
        topic = make_topic()
        async with topic.sink() as sink:
            for number in range(10):  # each in a batch of its own, and fetched by itself
                await sink.send([Message(key=None, value=b"%d" % number)])
        source = topic.source(out_of_range="earliest", partition_fetch_max_bytes=1)
        return source, lambda: topic.delete_before(GAP_END)

    await check(make)


@pytest.mark.parametrize("check", SINK_CHECKS)
async def test_sink(check: Callable[[MakeSink], Awaitable[None]], make_sink: MakeSink) -> None:
    await check(make_sink)


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
async def test_every_codec_of_other_producers_is_read(make_topic: MakeTopic, compression: str) -> None:
    topic = make_topic()
    values = [b"value %d" % number for number in range(100)]
    async with AIOKafkaProducer(
        bootstrap_servers=topic.connection.bootstrap_servers,
        compression_type=None if compression == "none" else compression,
    ) as producer:
        for value in values:
            await producer.send_and_wait(topic.name, value)

    assert [record.value for record in await read_topic(topic)] == values


async def test_keys_values_and_headers_are_bytes_as_they_are(make_topic: MakeTopic) -> None:
    topic = make_topic()
    messages = [
        Message(key=b"\xff\x00 no text", value=None),
        Message(key=None, value=b"json failed to parse"),
        Message(key=b"", value=b""),
        Message(key=b"key", value=b"value", headers=[("a", b"1"), ("b", b"\xff"), ("a", b"")]),
        Message(key=b"key", value=b"value", headers=[("a", None), ("b", b"2"), ("a", None)]),
    ]

    async with topic.sink() as sink:
        await sink.send(messages)
    records = await read_topic(topic)

    assert [(one.key, one.value, list(one.headers)) for one in records] == [
        (one.key, one.value, list(one.headers)) for one in messages
    ]
    assert [one.position.offset for one in records] == [0, 1, 2, 3, 4]
    assert {one.position.partition for one in records} == {Partition(topic.name, 0)}


async def test_a_record_is_dated_when_it_is_sent(make_topic: MakeTopic) -> None:
    topic = make_topic()
    async with topic.sink() as sink:
        await sink.send([Message(key=b"key", value=b"of 1970", timestamp_ms=0)])

    (record,) = await read_topic(topic)

    assert record.timestamp_ms > 1_700_000_000_000


async def test_one_key_is_sent_to_the_partition_other_producers_choose(make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=7)
    keys = [b"key %d" % number for number in range(50)]
    await topic.fill([b"ours"] * len(keys), keys)
    async with AIOKafkaProducer(bootstrap_servers=topic.connection.bootstrap_servers) as producer:
        for key in keys:
            await producer.send_and_wait(topic.name, b"theirs", key)

    records = await read_topic(topic)

    assert len(records) == 2 * len(keys)
    assert len({(record.key, record.position.partition) for record in records}) == len(keys)


# Rebalances.


async def test_a_rebalance_in_mid_batch_drains_and_loses_nothing(make_topic: MakeTopic) -> None:
    topic, dropped = make_topic(partitions=4), DroppedCommits()
    values = [b"%d" % number for number in range(400)]
    await topic.fill(values)
    finished: list[Record] = []

    async with topic.source(session_timeout_seconds=60, meters=dropped) as first:
        in_flight = await read_records(first, 150)
        working = asyncio.Lock()  # what was read is committed before partitions are revoked

        async def drain() -> None:
            async with working:
                finished.extend(in_flight)
                await first.commit(next_offsets(in_flight))
                in_flight.clear()

        first.on_revoke(drain)
        async with topic.source(session_timeout_seconds=60) as second, asyncio.timeout(WAIT_SECONDS):
            await asyncio.gather(
                collect(first, finished, len(values), working), collect(second, finished, len(values))
            )

    assert sorted(record.value or b"" for record in finished) == sorted(values)
    assert dropped.count == 0


async def test_without_a_drain_what_was_in_flight_is_read_again(make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=4)
    values = [b"%d" % number for number in range(100)]
    await topic.fill(values)
    finished: list[Record] = []

    async with topic.source() as first:
        in_flight = await read_records(first, len(values))
        async with topic.source() as second:
            assert await read_records(second, 1)  # so the rebalance is over
        await asyncio.wait_for(collect(first, finished, len(values)), WAIT_SECONDS)

    assert sorted(record.value or b"" for record in finished) == sorted(
        record.value or b"" for record in in_flight
    )


async def test_a_commit_for_revoked_partitions_is_dropped(make_topic: MakeTopic) -> None:
    topic, dropped = make_topic(partitions=2), DroppedCommits()
    await topic.fill([b"%d" % number for number in range(100)])

    async with topic.source(meters=dropped) as first:
        stale = next_offsets(await read_records(first, 100))
        async with topic.source() as second:
            assert await read_records(second, 1)  # so the rebalance is over
            await first.commit(stale)

    assert dropped.count == 2
    async with topic.source() as again:
        assert len(await read_records(again, 100)) == 100


async def test_a_drain_that_fails_is_raised_by_the_next_read(make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=2)
    await topic.fill([b"%d" % number for number in range(20)])

    async with topic.source() as first:
        await read_records(first, 20)

        async def fail() -> None:
            raise InvariantBroken("found out while draining")

        first.on_revoke(fail)
        async with topic.source():
            with pytest.raises(InvariantBroken, match="found out while draining"):
                await asyncio.wait_for(collect(first, [], enough=1_000_000), WAIT_SECONDS)


async def collect(
    source: KafkaSource, finished: list[Record], enough: int, working: asyncio.Lock | None = None
) -> None:
    working = working or asyncio.Lock()
    while len(finished) < enough:
        async with working:
            records = await source.read(10, 1 << 20)
            finished.extend(records)
            await source.commit(next_offsets(records))


# What is wrong with the world.


async def test_a_missing_topic_is_named_with_the_remedy(kafka_broker: KafkaBroker, topic_prefix: str) -> None:
    connection = KafkaConnection(bootstrap_servers=kafka_broker.bootstrap_servers)
    name = f"{topic_prefix}-absent"
    source = KafkaSource(KafkaSourceConfig(connection=connection, topics=(name,), group_id=name))
    sink = KafkaSink(KafkaSinkConfig(connection=connection, topic=name))

    for stream in (source, sink):
        with pytest.raises(ConfigError, match=f"no topic {name}.*check --create-topics"):
            await stream.__aenter__()


async def test_an_absent_cluster_is_a_stream_that_is_unavailable() -> None:
    connection = KafkaConnection(bootstrap_servers="127.0.0.1:1")
    source = KafkaSource(KafkaSourceConfig(connection=connection, topics=("pages",), group_id="group"))
    sink = KafkaSink(KafkaSinkConfig(connection=connection, topic="events"))

    for stream in (source, sink):
        with pytest.raises(StreamUnavailable, match=r"127\.0\.0\.1:1"):
            await stream.__aenter__()


async def test_a_message_that_is_too_large_is_refused_and_the_next_one_is_sent(make_topic: MakeTopic) -> None:
    topic = make_topic(configs={"max.message.bytes": "100000"})

    async with topic.sink() as sink:
        limit = sink.max_message_bytes
        assert limit is not None
        for size_bytes in (limit - 1, limit):
            await sink.send([Message(key=None, value=b"x" * size_bytes)])
        with pytest.raises(ConfigError, match=f"at most {limit} bytes now, and one of {limit + 1} bytes"):
            await sink.send([Message(key=None, value=b"x" * (limit + 1))])
        await sink.send([Message(key=None, value=b"next")])

    assert [len(record.value or b"") for record in await read_topic(topic)] == [limit - 1, limit, 4]


async def test_after_a_fatal_error_the_producer_is_replaced(make_topic: MakeTopic) -> None:
    topic = make_topic()

    async with topic.sink() as sink:
        await sink.send([Message(key=None, value=b"first")])
        assert sink._producer is not None
        sink._producer._txn_manager.increment_sequence_number(TopicPartition(topic.name, 0), 5)
        with pytest.raises(StreamUnavailable):
            await sink.send([Message(key=None, value=b"second")])
        await sink.send([Message(key=None, value=b"second")])

    assert [record.value for record in await read_topic(topic)] == [b"first", b"second"]


async def test_calls_at_the_same_time_share_one_new_producer_and_none_is_left_open(
    make_topic: MakeTopic,
) -> None:
    topic = make_topic()
    tasks = asyncio.all_tasks()

    async with topic.sink() as sink:
        await sink.send([Message(key=None, value=b"first")])
        assert sink._producer is not None
        sink._producer._txn_manager.increment_sequence_number(TopicPartition(topic.name, 0), 5)
        with pytest.raises(StreamUnavailable):
            await sink.send([Message(key=None, value=b"refused")])
        await asyncio.gather(*(sink.send([Message(key=None, value=b"both")]) for _ in range(2)))

    assert [record.value for record in await read_topic(topic)] == [b"first", b"both", b"both"]
    assert asyncio.all_tasks() == tasks
