"""Read pages from Kafka with explicit commits, and handle rebalances.

A rebalance revokes all partitions before it assigns them again, including those that stay. So what was read
belongs to one *membership*: the time from an assignment to the next. When it ends, the records in flight are
drained, records not yet returned are dropped, and later commits for them are dropped, because another
consumer may have continued from the previous commit.

There are no locks: aiokafka calls the listener from a task of its own while a read may be waiting, and a lock
shared by the two would deadlock. Partitions are never paused either, which would drop prefetched records; a
pipeline that has enough does not call `read`.
"""

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Collection, Mapping, Sequence
from typing import Self

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import NoOffsetForPartitionError, OffsetOutOfRangeError

from neardup_stream.errors import InvariantBroken, NeardupError
from neardup_stream.message import Partition, Record
from neardup_stream.meters import NoMeters, PipelineMeters
from neardup_stream.streams.buffer import take_records
from neardup_stream.streams.kafka.aiokafka_compat import generation_of, has_ended_task
from neardup_stream.streams.kafka.config import KafkaSourceConfig
from neardup_stream.streams.kafka.consumer import (
    FetchedRecords,
    close_consumer,
    fetch,
    partition_count,
    record_in,
    unread_counts,
)
from neardup_stream.streams.kafka.errors import kafka_errors
from neardup_stream.streams.kafka.idle_check import IdleCheck
from neardup_stream.streams.kafka.membership import Listener, commit_as_member, fencing_error, join
from neardup_stream.streams.kafka.partitions import name_of, topic_partition_of
from neardup_stream.streams.kafka.read_progress import ReadProgress
from neardup_stream.streams.kafka.start_offsets import InputHistory, NoHistory, StartOffsets
from neardup_stream.streams.protocol import Begin, Drain, Finish, TakeOver

__all__ = ["KafkaSource"]

_log = logging.getLogger(__name__)


