"""Send messages to Kafka, acknowledged by all in-sync replicas before a send returns."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Self

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError, KafkaTimeoutError

from neardup_stream.errors import StreamUnavailable
from neardup_stream.message import Message
from neardup_stream.streams.kafka.config import KafkaSinkConfig
from neardup_stream.streams.kafka.diagnosis import explain
from neardup_stream.streams.kafka.errors import kafka_errors
from neardup_stream.streams.kafka.partitioning import partition_of
from neardup_stream.streams.kafka.producers import (
    check_sizes,
    discard_producer,
    open_producer,
    send_batches,
)
from neardup_stream.streams.kafka.topic_limits import TopicLimit

__all__ = ["KafkaSink"]


class KafkaSink:
    """Send to one topic; messages with one key have one partition, the one that Java's producer would choose.

    Records have the time of sending, not the message's own: retention depends on it, and the event of a page
    that was crawled a year ago would be deleted on the day it was sent. Events have their time in a header.

    aiokafka's idempotent producer retries forever, so a send that takes too long continues in the background:
    what it delivers later is a redelivery. After a rejected batch the producer is replaced, because the gap
    in its sequence numbers makes the broker reject everything that follows.

    Attributes:
        limit: of the topic, read when the sink is opened and after a batch was too large.
    """

    def __init__(self, config: KafkaSinkConfig) -> None:
        self.limit = TopicLimit(config)
        self._config = config
        self._producer: AIOKafkaProducer | None = None
        self._opening = asyncio.Lock()

    async def __aenter__(self) -> Self:
        """Read the limits of the topic and connect.

        Raises:
            StreamUnavailable: the cluster cannot be reached.
            ConfigError: the topic does not exist, or may not be written.
        """
        await self.limit.read()
        with kafka_errors(f"connecting to {self._config.connection.bootstrap_servers}", "Write"):
            async with asyncio.timeout(self._config.connection.request_timeout_seconds):
                await self._open_producer()
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Close the connections."""
        if self._producer is not None:
            await self._discard(self._producer)

    @property
    def max_message_bytes(self) -> int:
        """Return the limit of the topic minus the overhead of a message."""
        return self.limit.max_message_bytes

    async def send(self, messages: Sequence[Message]) -> None:
        """Deliver all messages to every in-sync replica.

        Raises:
            StreamUnavailable: not all were acknowledged; sending all again is safe.
            ConfigError: access was denied; the topic does not exist, or its limit was lowered since a message
                was built.
        """
        check_sizes(messages, self.max_message_bytes, self._config.topic)
        if not messages:
            return
        try:
            await self._send(messages)
        except StreamUnavailable as error:
            if error.reason == "message_size":
                await self.limit.read()
            else:
                await explain(self._config.connection, [self._config.topic], "Write")
            raise

    async def append(self, message: Message) -> tuple[int, int]:
        """Deliver one message to every in-sync replica; may be called while other calls are in flight.

        Returns:
            The partition and the offset of the message.

        Raises:
            StreamUnavailable: it was not acknowledged, and may be on the topic or not.
            ConfigError: access was refused, the topic is gone, or takes no message of this size.
        """
        check_sizes([message], self.max_message_bytes, self._config.topic)
        try:
            return await self._append(message)
        except StreamUnavailable as error:
            if error.reason == "message_size":
                await self.limit.read()
            raise

    async def _append(self, message: Message) -> tuple[int, int]:
        async with self._sending() as producer:
            topic, headers = self._config.topic, list(message.headers)
            partitions = sorted(await producer.partitions_for(topic))
            partition = partition_of(message, self._config.partitioner, partitions)
            sent = await producer.send(topic, message.value, message.key, partition, headers=headers)
            metadata = await sent
        return metadata.partition, metadata.offset

    async def _send(self, messages: Sequence[Message]) -> None:
        async with self._sending() as producer:
            await send_batches(producer, self._config.topic, messages, self._config.partitioner)

    @asynccontextmanager
    async def _sending(self) -> AsyncIterator[AIOKafkaProducer]:
        """Give the producer for the time of one request; discard it after a rejected batch."""
        with kafka_errors(f"sending to {self._config.topic}", "Write"):
            async with asyncio.timeout(self._config.connection.request_timeout_seconds):
                producer = await self._opened()
                try:
                    yield producer
                except KafkaTimeoutError:  # no room yet after an earlier batch: nothing was rejected
                    raise
                except KafkaError:
                    await self._discard(producer)
                    raise

    async def _opened(self) -> AIOKafkaProducer:
        """Return the producer, a new one where the last was discarded, and one for calls at the same time."""
        async with self._opening:
            return self._producer or await self._open_producer()

    async def _open_producer(self) -> AIOKafkaProducer:
        options = self._config.producer_options()
        options["max_batch_size"] = min(options["max_batch_size"], self.max_message_bytes)
        self._producer = await open_producer(options, self._config.connection)
        return self._producer

    async def _discard(self, producer: AIOKafkaProducer) -> None:
        """Close a producer, unless another call has discarded it."""
        if producer is self._producer:
            self._producer = None
            await discard_producer(producer)
