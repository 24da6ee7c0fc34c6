"""Read a topic as it is now: every retained record, or the latest ones, up to the end at the time of opening.

The reader has no group, so it affects no consumer and stores no offsets. It reads committed records only.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition

from neardup_stream.message import Partition, Record
from neardup_stream.streams.kafka.admin import TopicFacts, require_topics
from neardup_stream.streams.kafka.aiokafka_batches_compat import parse_any_batch
from neardup_stream.streams.kafka.config import (
    DEFAULT_MAX_EXPANDED_BYTES,
    KafkaConnection,
)
from neardup_stream.streams.kafka.consumer import close_consumer, fetch, position, record_in
from neardup_stream.streams.kafka.errors import kafka_errors, unavailable
from neardup_stream.streams.kafka.starting import start_client
from neardup_stream.wire.header_limit import DEFAULT_MAX_HEADERS

__all__ = ["TopicSnapshot", "open_snapshot"]

_BATCH_RECORDS = 500
_BATCH_BYTES = 8 << 20
_PARTITION_BYTES = 1 << 20
_CLOCKS_MS = 60_000


@dataclass(frozen=True, slots=True)
class TopicSnapshot:
    """A topic, open for one reading.

    Attributes:
        beginnings: first retained offset, by partition.
        ends: offset after the last one.
        facts: properties of the topic.
    """

    beginnings: Mapping[Partition, int]
    ends: Mapping[Partition, int]
    facts: TopicFacts
    _starts: Mapping[Partition, int]
    _consumer: AIOKafkaConsumer
    _topic: str
    _input_id: str
    _timeout_seconds: float

    def complete_since_ms(self, now_ms: int) -> int | None:
        """Return the time from which records are complete; None if it is unknown, 0 for all.

        Args:
            now_ms: when the topic had been read, epoch milliseconds; clocks may differ by a minute.
        """
        if "compact" in (self.facts.cleanup_policy or ""):
            return None
        if not any(self.beginnings.values()):
            return 0
        return None if self.facts.kept_ms is None else now_ms - self.facts.kept_ms + _CLOCKS_MS

    @property
    def is_whole(self) -> bool:
        """Whether `records` yields all that the topic retains."""
        return self._starts == self.beginnings

    async def records(self) -> AsyncIterator[Sequence[Record]]:
        """Yield the records, in order within each partition, a few hundred at a time.

        A second call continues where the first one raised.

        Raises:
            StreamUnavailable: no broker answers any more.
            ConfigError: access is denied.
        """
        unread = {one for one, end in self.ends.items() if self._starts[one] < end}
        last_progress = monotonic()
        while unread:
            with kafka_errors(f"reading {self._topic}", right="Read"):
                wanted = [TopicPartition(self._topic, one.number) for one in unread]
                fetched = await fetch(self._consumer, _BATCH_RECORDS, _BATCH_BYTES, wanted)
            for topic_partition, found in fetched.items():
                partition = Partition(self._input_id, topic_partition.partition)
                yield [record_in(partition, each) for each in found if each.offset < self.ends[partition]]
            still_unread = {one for one in unread if self._is_unread(one)}
            if fetched or still_unread != unread:
                last_progress = monotonic()
            elif monotonic() - last_progress > self._timeout_seconds:
                raise unavailable(
                    "timeout", f"reading {self._topic}: nothing came for {self._timeout_seconds:g} s"
                )
            unread = still_unread

    def _is_unread(self, one: Partition) -> bool:
        at = position(self._consumer, TopicPartition(self._topic, one.number))
        return at is None or at < self.ends[one]  # None while aiokafka looks for what retention has left


@asynccontextmanager
async def open_snapshot(
    connection: KafkaConnection,
    topic: str,
    input_id: str,
    *,
    latest: int | None = None,
    max_expanded_bytes: int = DEFAULT_MAX_EXPANDED_BYTES,
    max_headers: int = DEFAULT_MAX_HEADERS,
) -> AsyncIterator[TopicSnapshot]:
    """Look up the first and last offsets of a topic, and prepare to read it.

    Args:
        connection: the cluster.
        topic: must exist.
        input_id: of its positions.
        latest: read at most so many offsets, as many of each partition, at least one; None reads all.
        max_expanded_bytes: most bytes of a batch, in this process, from now on.
        max_headers: most headers of a record, likewise.

    Raises:
        StreamUnavailable: the cluster cannot be reached.
        ConfigError: the topic does not exist, or may not be read.
    """
    facts = (await require_topics(connection, [topic], right="Read"))[topic]
    everything = [TopicPartition(topic, number) for number in range(facts.partitions)]
    parse_any_batch(max_expanded_bytes, max_headers)
    consumer = AIOKafkaConsumer(**_consumer_options(connection))
    try:
        with kafka_errors(f"reading {topic}", right="Read"):
            await start_client(consumer)
            consumer.assign(everything)
            beginnings = await consumer.beginning_offsets(everything)
            ends = await consumer.end_offsets(everything)
            each = None if latest is None else max(1, latest // facts.partitions)
            starts = {
                one: begin if each is None else max(begin, ends[one] - each)
                for one, begin in beginnings.items()
            }
            for one in everything:
                consumer.seek(one, starts[one])
        yield TopicSnapshot(
            beginnings={Partition(input_id, one.partition): offset for one, offset in beginnings.items()},
            ends={Partition(input_id, one.partition): offset for one, offset in ends.items()},
            facts=facts,
            _starts={Partition(input_id, one.partition): offset for one, offset in starts.items()},
            _consumer=consumer,
            _topic=topic,
            _input_id=input_id,
            _timeout_seconds=connection.request_timeout_seconds,
        )
    finally:
        await close_consumer(consumer)


def _consumer_options(connection: KafkaConnection) -> dict[str, Any]:
    return {
        **connection.client_options(),
        "group_id": None,
        "enable_auto_commit": False,
        "auto_offset_reset": "earliest",
        "isolation_level": "read_committed",
        "max_partition_fetch_bytes": _PARTITION_BYTES,
    }
