"""One read takes a bounded number of bytes, however far its records expand."""

import asyncio

from aiokafka import AIOKafkaProducer
from aiokafka.structs import ConsumerRecord

from neardup_stream.streams.kafka.consumer import fetch
from tests.kafka_topics import WAIT_SECONDS, MakeTopic, Topic

VALUE = b"of a large page " * (1 << 16)
"""A megabyte, of which some hundred bytes are sent."""

RECORDS = 24
MAX_BYTES = 4 * len(VALUE)


async def fill(topic: Topic) -> None:
    async with AIOKafkaProducer(
        bootstrap_servers=topic.connection.bootstrap_servers,
        compression_type="zstd",
        max_request_size=8 << 20,
    ) as producer:
        for _ in range(RECORDS):
            await producer.send_and_wait(topic.name, VALUE)


def sizes(records: list[ConsumerRecord]) -> int:
    return sum(len(record.value) for record in records)


async def test_the_record_with_which_there_are_so_many_bytes_is_the_last(make_topic: MakeTopic) -> None:
    topic = make_topic()
    await fill(topic)

    offsets: list[int] = []
    async with asyncio.timeout(WAIT_SECONDS), topic.consumer() as consumer:
        while len(offsets) < RECORDS:
            fetched = await fetch(consumer, 256, MAX_BYTES)
            records = [record for some in fetched.values() for record in some]
            assert sizes(records) <= MAX_BYTES
            offsets += [record.offset for record in records]

    assert offsets == list(range(RECORDS))


async def test_no_more_records_are_taken_than_were_asked_for(make_topic: MakeTopic) -> None:
    topic = make_topic()
    await topic.fill([b"%d" % number for number in range(30)])

    offsets: list[int] = []
    async with asyncio.timeout(WAIT_SECONDS), topic.consumer() as consumer:
        while len(offsets) < 30:
            fetched = await fetch(consumer, 7, MAX_BYTES)
            assert sum(map(len, fetched.values())) <= 7
            offsets += [record.offset for some in fetched.values() for record in some]

    assert offsets == list(range(30))
