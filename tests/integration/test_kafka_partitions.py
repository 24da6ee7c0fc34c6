"""Messages go to the partitions that other producers choose for their keys."""

import pytest
from confluent_kafka import Producer

from neardup_stream.message import Message
from neardup_stream.streams.kafka.config import KafkaConnection, KafkaSinkConfig, Partitioner
from neardup_stream.streams.kafka.sink import KafkaSink
from neardup_stream.streams.kafka.snapshot import open_snapshot
from tests.servers.kafka import KafkaBroker

PARTITIONS = 5
KEYS = [f"https://site-{number}.example/ä".encode() for number in range(60)]


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [("consistent_random", "crc32"), ("murmur2_random", "murmur2")],
    ids=["crc32", "murmur2"],
)
async def test_a_key_has_the_partition_that_librdkafka_chooses(
    kafka_broker: KafkaBroker, topic_prefix: str, theirs: str, ours: Partitioner
) -> None:
    kafka_broker.create_topic(topic_prefix, PARTITIONS)
    connection = KafkaConnection(bootstrap_servers=kafka_broker.bootstrap_servers)
    producer = Producer({"bootstrap.servers": kafka_broker.bootstrap_servers, "partitioner": theirs})
    for key in KEYS:
        producer.produce(topic_prefix, b"theirs", key)
    assert producer.flush(30) == 0

    async with KafkaSink(
        KafkaSinkConfig(connection=connection, topic=topic_prefix, partitioner=ours)
    ) as sink:
        await sink.send([Message(key=key, value=b"ours") for key in KEYS])
        appended = [(await sink.append(Message(key=key, value=b"ours")))[0] for key in KEYS]
    found = await partitions_of(connection, topic_prefix)

    assert found[b"theirs"] == found[b"ours"] == set(zip(KEYS, appended, strict=True))
    assert len(set(appended)) == PARTITIONS


async def test_a_message_that_names_its_partition_is_sent_there(
    kafka_broker: KafkaBroker, topic_prefix: str
) -> None:
    kafka_broker.create_topic(topic_prefix, PARTITIONS)
    connection = KafkaConnection(bootstrap_servers=kafka_broker.bootstrap_servers)

    async with KafkaSink(KafkaSinkConfig(connection=connection, topic=topic_prefix)) as sink:
        await sink.send(
            [Message(key=b"key", value=b"named", partition=number) for number in range(PARTITIONS)]
        )
        await sink.send(
            [Message(key=b"key", value=b"gone", partition=PARTITIONS), Message(key=b"key", value=b"gone")]
        )
    found = await partitions_of(connection, topic_prefix)

    assert found[b"named"] == {(b"key", number) for number in range(PARTITIONS)}
    assert len(found[b"gone"]) == 1


async def partitions_of(connection: KafkaConnection, topic: str) -> dict[bytes, set[tuple[bytes, int]]]:
    """Return keys and partitions by value."""
    found: dict[bytes, set[tuple[bytes, int]]] = {}
    async with open_snapshot(connection, topic, "input") as snapshot:
        async for records in snapshot.records():
            for record in records:
                place = (record.key or b"", record.position.partition.number)
                found.setdefault(record.value or b"", set()).add(place)
    return found
