"""Open, close and inspect aiokafka's consumer.

It can fail without raising: one of its tasks ends and reads wait forever. A broken consumer is closed,
whatever its state, and replaced.
"""

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import TypeAlias

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.structs import ConsumerRecord

from neardup_stream.message import Partition, Position, Record
from neardup_stream.streams.kafka.aiokafka_batches_compat import parse_any_batch
from neardup_stream.streams.kafka.aiokafka_compat import (
    client_of,
    close_client,
    take_fetched,
)
from neardup_stream.streams.kafka.config import KafkaSourceConfig
from neardup_stream.streams.kafka.errors import kafka_errors
from neardup_stream.streams.kafka.expansion import RefusedValue
from neardup_stream.streams.kafka.passwords import follow_password
from neardup_stream.streams.kafka.room import Room
from neardup_stream.streams.kafka.starting import start_client

__all__ = [
    "FetchedRecords",
    "close_consumer",
    "fetch",
    "last_answer_seconds",
    "open_consumer",
    "partition_count",
    "position",
    "record_in",
    "unread_counts",
]

_log = logging.getLogger(__name__)

WAIT_MS = 200
"""How long a fetch waits for the first record."""

FetchedRecords: TypeAlias = Mapping[TopicPartition, Sequence[ConsumerRecord]]

REBALANCE_WAIT_SECONDS = 1.0
"""How long a fetch waits while the group rebalances, during which aiokafka would wait without a limit."""


async def open_consumer(config: KafkaSourceConfig) -> AIOKafkaConsumer:
    """Return a consumer that is connected and belongs to no group yet.

    Raises:
        StreamUnavailable: the cluster cannot be reached.
        ConfigError: it denies access.
    """
    parse_any_batch(config.max_expanded_bytes, config.max_headers)
    consumer = AIOKafkaConsumer(**config.consumer_options())
    follow_password(client_of(consumer), config.connection)
    try:
        with kafka_errors(f"connecting to {config.connection.bootstrap_servers}"):
            async with asyncio.timeout(config.connection.request_timeout_seconds):
                await start_client(consumer)
    except BaseException:
        await consumer.stop()
        raise
    return consumer


async def close_consumer(consumer: AIOKafkaConsumer) -> None:
    """Leave the group, unless the membership is static."""
    # While brokers are unavailable, aiokafka cancels its own fetches and may fail during that.
    outcome: list[object] = await asyncio.gather(consumer.stop(), return_exceptions=True)
    if outcome != [None]:
        _log.info("consumer_closed_by_force", extra={"fields": {"error": repr(outcome)}})
        await close_client(consumer)


async def fetch(
    consumer: AIOKafkaConsumer, max_records: int, max_bytes: int, partitions: Collection[TopicPartition] = ()
) -> FetchedRecords:
    """Return the next records, or none if there are none soon, or the group rebalances.

    Args:
        consumer: reads.
        max_records: at most so many.
        max_bytes: the record with which there are so many bytes is the last one.
        partitions: only of these; empty for all.

    Raises:
        KafkaError: as the consumer raises it.
    """
    fetched: dict[TopicPartition, list[ConsumerRecord]] = {}
    with suppress(TimeoutError):
        async with asyncio.timeout(REBALANCE_WAIT_SECONDS):
            fetched = await consumer.getmany(*partitions, timeout_ms=WAIT_MS, max_records=1)
    if fetched:  # the first record alone: of several, `getmany` would return any number of bytes
        room = Room(max_records, max_bytes)
        for records in fetched.values():
            room.take(records[0])
        for one, records in take_fetched(consumer, room, partitions).items():
            fetched.setdefault(one, []).extend(records)
    return fetched


def unread_counts(consumer: AIOKafkaConsumer) -> dict[TopicPartition, int]:
    """Return how many records of each assigned partition the consumer has not read, after the first fetch.

    The end of a partition is the start of the first open transaction: records after it cannot be read yet.
    """
    ends = {one: consumer.last_stable_offset(one) for one in consumer.assignment()}
    # Of others no position is asked for: that would take over an error which the next read is to raise.
    known = {one: (end, position(consumer, one)) for one, end in ends.items() if end is not None}
    return {one: max(0, end - at) for one, (end, at) in known.items() if at is not None}


def partition_count(consumer: AIOKafkaConsumer, topics: Collection[str]) -> int:
    """Return how many partitions topics have, by the consumer's metadata."""
    return sum(len(consumer.partitions_for_topic(topic) or ()) for topic in topics)


def position(consumer: AIOKafkaConsumer, topic_partition: TopicPartition) -> int | None:
    """Return the next offset to fetch, without waiting; None while the consumer has to look for one."""
    answer = consumer.position(topic_partition)
    try:
        answer.send(None)
    except StopIteration as returned:
        return int(returned.value)
    finally:
        answer.close()
    return None


def record_in(partition: Partition, found: ConsumerRecord) -> Record:
    """Return what was fetched as a record."""
    refused = found.value if isinstance(found.value, RefusedValue) else None
    return Record(
        decoded=refused.refusal if refused is not None else None,
        position=Position(partition, found.offset),
        key=found.key,
        value=found.value if refused is None else bytes(refused),
        headers=tuple(found.headers),
        timestamp_ms=found.timestamp,
    )


def last_answer_seconds(consumer: AIOKafkaConsumer, assignment: Collection[TopicPartition]) -> float:
    """Return when a broker last answered a fetch, epoch seconds; 0 if none did.

    Brokers answer an empty fetch, too, twice a second.
    """
    answered = [consumer.last_poll_timestamp(one) for one in assignment]
    return max(filter(None, answered), default=0) / 1000
