"""Messages to Kafka, acknowledged by all in-sync replicas before a send returns.

A send brings many messages, so they are put into batches here, one run of batches for each partition:
there is nothing to linger for, and it costs a third less than handing aiokafka one message after the other.
"""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Self

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError, KafkaTimeoutError
from aiokafka.partitioner import DefaultPartitioner
from aiokafka.producer.message_accumulator import BatchBuilder

from neardup_stream.errors import InvariantBroken
from neardup_stream.message import Message
from neardup_stream.streams.kafka_admin import require_topics
from neardup_stream.streams.kafka_config import KafkaSinkConfig
from neardup_stream.streams.kafka_errors import kafka_errors

__all__ = ["KafkaSink"]

BATCH_OVERHEAD_BYTES = 1024
"""Batch header (61 bytes), record header (up to 36) and the lengths of a few dozen headers."""

COMPRESSION_GROWTH = 64
"""What cannot be compressed grows, by at most a 64th with the codecs Kafka knows in practice."""


class KafkaSink:
    """Sends to one topic; messages with one key go to one partition, the one Java's producer would choose.

    Records carry the time of sending, not the message's own: retention counts from it, and a page crawled
    a year ago would take its event with it on the day it was sent. Events say their time in a header.

    aiokafka's idempotent producer goes on trying for ever, so a send that takes too long is left to it: what
    it delivers later is a repetition. After a batch that was refused the producer is replaced, because the
    gap in its sequence numbers makes the broker refuse everything that follows.
    """

    def __init__(self, config: KafkaSinkConfig) -> None:
        self._config = config
        self._producer: AIOKafkaProducer | None = None
        self._partition_of = DefaultPartitioner()
        self._max_bytes = config.max_request_bytes

    async def __aenter__(self) -> Self:
        """Look at the topic and connect.

        Raises:
            StreamUnavailable: the cluster cannot be reached.
            ConfigError: the topic does not exist, or may not be written.
        """
        facts = await require_topics(self._config.connection, [self._config.topic])
        limit_bytes = facts[self._config.topic].max_message_bytes
        self._max_bytes = min(self._config.max_request_bytes, limit_bytes or self._config.max_request_bytes)
        with kafka_errors(f"connecting to {self._config.connection.bootstrap_servers}"):
            async with asyncio.timeout(self._config.connection.request_timeout_seconds):
                await self._open_producer()
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Close the connections."""
        await self._discard_producer()

    @property
    def max_message_bytes(self) -> int | None:
        """What the topic takes, less what travels around a message."""
        return self._max_bytes - self._max_bytes // COMPRESSION_GROWTH - BATCH_OVERHEAD_BYTES

    async def send(self, messages: Sequence[Message]) -> None:
        """Deliver all to every in-sync replica.

        Raises:
            StreamUnavailable: not all were acknowledged; sending all again is safe.
            ConfigError: access was refused, or the topic takes less than it did.
            InvariantBroken: a message is larger than `max_message_bytes`; nothing was sent.
        """
        self._check_sizes(messages)
        if not messages:
            return
        with kafka_errors(f"sending to {self._config.topic}"):
            async with asyncio.timeout(self._config.connection.request_timeout_seconds):
                producer = self._producer or await self._open_producer()
                try:
                    await self._send_all(producer, messages)
                except KafkaTimeoutError:  # no room yet behind an earlier batch: nothing was refused
                    raise
                except KafkaError:
                    await self._discard_producer()
                    raise

    def _check_sizes(self, messages: Sequence[Message]) -> None:
        """A batch the broker refuses for good is the end of an idempotent producer: never try one."""
        largest = max((message.size_bytes for message in messages), default=0)
        if largest > (self.max_message_bytes or 0):
            raise InvariantBroken(
                f"a message of {largest} bytes, at most {self.max_message_bytes} can be sent"
            )

    async def _send_all(self, producer: AIOKafkaProducer, messages: Sequence[Message]) -> None:
        partitions = sorted(await producer.partitions_for(self._config.topic))
        sent: list[asyncio.Future[object]] = []
        for partition, batch in self._batches(producer, partitions, messages):
            sent.append(await producer.send_batch(batch, self._config.topic, partition=partition))
        results = await asyncio.gather(*sent, return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result

    def _batches(
        self, producer: AIOKafkaProducer, partitions: list[int], messages: Sequence[Message]
    ) -> Iterator[tuple[int, BatchBuilder]]:
        """Batches with their partition, in the order in which they fill."""
        filling: dict[int, BatchBuilder] = {}
        for message in messages:
            partition = self._partition_of(message.key, partitions, partitions)
            batch = filling.get(partition)
            if batch is None or not _append(batch, message):
                if batch is not None:
                    yield partition, batch
                batch = filling[partition] = producer.create_batch()
                _append(batch, message)
        yield from filling.items()

    async def _open_producer(self) -> AIOKafkaProducer:
        options = self._config.producer_options()
        options["max_batch_size"] = min(options["max_batch_size"], self.max_message_bytes)
        producer = AIOKafkaProducer(**options)
        try:
            await producer.start()
        except BaseException:
            await producer.stop()
            raise
        self._producer = producer
        return producer

    async def _discard_producer(self) -> None:
        """Close without the flush of aiokafka's `stop`, which lasts as long as the brokers are away.

        Every send that returned was acknowledged, so whatever is still queued was reported as failed.
        """
        producer, self._producer = self._producer, None
        if producer is not None:
            producer._closed = True  # noqa: SLF001 - `stop` does it first, too
            # At most the requests under way are awaited. A sender that never ran raises its own cancellation.
            await asyncio.gather(producer._sender.close(), return_exceptions=True)  # noqa: SLF001 - see above
            await producer.client.close()


def _append(batch: BatchBuilder, message: Message) -> bool:
    """Whether there was room; the first message of a batch always has some."""
    metadata = batch.append(
        timestamp=None, key=message.key, value=message.value, headers=list(message.headers)
    )
    return metadata is not None
