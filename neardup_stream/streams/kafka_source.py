"""Pages from Kafka: raw bytes in, explicit commits, and the one place that knows of rebalances.

A rebalance takes all partitions away before it deals them anew, also those that come back. So what was
read belongs to one *membership*: from an assignment to the next. When it ends, what is in flight is
drained, records not yet handed out are forgotten, and later commits for them are dropped, because
somebody else may have gone on from the commit before.

Nothing here is locked: aiokafka calls the listener from a task of its own while a read may be waiting,
and a lock shared by the two would never be given back. Partitions are never paused either, which would
throw away what is prefetched; a pipeline that has enough does not call `read`.
"""

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from typing import Self

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, OffsetAndMetadata, TopicPartition
from aiokafka.errors import (
    CommitFailedError,
    IllegalStateError,
    NoOffsetForPartitionError,
    OffsetOutOfRangeError,
)
from aiokafka.structs import ConsumerRecord

from neardup_stream.errors import ConfigError, InvariantBroken, NeardupError, StreamUnavailable
from neardup_stream.message import Partition, Position, Record
from neardup_stream.streams.buffer import take_records
from neardup_stream.streams.kafka_admin import require_topics
from neardup_stream.streams.kafka_config import FirstStart, KafkaSourceConfig, OutOfRange
from neardup_stream.streams.kafka_errors import kafka_errors
from neardup_stream.streams.protocol import Drain

__all__ = ["KafkaSource"]

_log = logging.getLogger(__name__)

WAIT_MS = 200
"""How long a read waits for the first record."""

REBALANCE_WAIT_SECONDS = 1.0
"""And how long when the group rebalances, during which aiokafka would wait without a limit."""


@dataclass(slots=True)
class _Run:
    """What this membership read of a partition: offsets from `first`, `end` not among them."""

    first: int
    end: int
    committed: int


