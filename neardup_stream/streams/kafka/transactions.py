"""Use Kafka's transactions: one transactional producer for each input partition.

The transactional id names group, topic and partition, so it is the same in every daemon: initializing a
producer fences the one of another daemon, and aborts its open transaction. aiokafka sends offsets without the
member id, so this is the only fencing.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from aiokafka import AIOKafkaProducer, OffsetAndMetadata
from aiokafka.errors import IllegalOperation

from neardup_stream.errors import StreamUnavailable
from neardup_stream.gather_all import gather_all
from neardup_stream.message import Message, Partition
from neardup_stream.streams.kafka.admin import committed_offsets
from neardup_stream.streams.kafka.config import KafkaConnection
from neardup_stream.streams.kafka.diagnosis import explain
from neardup_stream.streams.kafka.errors import kafka_errors
from neardup_stream.streams.kafka.partitions import name_of, topic_partition_of
from neardup_stream.streams.kafka.producers import check_sizes, discard_producer, open_producer, send_batches
from neardup_stream.streams.kafka.start_offsets import InputHistory, NoHistory
from neardup_stream.streams.kafka.topic_limits import TopicLimit

__all__ = ["KafkaTransactions", "KafkaTransactionsConfig"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaTransactionsConfig:
    """The configuration of transactional delivery.

    Attributes:
        events: where events go, and how everything is sent.
        dead_letters: where dead letters go, on the same cluster.
        group_id: consumer group whose offsets are committed.
    """

    events: TopicLimit
    dead_letters: TopicLimit
    group_id: str

    @property
    def connection(self) -> KafkaConnection:
        """Return the cluster of both topics."""
        return self.events.config.connection

    def producer_options(self, partition: Partition) -> dict[str, Any]:
        """Return the keyword arguments of aiokafka's producer for one input partition.

        A transaction times out after `request_timeout_seconds`, at the broker too: until it ends, consumers
        with read_committed wait at its start.
        """
        options = self.events.config.producer_options()
        largest_bytes = min(self.events.max_message_bytes, self.dead_letters.max_message_bytes)
        return options | {
            "max_batch_size": min(options["max_batch_size"], largest_bytes),
            "transactional_id": f"{self.group_id}-{name_of(topic_partition_of(partition))}",
            "transaction_timeout_ms": round(self.connection.request_timeout_seconds * 1000),
        }


class KafkaTransactions:
    """Send events and dead letters and commit offsets of a group, in one transaction.

    A failed producer is discarded. Its transaction is aborted when the next producer is initialized, or by
    the broker, after a timeout. After a batch that was too large the limits of both topics are read again.

    Cost: for each partition a producer with two or three connections; for each transaction five requests one
    after the other, and a marker in every partition that it sent to.
    """

    def __init__(self, config: KafkaTransactionsConfig, history: InputHistory | None = None) -> None:
        self._config = config
        self._history = history or NoHistory()
        self._timeout_seconds = config.connection.request_timeout_seconds
        self._producers: dict[Partition, AIOKafkaProducer] = {}

    async def __aenter__(self) -> Self:
        """Do nothing: no producer is open yet."""
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Close every producer."""
        await self.close()

    async def open(self, partitions: Sequence[Partition]) -> Mapping[Partition, int]:
        """Initialize a producer for each, then look up the committed offsets.

        No other producer can commit after that.

        Raises:
            StreamUnavailable: not all are initialized; open them again.
            ConfigError: access was denied, or the broker allows no transaction of this length.
        """
        by_topic = {topic_partition_of(partition): partition for partition in partitions}
        with kafka_errors("opening transactions", "Write"):
            async with asyncio.timeout(self._timeout_seconds):
                await gather_all(map(self._open, partitions))
        offsets = await committed_offsets(self._config.connection, self._config.group_id, list(by_topic))
        return {by_topic[one]: offset for one, offset in offsets.items()}

    async def deliver(
        self,
        partition: Partition,
        *,
        events: Sequence[Message],
        dead_letters: Sequence[Message],
        next_offset: int,
    ) -> None:
        """Send, await every acknowledgement, add the offset, commit.

        Raises:
            StreamUnavailable: it is unknown whether it was committed: open the partition to find out.
            ConfigError: access was denied, a topic does not exist, or its limit was lowered; nothing was
                sent.
        """
        event_limit, letter_limit = self._config.events, self._config.dead_letters
        events_topic, letters_topic = event_limit.config.topic, letter_limit.config.topic
        check_sizes(events, event_limit.max_message_bytes, events_topic)
        check_sizes(dead_letters, letter_limit.max_message_bytes, letters_topic)
        topic_partition = topic_partition_of(partition)
        doing = f"delivering for {name_of(topic_partition)}"
        producer = self._producers.get(partition)
        if producer is None:
            raise StreamUnavailable(f"{doing}: no producer is open", "producer")
        witness = (await self._history.witnesses([partition]))[partition]
        offsets = {topic_partition: OffsetAndMetadata(next_offset, witness)}
        try:
            with kafka_errors(doing, "Write"):
                async with asyncio.timeout(self._timeout_seconds):
                    await producer.begin_transaction()
                    await send_batches(producer, events_topic, events)
                    await send_batches(producer, letters_topic, dead_letters)
                    await producer.send_offsets_to_transaction(offsets, self._config.group_id)
                    await producer.commit_transaction()
        except (AssertionError, IllegalOperation) as error:  # it failed in the background, without details
            await self._discard(partition, producer)
            raise StreamUnavailable(f"{doing}: its producer has failed", "producer") from error
        except StreamUnavailable as error:
            await self._discard(partition, producer)
            if error.reason == "message_size":  # of either topic: the next producer sends smaller batches
                await gather_all([event_limit.read(), letter_limit.read()])
            elif error.reason == "timeout":
                await explain(self._config.connection, [events_topic, letters_topic], "Write")
            raise
        except BaseException:
            await self._discard(partition, producer)
            raise

    async def close(self) -> None:
        """Discard every producer; transactions in flight fail."""
        await asyncio.gather(*(self._discard(*each) for each in tuple(self._producers.items())))

    async def _open(self, partition: Partition) -> None:
        former = self._producers.get(partition)
        if former is not None:
            await self._discard(partition, former)
        options = self._config.producer_options(partition)
        self._producers[partition] = await open_producer(options, self._config.connection)

    async def _discard(self, partition: Partition, producer: AIOKafkaProducer) -> None:
        if self._producers.get(partition) is producer:
            del self._producers[partition]
        await discard_producer(producer)