class KafkaSource:
    """Read topics as a member of a consumer group.

    A broken consumer is replaced by a new one, which the group sees as a rebalance.

    Args:
        config: the topics and the group.
        history: finished positions, to detect a recreated topic.
        meters: counts commits that came too late.
    """

    def __init__(
        self,
        config: KafkaSourceConfig,
        history: InputHistory | None = None,
        meters: PipelineMeters | None = None,
    ) -> None:
        self._config = config
        self._start_offsets = StartOffsets(config, history or NoHistory())
        self._meters = meters or NoMeters()
        self._consumer: AIOKafkaConsumer | None = None
        self._is_open = False
        self._ready: deque[Record] = deque()
        self._progress = ReadProgress()
        self._idle_check = IdleCheck(config)
        self._untaken: set[TopicPartition] = set()
        self._is_member = False
        self._generation = -1
        self._drain: Drain | None = None
        self._on_assign: TakeOver | None = None
        self._on_begin: Begin | None = None
        self._finish: Finish | None = None
        self._failure: NeardupError | None = None

    async def __aenter__(self) -> Self:
        """Connect and begin to join the group; the first reads wait for the assignment.

        Raises:
            StreamUnavailable: the cluster cannot be reached.
            StoreUnavailable: the finished positions cannot be looked up.
            ConfigError: a topic does not exist, may not be read, or contradicts the finished positions.
        """
        self._ready.clear()
        self._progress = ReadProgress()
        self._consumer = await self._join()
        self._is_open = True
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Leave the group."""
        self._is_open = False
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            await close_consumer(consumer)

    def on_revoke(self, drain: Drain) -> None:
        """Await `drain`, which has its own deadline, before partitions are revoked.

        It may call `commit`; reads return nothing meanwhile.
        """
        self._drain = drain

    def on_assign(self, take_over: TakeOver) -> None:
        """Await `take_over` before newly assigned partitions are read, from the offsets it returns."""
        self._on_assign = take_over

    def on_begin(self, begin: Begin) -> None:
        """Await `begin` before newly assigned partitions are read, once their start offsets are checked."""
        self._on_begin = begin

    def on_gap(self, finish: Finish) -> None:
        """Await `finish`, which may call `commit`, before a committed offset passes deleted records."""
        self._finish = finish

    async def read(self, max_records: int, max_bytes: int) -> Sequence[Record]:
        """Return the next records of the assigned partitions.

        Raises:
            StreamUnavailable: the cluster cannot be reached.
            StoreUnavailable: the finished positions cannot be looked up.
            ConfigError: the start offset is unknown, gone or contradicts the finished positions; access was
                denied; another member took our instance id; a topic was deleted.
            CorruptData: a batch failed its checksum.
        """
        if not self._is_open:
            raise InvariantBroken("the Kafka source is used outside of its context")
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        if not self._ready or self._untaken:
            consumer = await self._working_consumer()
            await self._take_over(consumer)
            if not self._ready:
                await self._fetch(consumer, max_records, max_bytes)
        if self._untaken:  # assigned meanwhile: what was fetched of them waits for the next read
            return ()
        return take_records(self._ready, max_records, max_bytes)

    async def note_decided(self, next_offsets: Mapping[Partition, int]) -> Collection[Partition]:
        """Commit the same offsets once more, with metadata about what the index has decided.

        Raises:
            StreamUnavailable: no answer; calling again is safe.
            StoreUnavailable: the index cannot be read now.
            ConfigError: access was denied.
        """
        offsets = {topic_partition_of(partition): offset for partition, offset in next_offsets.items()}
        known = self._progress.led_up_to(offsets)
        unnoted = self._progress.committed(self._progress.above_noted(known))
        if unnoted:
            progress = self._progress
            if await self._commit(unnoted):
                progress.note(known)
            else:
                known = {one: offset for one, offset in known.items() if one not in unnoted}
        return {self._start_offsets.partition(one) for one in known}

    async def commit(self, next_offsets: Mapping[Partition, int]) -> Mapping[Partition, int]:
        """Commit what this membership read; drop, and count, offsets of an earlier one.

        Raises:
            StreamUnavailable: no answer; calling again is safe.
            StoreUnavailable: the metadata of the offsets cannot be read now.
            ConfigError: access was denied.
        """
        offsets = {topic_partition_of(partition): offset for partition, offset in next_offsets.items()}
        known = self._progress.led_up_to(offsets)
        self._meters.dropped_commits(len(offsets) - len(known))
        rising = self._progress.above_committed(known)
        if rising and not await self._commit(rising):
            known = {one: offset for one, offset in known.items() if one not in rising}
        return {self._start_offsets.partition(one): offset for one, offset in known.items()}

    def lag(self) -> Mapping[Partition, int]:
        """Return how many records of each assigned partition wait, after the first fetch.

        It is not known while the group rebalances, nor of partitions that are not taken over yet: what was
        fetched of them may be dropped, and their start may move.
        """
        if self._consumer is None or not self._is_member:
            return {}
        ready = Counter(record.position.partition for record in self._ready)
        return {
            (partition := self._start_offsets.partition(one)): count + ready[partition]
            for one, count in unread_counts(self._consumer).items()
            if one not in self._untaken
        }

    def is_at_end(self) -> bool:
        """Return whether every assigned partition was fetched to its end, and nothing waits to be read."""
        lag = self.lag()
        if self._consumer is None or not lag or any(lag.values()):
            return False
        return len(lag) == len(self._consumer.assignment())

    def untaken(self) -> Collection[Partition]:
        """Return the assigned partitions that are not taken over yet; while the group rebalances, the former.

        None before the first assignment. Whether they have records is not known: the read that waits during a
        rebalance drops what it gets of them.
        """
        return [self._start_offsets.partition(one) for one in self._untaken]

    async def _join(self) -> AIOKafkaConsumer:
        consumer = await join(self._config, self._start_offsets, Listener(self._revoked, self._assigned))
        self._idle_check.heard()
        return consumer

    async def _working_consumer(self) -> AIOKafkaConsumer:
        """Return the consumer, or a new one if it is broken."""
        consumer = self._consumer
        if consumer is not None and not has_ended_task(consumer):
            return consumer
        if consumer is not None:
            _log.warning("consumer_replaced", extra={"fields": {"group_id": self._config.group_id}})
            await self._on_revoked(consumer.assignment())
            self._consumer = None
            await close_consumer(consumer)
        self._consumer = consumer = await self._join()
        return consumer

    async def _take_over(self, consumer: AIOKafkaConsumer) -> None:
        """Before reading in a new membership: get the start offsets from the pipeline, check them, and begin.

        The offsets come first, because a transaction that is still committing hides its offset.
        """
        taken = self._untaken
        if not taken or not self._is_member:
            return
        partitions = {self._start_offsets.partition(one): one for one in taken}
        offsets = await self._on_assign(list(partitions)) if self._on_assign is not None else {}
        await self._start_offsets.check(consumer, taken)
        if self._on_begin is not None:
            await self._on_begin(list(partitions))
        if taken is self._untaken and self._is_member:  # otherwise there was another rebalance, or is one
            for partition, offset in offsets.items():
                consumer.seek(partitions[partition], offset)
            self._untaken = set()

    async def _fetch(self, consumer: AIOKafkaConsumer, max_records: int, max_bytes: int) -> None:
        fetched: FetchedRecords = {}
        with kafka_errors("reading", "Read"):
            try:
                fetched = await fetch(consumer, max_records, max_bytes)
            except NoOffsetForPartitionError as error:
                one = error.args[0]
                await self._begin(consumer, one, await self._start_offsets.first(consumer, one))
            except OffsetOutOfRangeError as error:
                await self._pass_gaps(consumer, error.args[0])
            # No `await` between taking and keeping, so a cancelled read loses nothing.
            self._keep(fetched)
        if not fetched:
            await self._idle_check.look_into(consumer)

    def _keep(self, fetched: FetchedRecords) -> None:
        """Keep records, unless their membership has ended or is not started: those are fetched again."""
        if not self._is_member or (self._untaken and self._on_assign is not None):
            return
        for topic_partition, records in fetched.items():
            self._progress.read(topic_partition, records[0].offset, records[-1].offset + 1)
            partition = self._start_offsets.partition(topic_partition)
            self._ready.extend([record_in(partition, record) for record in records])

    async def _pass_gaps(self, consumer: AIOKafkaConsumer, offsets: Mapping[TopicPartition, int]) -> None:
        """Seek past deleted records, after the records before them are finished."""
        progress = self._progress
        if self._finish is not None:
            await self._finish()
        for one, offset in offsets.items():
            start = await self._start_offsets.after_a_gap(consumer, one, offset)
            # Otherwise there was a rebalance, and another consumer may have continued.
            if progress is self._progress:
                await self._begin(consumer, one, start)

    async def _begin(self, consumer: AIOKafkaConsumer, topic_partition: TopicPartition, offset: int) -> None:
        """Seek to the offset and commit it, so that the choice is made once; records a new start offset."""
        was_read = self._progress.forget(topic_partition)
        if await self._commit({topic_partition: offset}):
            consumer.seek(topic_partition, offset)
            if not was_read:
                self._untaken.add(topic_partition)

    async def _commit(self, offsets: Mapping[TopicPartition, int]) -> bool:
        """Commit, and return whether the partitions are still assigned to us."""
        consumer, progress, generation = self._consumer, self._progress, self._generation
        if consumer is None:
            raise InvariantBroken("a partition is assigned and no consumer is open")
        witnesses = await self._start_offsets.witnesses(offsets)
        is_ours = progress is self._progress  # otherwise the membership ended meanwhile
        if is_ours:
            with kafka_errors("committing", "Read"):
                async with asyncio.timeout(self._config.connection.request_timeout_seconds):
                    is_ours = await commit_as_member(consumer, generation, offsets, witnesses)
        if not is_ours:
            self._meters.dropped_commits(len(offsets))
            return False
        progress.commit(offsets)
        return True

    async def _revoked(self, revoked: Collection[TopicPartition]) -> None:
        """Handle the callback before the consumer joins, for the first time or again."""
        await self._on_revoked(revoked)
        consumer = self._consumer
        fenced = await fencing_error(consumer, self._config) if revoked and consumer is not None else None
        if fenced is not None:
            self._failure = fenced
            raise asyncio.CancelledError  # which ends aiokafka's coordinator, before it competes for the id

    def _assigned(self, assigned: Collection[TopicPartition]) -> None:
        fields = {"partitions": sorted(map(name_of, assigned))}
        _log.info("partitions_assigned", extra={"fields": fields})
        self._untaken = set(assigned)
        self._idle_check.heard()
        self._is_member = True
        if self._consumer is not None:
            self._generation = generation_of(self._consumer)
            self._meters.assigned(len(assigned), partition_count(self._consumer, self._config.topics))

    async def _on_revoked(self, revoked: Collection[TopicPartition]) -> None:
        """End the membership. aiokafka would swallow an exception here, so the next read raises it."""
        self._is_member = False
        self._untaken = self._untaken.union(revoked)  # also if a new consumer joins, which had none before
        self._ready.clear()
        try:
            if self._drain is not None and revoked:
                await self._drain()
        except NeardupError as error:
            self._failure = error
        finally:
            self._progress = ReadProgress()
            self._meters.revoked()
