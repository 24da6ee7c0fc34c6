"""Open, feed and close aiokafka's producers.

A send has many messages, so this module groups them into batches, one sequence of batches for each partition:
there is no need to linger, and it costs a third less than sending one message after the other.
"""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.producer.message_accumulator import BatchBuilder

from neardup_stream.errors import ConfigError
from neardup_stream.gather_all import gather_all
from neardup_stream.message import Message
from neardup_stream.streams.kafka.aiokafka_compat import close_without_flush
from neardup_stream.streams.kafka.config import KafkaConnection, Partitioner
from neardup_stream.streams.kafka.partitioning import partition_of
from neardup_stream.streams.kafka.passwords import follow_password
from neardup_stream.streams.kafka.starting import start_client

__all__ = [
    "check_sizes",
    "discard_producer",
    "largest_message_bytes",
    "open_producer",
    "request_bytes_for",
    "send_batches",
]

BATCH_OVERHEAD_BYTES = 4096
"""Batch header (61 bytes), record header (up to 36) and the lengths of some 300 headers (up to 10 each)."""

COMPRESSION_GROWTH = 64
"""Incompressible data grows, by at most a 64th with the codecs that Kafka supports."""

CLOSE_SECONDS = 1.0
"""How long to wait for requests in flight when their producer is discarded."""


def largest_message_bytes(request_bytes: int) -> int:
    """Return the largest message that fits in a request of this size with its overhead."""
    return request_bytes - request_bytes // COMPRESSION_GROWTH - BATCH_OVERHEAD_BYTES


def request_bytes_for(message_bytes: int) -> int:
    """Return the smallest request in which a message of this size fits with its overhead."""
    batch_bytes = message_bytes + BATCH_OVERHEAD_BYTES
    return batch_bytes + (batch_bytes - 1) // (COMPRESSION_GROWTH - 1)


def check_sizes(messages: Sequence[Message], limit_bytes: int, topic: str) -> None:
    """Raise if a message exceeds the limit: a batch that the broker rejects breaks an idempotent producer.

    Messages are built to fit the limit, but a redelivery has the same bytes as the first delivery.

    Raises:
        ConfigError: the limit was lowered since the message was built.
    """
    largest = max((message.size_bytes for message in messages), default=0)
    if largest > limit_bytes:
        raise ConfigError(
            f"topic {topic} accepts messages of at most {limit_bytes} bytes now, and one of {largest} bytes "
            f"was built before: raise its max.message.bytes to the former value"
        )


async def open_producer(options: dict[str, Any], connection: KafkaConnection) -> AIOKafkaProducer:
    """Start a producer; close everything if it does not start."""
    producer = AIOKafkaProducer(**options)
    follow_password(producer.client, connection)
    try:
        await start_client(producer)
    except BaseException:
        await producer.stop()
        raise
    return producer


async def discard_producer(producer: AIOKafkaProducer) -> None:
    """Close without the flush of aiokafka's `stop`, which lasts as long as the brokers are unavailable.

    Every send that returned was acknowledged, so everything still queued was reported as failed. Waits a
    moment for requests in flight; a sender that looks for a coordinator ends when it has found one.
    """
    await close_without_flush(producer, CLOSE_SECONDS)


async def send_batches(
    producer: AIOKafkaProducer, topic: str, messages: Sequence[Message], partitioner: Partitioner = "murmur2"
) -> None:
    """Send all and wait for every acknowledgement."""
    if not messages:
        return
    partitions = sorted(await producer.partitions_for(topic))
    sent: list[asyncio.Future[object]] = []
    for partition, batch in _batches(producer, partitions, messages, partitioner):
        sent.append(await producer.send_batch(batch, topic, partition=partition))
    await gather_all(sent)


def _batches(
    producer: AIOKafkaProducer, partitions: list[int], messages: Sequence[Message], partitioner: Partitioner
) -> Iterator[tuple[int, BatchBuilder]]:
    """Yield batches with their partition, in the order in which they fill."""
    filling: dict[int, BatchBuilder] = {}
    for message in messages:
        partition = partition_of(message, partitioner, partitions)
        batch = filling.get(partition)
        if batch is None or not _append(batch, message):
            if batch is not None:
                yield partition, batch
            batch = filling[partition] = producer.create_batch()
            _append(batch, message)
    yield from filling.items()


def _append(batch: BatchBuilder, message: Message) -> bool:
    """Append a message if there is room; return whether there was. The first message always fits."""
    metadata = batch.append(
        timestamp=None, key=message.key, value=message.value, headers=list(message.headers)
    )
    return metadata is not None
