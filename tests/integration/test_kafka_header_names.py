"""Kafka takes any bytes for the name of a header; a page is judged for all that."""

import asyncio
from collections.abc import Sequence

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.record.default_records import _DefaultRecordBatchBuilderPy

from neardup_stream.message import Record
from neardup_stream.pipeline.offsets import next_offsets
from neardup_stream.streams.kafka.consumer import fetch
from neardup_stream.streams.kafka.snapshot import open_snapshot
from tests.contracts.streams import read_records
from tests.kafka_topics import WAIT_SECONDS, MakeTopic, Topic

GOOD, BAD, WORSE = b"good", b"na\xffme", b"\x80"
CODECS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}


class Name(str):
    """A name that is sent as these bytes."""

    __slots__ = ("wire",)
    wire: bytes

    def encode(self, *_: object) -> bytes:
        return self.wire


def named(wire: bytes) -> Name:
    name = Name(wire.decode("latin-1"))
    name.wire = wire
    return name


async def produce(topic: Topic, names: Sequence[bytes], *, partition: int = 0, codec: str = "none") -> None:
    """One batch of records, numbered, with one header each."""
    async with AIOKafkaProducer(bootstrap_servers=topic.connection.bootstrap_servers) as producer:
        batch = producer.create_batch()
        batch._builder = _DefaultRecordBatchBuilderPy(2, CODECS[codec], 0, -1, -1, -1, 1 << 20)
        for number, name in enumerate(names):
            batch.append(key=b"%d" % number, value=b"page", timestamp=None, headers=[(named(name), b"v")])
        await (await producer.send_batch(batch, topic.name, partition=partition))


async def test_a_partition_that_cannot_be_parsed_is_found_while_another_one_is_busy(
    make_topic: MakeTopic,
) -> None:
    topic = make_topic(partitions=2)
    await produce(topic, [BAD], partition=1)
    for _ in range(40):
        await produce(topic, [GOOD] * 5)

    async with asyncio.timeout(WAIT_SECONDS), topic.consumer(max_partition_fetch_bytes=200) as consumer:
        counts: list[int] = []
        with pytest.raises(UnicodeDecodeError):
            await count_all(consumer, counts)

    assert sum(counts) < 100


async def count_all(consumer: AIOKafkaConsumer, counts: list[int]) -> None:
    """Fetch the records of the busy partition."""
    while sum(counts) < 200:
        fetched = await fetch(consumer, 256, 1 << 20)
        counts.append(sum(map(len, fetched.values())))


def names(records: Sequence[Record]) -> list[str]:
    return [name for record in records for name, _ in record.headers]


@pytest.mark.parametrize("codec", CODECS)
async def test_names_that_are_no_text_are_escaped_and_no_record_is_lost(
    make_topic: MakeTopic, codec: str
) -> None:
    topic = make_topic()
    await produce(topic, [GOOD, BAD, GOOD, WORSE], codec=codec)
    await topic.fill([b"a batch of another producer"])

    async with topic.source() as source:
        records = await read_records(source, 5)
        await source.commit(next_offsets(records))

    assert names(records) == ["good", "na\\xffme", "good", "\\x80"]
    assert [record.key for record in records] == [b"0", b"1", b"2", b"3", b"key 0"]
    assert {record.value for record in records[:4]} == {b"page"}
    assert [record.position.offset for record in records] == [0, 1, 2, 3, 4]


async def test_what_was_taken_of_other_partitions_in_the_same_breath_is_not_lost(
    make_topic: MakeTopic,
) -> None:
    topic = make_topic(partitions=3)
    for number in range(3):
        await produce(topic, [GOOD] * 5, partition=number)

    async with topic.source() as source:
        before = await read_records(source, 15)
        await source.commit(next_offsets(before))
    for number in range(3):
        await produce(topic, [GOOD, BAD if number == 1 else GOOD, GOOD], partition=number)
    async with topic.source() as source:
        after = await read_records(source, 9)
        await produce(topic, [WORSE], partition=2)
        last = await read_records(source, 1)

    assert sorted(names(after)) == [*["good"] * 8, "na\\xffme"]
    assert names(last) == ["\\x80"]
    positions = [record.position for record in before + after + last]
    assert len(set(positions)) == len(positions) == 25


async def test_a_first_batch_of_a_group_may_be_such_a_one(make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=2)
    await produce(topic, [BAD])

    async with asyncio.timeout(WAIT_SECONDS), topic.source() as source:
        assert names(await read_records(source, 1)) == ["na\\xffme"]


async def test_a_snapshot_holds_such_records_too(make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=3)
    for number in range(3):
        await produce(topic, [GOOD, BAD if number == 1 else GOOD, GOOD], partition=number)
    await produce(topic, [WORSE], partition=2)

    async with (
        asyncio.timeout(WAIT_SECONDS),
        open_snapshot(topic.connection, topic.name, "input") as snapshot,
    ):
        records = [record async for records in snapshot.records() for record in records]

    assert sorted(names(records)) == ["\\x80", *["good"] * 8, "na\\xffme"]
    assert len({record.position for record in records}) == 10
