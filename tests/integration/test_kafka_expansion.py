"""A small batch that would expand to hundreds of megabytes: its records are refused, reading continues.

So are records with millions of headers.
"""

import asyncio
from collections.abc import Iterable

import pytest
from aiokafka import AIOKafkaProducer

from neardup_stream.errors import BadPage
from neardup_stream.message import Record
from neardup_stream.pipeline.offsets import next_offsets
from neardup_stream.streams.kafka.config import DEFAULT_MAX_EXPANDED_BYTES
from neardup_stream.streams.kafka.snapshot import open_snapshot
from neardup_stream.wire.header_limit import DEFAULT_MAX_HEADERS
from tests.contracts.streams import read_records
from tests.kafka_topics import WAIT_SECONDS, MakeTopic, Topic, count_expansions

RECORDS = 3


async def produce_batch(topic: Topic, codec: str | None, records: Iterable[tuple[bytes, bytes, int]]) -> None:
    """One batch of any size: of each record its key, its value, and how many empty headers it has."""
    async with AIOKafkaProducer(
        bootstrap_servers=topic.connection.bootstrap_servers,
        compression_type=codec,
        max_batch_size=1 << 30,
        max_request_size=1 << 30,
    ) as producer:
        batch = producer.create_batch()
        for key, value, header_count in records:
            headers = [("", b"")] * header_count
            assert batch.append(key=key, value=value, timestamp=None, headers=headers)
        await (await producer.send_batch(batch, topic.name, partition=0))


async def produce_bomb(topic: Topic, codec: str) -> None:
    """One batch that is three times as large as a batch may be."""
    value = bytes(DEFAULT_MAX_EXPANDED_BYTES)
    await produce_batch(topic, codec, [(b"%d" % number, value, 0) for number in range(RECORDS)])


def refusals(records: list[Record]) -> list[str]:
    return [record.decoded.limit or "" for record in records if isinstance(record.decoded, BadPage)]


@pytest.mark.parametrize("codec", ["gzip", "snappy", "zstd"])
async def test_its_records_are_refused_and_the_next_batch_is_read(make_topic: MakeTopic, codec: str) -> None:
    topic = make_topic(configs={"max.message.bytes": "20000000"})
    await topic.fill([b"before"])
    await produce_bomb(topic, codec)
    await topic.fill([b"behind"])

    async with asyncio.timeout(WAIT_SECONDS), topic.source() as source:
        records = await read_records(source, RECORDS + 2)
        await source.commit(next_offsets(records))

    assert [record.value for record in records] == [b"before", *[b""] * RECORDS, b"behind"]
    assert [record.position.offset for record in records] == list(range(RECORDS + 2))
    assert refusals(records) == ["max_expanded_bytes"] * RECORDS
    assert max(record.size_bytes for record in records) < 100


async def test_it_is_expanded_once_however_many_reads_its_records_take(
    make_topic: MakeTopic, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = make_topic(partitions=4)
    await topic.fill([b"before"])

    async with asyncio.timeout(WAIT_SECONDS), topic.source() as source:
        await read_records(source, 1)
        expansions = count_expansions(monkeypatch, "zstd")
        await produce_bomb(topic, "zstd")
        records: list[Record] = []
        while len(records) < RECORDS:
            records += await source.read(1, 1 << 20)

    assert refusals(records) == ["max_expanded_bytes"] * RECORDS
    assert len(expansions) == 1


async def test_a_snapshot_continues_behind_it(make_topic: MakeTopic) -> None:
    topic = make_topic()
    await produce_bomb(topic, "zstd")
    await topic.fill([b"behind"])

    async with (
        asyncio.timeout(WAIT_SECONDS),
        open_snapshot(topic.connection, topic.name, "input") as snapshot,
    ):
        records = [record async for records in snapshot.records() for record in records]

    assert len(refusals(records)) == RECORDS
    assert records[-1].value == b"behind"


@pytest.mark.parametrize("codec", [None, "gzip", "zstd"])
async def test_a_record_with_too_many_headers_is_refused_without_them_and_no_other(
    make_topic: MakeTopic, codec: str | None
) -> None:
    topic = make_topic(configs={"max.message.bytes": "20000000"})
    kept, refused = DEFAULT_MAX_HEADERS, 1_000_000
    counts = [0, refused, kept, refused]
    await produce_batch(topic, codec, [(b"%d" % count, b"value", count) for count in counts])
    await topic.fill([b"behind"])

    async with asyncio.timeout(WAIT_SECONDS), topic.source() as source:
        records = await read_records(source, 5)
        await source.commit(next_offsets(records))

    assert refusals(records) == ["max_headers"] * 2
    assert [record.value for record in records] == [b"value"] * 4 + [b"behind"]
    assert [record.key for record in records[:4]] == [b"0", b"1000000", b"256", b"1000000"]
    assert [len(record.headers) for record in records] == [0, 0, kept, 0, 0]
    assert [record.position.offset for record in records] == list(range(5))
