"""A topic as it is now, read without a group."""

import asyncio
from collections.abc import Sequence

import pytest
from aiokafka import AIOKafkaProducer

from neardup_stream.errors import ConfigError, StreamUnavailable
from neardup_stream.message import Partition, Record
from neardup_stream.streams.kafka.config import KafkaConnection
from neardup_stream.streams.kafka.snapshot import open_snapshot
from tests.kafka_topics import delete_below
from tests.servers.kafka import KafkaBroker


@pytest.fixture
def connection(kafka_broker: KafkaBroker) -> KafkaConnection:
    return KafkaConnection(bootstrap_servers=kafka_broker.bootstrap_servers)


async def send(connection: KafkaConnection, topic: str, values: Sequence[bytes], partition: int = 0) -> None:
    async with AIOKafkaProducer(bootstrap_servers=connection.bootstrap_servers) as producer:
        for value in values:
            await producer.send_and_wait(topic, value, partition=partition, headers=[("h", None)])


async def read(connection: KafkaConnection, topic: str) -> list[Record]:
    async with open_snapshot(connection, topic, "input") as snapshot:
        return [record async for records in snapshot.records() for record in records]


def numbered(count: int, start: int = 0) -> list[bytes]:
    return [b"%d" % number for number in range(start, start + count)]


async def test_everything_is_read_in_order_and_under_the_inputs_name(
    kafka_broker: KafkaBroker, connection: KafkaConnection, topic_prefix: str
) -> None:
    kafka_broker.create_topic(topic_prefix, 3)
    await send(connection, topic_prefix, numbered(700))
    await send(connection, topic_prefix, numbered(3, 700), partition=2)

    records = await read(connection, topic_prefix)

    for partition, values in ((0, numbered(700)), (1, []), (2, numbered(3, 700))):
        found = [each for each in records if each.position.partition == Partition("input", partition)]
        assert [each.value for each in found] == values
        assert [each.position.offset for each in found] == list(range(len(values)))
    assert records[0].headers == (("h", None),)


@pytest.mark.parametrize(
    ("latest", "found", "is_whole"),
    [(1, [9, 11], False), (4, [8, 9, 10, 11], False), (19, [*range(1, 12)], False), (20, [*range(12)], True)],
)
async def test_only_the_latest_records_are_read_of_each_partition_alike(
    kafka_broker: KafkaBroker,
    connection: KafkaConnection,
    topic_prefix: str,
    latest: int,
    found: list[int],
    *,
    is_whole: bool,
) -> None:
    kafka_broker.create_topic(topic_prefix, 2)
    await send(connection, topic_prefix, numbered(10))
    await send(connection, topic_prefix, numbered(2, 10), partition=1)

    async with open_snapshot(connection, topic_prefix, "input", latest=latest) as snapshot:
        records = [record async for records in snapshot.records() for record in records]

    assert sorted(int(record.value or b"") for record in records) == found
    assert snapshot.is_whole == is_whole


async def test_what_comes_after_the_opening_is_left_out(
    kafka_broker: KafkaBroker, connection: KafkaConnection, topic_prefix: str
) -> None:
    kafka_broker.create_topic(topic_prefix)
    await send(connection, topic_prefix, numbered(2))

    async with open_snapshot(connection, topic_prefix, "input") as snapshot:
        await send(connection, topic_prefix, numbered(5, 2))
        records = [record async for records in snapshot.records() for record in records]

    assert snapshot.ends == {Partition("input", 0): 2}
    assert [record.value for record in records] == numbered(2)


async def test_an_empty_topic_ends_at_once(
    kafka_broker: KafkaBroker, connection: KafkaConnection, topic_prefix: str
) -> None:
    kafka_broker.create_topic(topic_prefix, 2)

    assert await read(connection, topic_prefix) == []


