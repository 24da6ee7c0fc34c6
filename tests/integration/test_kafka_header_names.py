"""Kafka takes any bytes for the name of a header; a page is judged for all that."""

import asyncio
from collections.abc import Sequence

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.record.default_records import _DefaultRecordBatchBuilderPy, _DefaultRecordBatchPy

from neardup_stream.message import Record
from neardup_stream.pipeline.offsets import next_offsets
from neardup_stream.streams.kafka.snapshot import open_snapshot
from tests.contracts.streams import read_records
from tests.kafka_topics import WAIT_SECONDS, MakeTopic, Topic, count_expansions

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


async def produce(
    topic: Topic,
    names: Sequence[bytes],
    *,
    partition: int = 0,
    codec: str = "none",
    value: bytes = b"page",
) -> None:
    """One batch of records, numbered, with one header each."""
    async with AIOKafkaProducer(bootstrap_servers=topic.connection.bootstrap_servers) as producer:
        batch = producer.create_batch()
        batch._builder = _DefaultRecordBatchBuilderPy(2, CODECS[codec], 0, -1, -1, -1, 1 << 20)
        for number, name in enumerate(names):
            batch.append(key=b"%d" % number, value=value, timestamp=None, headers=[(named(name), b"v")])
        await (await producer.send_batch(batch, topic.name, partition=partition))


async def test_a_record_that_cannot_be_parsed_comes_while_another_partition_is_busy(
    make_topic: MakeTopic,
) -> None:
    topic = make_topic(partitions=2)
    await produce(topic, [BAD], partition=1)
    for _ in range(40):
        await produce(topic, [GOOD] * 5)

    async with asyncio.timeout(WAIT_SECONDS), topic.source(partition_fetch_max_bytes=200) as source:
        records: list[Record] = []
        while "na\\xffme" not in names(records):
            records += await source.read(256, 1 << 20)

    assert len(records) < 100


async def test_a_batch_is_parsed_twice_at_most_and_every_read_is_full(
    make_topic: MakeTopic, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = make_topic(partitions=4)
    await topic.fill([b"first"])
    async with asyncio.timeout(WAIT_SECONDS), topic.source() as source:
        await read_records(source, 1)
        expansions = count_expansions(monkeypatch, "gzip")
        await produce(topic, [BAD, *[GOOD] * 63], codec="gzip")
        counts: list[int] = []
        while sum(counts) < 64:
            if read := await source.read(16, 1 << 20):
                counts.append(len(read))

    assert counts == [16] * 4
    assert len(expansions) == 2


@pytest.mark.parametrize("value", [b"", bytes(100)], ids=["length-of-one-byte", "length-of-two"])
@pytest.mark.parametrize("first", [0, 3, 150])
async def test_records_before_such_a_one_are_not_parsed_again(
    make_topic: MakeTopic, monkeypatch: pytest.MonkeyPatch, first: int, value: bytes
) -> None:
    topic = make_topic()
    await produce(topic, [*[GOOD] * 200, BAD, GOOD], value=value)
    async with asyncio.timeout(WAIT_SECONDS), topic.source() as source:
        await source.commit(next_offsets((await read_records(source, 202))[:first]))
    parse, parsed = _DefaultRecordBatchPy._read_msg, 0

    def count(batch: _DefaultRecordBatchPy) -> object:
        nonlocal parsed
        parsed += 1
        return parse(batch)

    monkeypatch.setattr(_DefaultRecordBatchPy, "_read_msg", count)
    async with asyncio.timeout(WAIT_SECONDS), topic.source() as source:
        records = await read_records(source, 202 - first)

    assert [record.position.offset for record in records] == list(range(first, 202))
    assert names(records)[-2:] == ["na\\xffme", "good"]
    assert parsed == 2


async def test_such_records_do_not_exceed_the_bytes_of_a_read(make_topic: MakeTopic) -> None:
    topic = make_topic()
    value = bytes(1 << 16)
    await produce(topic, [GOOD, *[BAD] * 7], codec="zstd", value=value)

    records: list[Record] = []
    async with asyncio.timeout(WAIT_SECONDS), topic.source() as source:
        while len(records) < 8:
            read = await source.read(256, 2 * len(value))
            assert sum(len(record.value or b"") for record in read) <= 2 * len(value)
            records += read

    assert [record.position.offset for record in records] == list(range(8))


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