class KafkaSource:
    """Reads topics as a member of a consumer group.

    The input id of a partition is its topic.

    Attributes:
        dropped_commit_count: partitions whose commit came after they were given away.
    """

    def __init__(self, config: KafkaSourceConfig) -> None:
        self._config = config
        self._consumer: AIOKafkaConsumer | None = None
        self._ready: deque[Record] = deque()
        self._runs: dict[TopicPartition, _Run] = {}
        self._drain: Drain | None = None
        self._failure: NeardupError | None = None
        self.dropped_commit_count = 0

    async def __aenter__(self) -> Self:
        """Connect and begin to join the group; the first reads wait for its answer.

        Raises:
            StreamUnavailable: the cluster cannot be reached.
            ConfigError: a topic does not exist, or may not be read.
        """
        await require_topics(self._config.connection, self._config.topics)
        consumer = AIOKafkaConsumer(**self._config.consumer_options())
        try:
            with kafka_errors(f"connecting to {self._config.connection.bootstrap_servers}"):
                async with asyncio.timeout(self._config.connection.request_timeout_seconds):
                    await consumer.start()
        except BaseException:
            await consumer.stop()
            raise
        consumer.subscribe(self._config.topics, listener=_Listener(self._give_away))
        self._ready.clear()
        self._runs.clear()
        self._consumer = consumer
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Leave the group."""
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            # While brokers are away, aiokafka cancels its own fetches and stumbles over that half-way.
            outcome: list[object] = await asyncio.gather(consumer.stop(), return_exceptions=True)
            if outcome != [None]:
                _log.info("the consumer was closed by force: %r", outcome)
                await consumer._client.close()  # noqa: SLF001 - the half it leaves undone

    def on_revoke(self, drain: Drain) -> None:
        """Await `drain`, at most `drain_seconds` long, before partitions are given away.

        It may call `commit`; reads return nothing meanwhile.
        """
        self._drain = drain

    async def read(self, max_records: int, max_bytes: int) -> Sequence[Record]:
        """The next records of the partitions that are ours.

        Raises:
            StreamUnavailable: the cluster cannot be reached.
            ConfigError: where to begin is unknown or gone and the policy is to stop; access was refused.
            CorruptData: a batch failed its checksum.
        """
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        if not self._ready:
            await self._fetch(max_records)
        return take_records(self._ready, max_records, max_bytes)

    async def commit(self, next_offsets: Mapping[Partition, int]) -> None:
        """Commit what this membership read; drop, and count, what an earlier one did.

        Raises:
            StreamUnavailable: no answer; the same commit may be repeated.
        """
        offsets: dict[TopicPartition, int] = {}
        for partition, offset in next_offsets.items():
            topic_partition = TopicPartition(partition.input_id, partition.number)
            run = self._runs.get(topic_partition)
            if run is None or not run.first <= offset <= run.end:
                self.dropped_commit_count += 1
            elif offset > run.committed:
                offsets[topic_partition] = offset
        if offsets:
            await self._commit(offsets)

    def lag(self) -> Mapping[Partition, int]:
        """Records between us and the end of each partition, once something was fetched of it."""
        waiting = Counter(record.position.partition for record in self._ready)
        lag: dict[Partition, int] = {}
        for topic_partition in self._open_consumer.assignment():
            end = self._open_consumer.highwater(topic_partition)
            if end is not None:
                partition = Partition(topic_partition.topic, topic_partition.partition)
                position = _position(self._open_consumer, topic_partition)
                lag[partition] = max(0, end - position) + waiting[partition]
        return lag

    @property
    def _open_consumer(self) -> AIOKafkaConsumer:
        if self._consumer is None:
            raise InvariantBroken("the Kafka source is used outside of its context")
        return self._consumer

    async def _fetch(self, max_records: int) -> None:
        consumer = self._open_consumer
        fetched: dict[TopicPartition, list[ConsumerRecord]] = {}
        with kafka_errors("reading"):
            try:
                with suppress(TimeoutError):
                    async with asyncio.timeout(REBALANCE_WAIT_SECONDS):
                        fetched = await consumer.getmany(timeout_ms=WAIT_MS, max_records=max_records)
                # No `await` stands between taking and keeping, so a cancelled read loses nothing.
                self._keep(fetched)
            except NoOffsetForPartitionError as error:
                await self._begin(
                    error.args[0], self._config.first_start, "no committed offset", "first_start"
                )
            except OffsetOutOfRangeError as error:
                for topic_partition, offset in error.args[0].items():
                    gone = f"offset {offset}, which is not there: deleted unread, or the topic was made anew"
                    await self._begin(topic_partition, self._config.out_of_range, gone, "out_of_range")
        if not fetched:
            self._check_for_answers()

    def _keep(self, fetched: Mapping[TopicPartition, Sequence[ConsumerRecord]]) -> None:
        for topic_partition, records in fetched.items():
            first, end = records[0].offset, records[-1].offset + 1
            run = self._runs.setdefault(topic_partition, _Run(first, end, committed=first))
            run.end = end
            partition = Partition(topic_partition.topic, topic_partition.partition)
            self._ready.extend(
                [
                    Record(
                        position=Position(partition, record.offset),
                        key=record.key,
                        value=record.value,
                        headers=tuple((name, value or b"") for name, value in record.headers),
                        timestamp_ms=record.timestamp,
                    )
                    for record in records
                ]
            )

    async def _begin(
        self, topic_partition: TopicPartition, where: FirstStart | OutOfRange, found: str, setting: str
    ) -> None:
        """Go where the policy says, and commit that, so that it is decided once."""
        name = f"{topic_partition.topic}-{topic_partition.partition}"
        if where == "fail":
            raise ConfigError(
                f"group {self._config.group_id} has {found}, for {name}: "
                f"set kafka.{setting} to earliest or latest to go on"
            )
        ask = (
            self._open_consumer.beginning_offsets if where == "earliest" else self._open_consumer.end_offsets
        )
        offset = (await ask([topic_partition]))[topic_partition]
        level = logging.WARNING if setting == "out_of_range" else logging.INFO
        _log.log(level, "%s has %s, begins at the %s offset, %d", name, found, where, offset)
        self._runs.pop(topic_partition, None)
        if await self._commit({topic_partition: offset}):
            self._open_consumer.seek(topic_partition, offset)

    async def _commit(self, offsets: Mapping[TopicPartition, int]) -> bool:
        """Whether the group still counts these partitions as ours."""
        requests = {one: OffsetAndMetadata(offset, "") for one, offset in offsets.items()}
        with kafka_errors("committing"):
            try:
                async with asyncio.timeout(self._config.connection.request_timeout_seconds):
                    await self._open_consumer.commit(requests)
            except (CommitFailedError, IllegalStateError):  # the group has moved on
                self.dropped_commit_count += len(offsets)
                return False
        for topic_partition, offset in offsets.items():
            if (run := self._runs.get(topic_partition)) is not None:
                run.committed = offset
        return True

    def _check_for_answers(self) -> None:
        """Tell an empty topic from a lost cluster: brokers answer an empty fetch, too, twice a second."""
        consumer = self._open_consumer
        answered = [consumer.last_poll_timestamp(one) for one in consumer.assignment()]
        silent_seconds = time.time() - max(filter(None, answered), default=inf) / 1000
        if silent_seconds > self._config.connection.request_timeout_seconds:
            raise StreamUnavailable(f"reading: no broker has answered for {silent_seconds:.0f} s")

    async def _give_away(self, revoked: Collection[TopicPartition]) -> None:
        """End the membership. Its failure would be swallowed here, so the next read raises it."""
        self._ready.clear()
        try:
            if self._drain is not None and revoked:
                async with asyncio.timeout(self._config.drain_seconds):
                    await self._drain()
        except TimeoutError:
            _log.warning("gave partitions away undrained after %s s", self._config.drain_seconds)
        except NeardupError as error:
            self._failure = error
        finally:
            self._runs.clear()


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc] # aiokafka has no types
    """What aiokafka calls around a rebalance, once for all partitions."""

    def __init__(self, give_away: Callable[[Collection[TopicPartition]], Awaitable[None]]) -> None:
        self._give_away = give_away

    async def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        await self._give_away(revoked)

    async def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        _log.info("assigned %s", sorted(f"{one.topic}-{one.partition}" for one in assigned))


def _position(consumer: AIOKafkaConsumer, topic_partition: TopicPartition) -> int:
    """The next offset to fetch, without waiting: once something was fetched, the answer is at hand."""
    answer = consumer.position(topic_partition)
    try:
        answer.send(None)
    except StopIteration as returned:
        return int(returned.value)
    finally:
        answer.close()
    raise InvariantBroken(f"the position of {topic_partition} is not known")