async def test_only_what_is_committed_is_read_and_markers_hold_nothing_up(
    kafka_broker: KafkaBroker, connection: KafkaConnection, topic_prefix: str
) -> None:
    kafka_broker.create_topic(topic_prefix)
    async with AIOKafkaProducer(
        bootstrap_servers=connection.bootstrap_servers, transactional_id=topic_prefix
    ) as producer:
        async with producer.transaction():
            await producer.send_and_wait(topic_prefix, b"committed")
        await producer.begin_transaction()
        await producer.send_and_wait(topic_prefix, b"aborted")
        await producer.abort_transaction()

        assert [record.value for record in await read(connection, topic_prefix)] == [b"committed"]


async def test_what_the_broker_has_deleted_shows_in_the_beginning(
    kafka_broker: KafkaBroker, connection: KafkaConnection, topic_prefix: str
) -> None:
    kafka_broker.create_topic(topic_prefix, configs={"retention.ms": "3600"})
    await send(connection, topic_prefix, numbered(5))
    await delete_below(connection.bootstrap_servers, topic_prefix, 3)

    async with open_snapshot(connection, topic_prefix, "input") as snapshot:
        assert snapshot.beginnings == {Partition("input", 0): 3}
        assert snapshot.complete_since_ms(1_000_000) == 1_000_000 - 3600 + 60_000
        records = [record async for records in snapshot.records() for record in records]
    assert [record.position.offset for record in records] == [3, 4]


@pytest.mark.parametrize(
    ("configs", "since_ms"),
    [
        pytest.param({"retention.ms": "3600"}, 0, id="nothing deleted yet"),
        pytest.param({"cleanup.policy": "compact"}, None, id="compaction takes out any of them"),
    ],
)
async def test_what_may_be_missing_of_a_topic_that_has_its_beginning(
    kafka_broker: KafkaBroker,
    connection: KafkaConnection,
    topic_prefix: str,
    configs: dict[str, str],
    since_ms: int | None,
) -> None:
    kafka_broker.create_topic(topic_prefix, configs=configs)

    async with open_snapshot(connection, topic_prefix, "input") as snapshot:
        assert snapshot.complete_since_ms(1_000_000) == since_ms


async def test_a_topic_kept_by_size_does_not_say_what_is_missing(
    kafka_broker: KafkaBroker, connection: KafkaConnection, topic_prefix: str
) -> None:
    kafka_broker.create_topic(topic_prefix, configs={"retention.bytes": "1000"})
    await send(connection, topic_prefix, numbered(5))
    await delete_below(connection.bootstrap_servers, topic_prefix, 3)

    async with open_snapshot(connection, topic_prefix, "input") as snapshot:
        assert snapshot.complete_since_ms(1_000_000) is None


async def test_a_missing_topic_is_named(connection: KafkaConnection, topic_prefix: str) -> None:
    with pytest.raises(ConfigError, match=topic_prefix):
        await read(connection, topic_prefix)


async def test_brokers_that_are_unavailable_are_reported() -> None:
    with pytest.raises(StreamUnavailable):
        await asyncio.wait_for(read(KafkaConnection(bootstrap_servers="127.0.0.1:1"), "any"), 30)


async def test_records_that_are_deleted_while_one_of_several_partitions_is_read_are_passed_over(
    kafka_broker: KafkaBroker, connection: KafkaConnection, topic_prefix: str
) -> None:
    """The consumer has no position there until a broker has named the first record that is left."""
    kafka_broker.create_topic(topic_prefix, 3)
    large = [b"%d" % number + bytes(200_000) for number in range(40)]
    for partition in range(3):
        await send(connection, topic_prefix, large, partition)

    numbers: set[tuple[int, int]] = set()
    async with open_snapshot(connection, topic_prefix, "input") as snapshot:
        async for records in snapshot.records():
            if not numbers:
                await delete_below(connection.bootstrap_servers, topic_prefix, 38)
            numbers |= {(each.position.partition.number, each.position.offset) for each in records}

    assert {(1, 39), (2, 39), (0, 39)} <= numbers
    assert all((number, offset) in numbers for number in (1, 2) for offset in range(40))
