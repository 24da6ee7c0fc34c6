"""Choose and check the start offsets of partitions.

The store knows the finished offsets. If a group starts at an offset below them, the topic was recreated, or
its offsets were reset: its records would be mistaken for finished ones, and never be processed. So the daemon
refuses to start, and the remedy is another input epoch.

Committed offsets are never read from the consumer: aiokafka treats an answer with an error, such as that of a
coordinator that is not ready, like that of a group without a committed offset.
"""

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from typing import Final, Protocol

from aiokafka import AIOKafkaConsumer, TopicPartition

from neardup_stream.errors import ConfigError
from neardup_stream.message import Partition, input_id
from neardup_stream.streams.kafka.admin import committed, committed_offsets
from neardup_stream.streams.kafka.config import KafkaSourceConfig
from neardup_stream.streams.kafka.consumer import close_consumer, open_consumer, partition_count
from neardup_stream.streams.kafka.errors import kafka_errors
from neardup_stream.streams.kafka.partitions import name_of

__all__ = ["InputHistory", "NoHistory", "StartOffsets", "check_offsets"]

_log = logging.getLogger(__name__)

_NO_OFFSET: Final = "no committed offset"


class InputHistory(Protocol):
    """The finished positions of inputs. Each method raises StoreUnavailable if they cannot be read."""

    async def enter(self, topic: str, epoch: int) -> None:
        """Register as a reader of this epoch.

        Raises:
            ConfigError: a higher epoch is read already.
        """
        ...

    async def require_epoch(self, topic: str, epoch: int) -> None:
        """Raise as `enter` does, without registering.

        Raises:
            ConfigError: a higher epoch is read already.
        """
        ...

    async def finished_below(self, partitions: Sequence[Partition]) -> Mapping[Partition, int]:
        """Return the offsets below which everything is finished; 0 if unknown."""
        ...

    async def witnesses(self, partitions: Sequence[Partition]) -> Mapping[Partition, str]:
        """Return the metadata for committed offsets, to be checked when they are read again."""
        ...

    async def check(self, witnesses: Mapping[Partition, str], unread: Collection[Partition] = ()) -> None:
        """Check that the metadata of committed offsets still holds.

        Args:
            witnesses: the metadata, by partition.
            unread: of these the committed offset is the first one, so the metadata counts only if it says
                that
                something was decided.

        Raises:
            ConfigError: it does not hold: the index was lost.
        """
        ...


class NoHistory:
    """An empty history, for readers without an index."""

    async def enter(self, topic: str, epoch: int) -> None:
        """Do nothing: any epoch may be read."""

    async def require_epoch(self, topic: str, epoch: int) -> None:
        """Do nothing: any epoch may be read."""

    async def finished_below(self, partitions: Sequence[Partition]) -> Mapping[Partition, int]:
        """Return 0 for every partition: nothing is finished."""
        return dict.fromkeys(partitions, 0)

    async def witnesses(self, partitions: Sequence[Partition]) -> Mapping[Partition, str]:
        """Return nothing: no metadata."""
        return dict.fromkeys(partitions, "")

    async def check(self, witnesses: Mapping[Partition, str], unread: Collection[Partition] = ()) -> None:
        """Do nothing: all metadata is accepted."""


class StartOffsets:
    """Choose and check start offsets.

    Args:
        config: the policies.
        history: finished positions.
    """

    def __init__(self, config: KafkaSourceConfig, history: InputHistory) -> None:
        self._config = config
        self._history = history
        self._first_counts: dict[str, int] = {}

    def partition(self, topic_partition: TopicPartition) -> Partition:
        """Return the partition as an input of this epoch."""
        return Partition(input_id(topic_partition.topic, self._config.input_epoch), topic_partition.partition)

    async def check(self, consumer: AIOKafkaConsumer, assigned: Collection[TopicPartition]) -> None:
        """Raise for partitions whose committed offset or end contradicts the finished positions.

        The finished positions are read first: of an unmodified topic the other two only grow, and are never
        smaller.

        Raises:
            ConfigError: a partition is refused, or the topic is read in a higher epoch.
            StreamUnavailable: ends or committed offsets cannot be read now.
            StoreUnavailable: finished positions cannot be read now.
        """
        with kafka_errors("looking up offsets", "Read"):
            async with asyncio.timeout(self._config.connection.request_timeout_seconds):
                for topic in {one.topic for one in assigned}:
                    await self._history.enter(topic, self._config.input_epoch)
                    count = max(one.partition + 1 for one in assigned if one.topic == topic)
                    self._first_counts.setdefault(topic, max(count, partition_count(consumer, [topic])))
                await self._compare(consumer, assigned)

    async def compare(
        self, consumer: AIOKafkaConsumer, partitions: Sequence[TopicPartition], *, is_start: bool
    ) -> None:
        """Raise as `check` does, without registering as a reader; nothing is written.

        Args:
            consumer: is assigned nothing.
            partitions: the ones to compare.
            is_start: whether to raise also for start offsets that the first reads would refuse.
        """
        with kafka_errors("looking up offsets", "Read"):
            async with asyncio.timeout(self._config.connection.request_timeout_seconds):
                for topic in {one.topic for one in partitions}:
                    await self._history.require_epoch(topic, self._config.input_epoch)
                await self._compare(consumer, partitions)
                if is_start:
                    await self._check_starts(consumer, partitions)

    async def committed(self, some: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the committed offsets of the group; omits partitions without one.

        Raises:
            ConfigError: access is denied.
            StreamUnavailable: they cannot be read now.

        Cost: a connection and two requests.
        """
        return await committed_offsets(self._config.connection, self._config.group_id, some)

    async def witnesses(self, some: Collection[TopicPartition]) -> dict[TopicPartition, str]:
        """Return the metadata for committed offsets.

        Raises:
            StoreUnavailable: it cannot be read now.
        """
        partitions = {one: self.partition(one) for one in some}
        found = await self._history.witnesses(list(partitions.values()))
        return {one: found[partition] for one, partition in partitions.items()}

    async def first(self, consumer: AIOKafkaConsumer, topic_partition: TopicPartition) -> int:
        """Return the start offset of a partition for which the consumer found no committed offset.

        A partition that was added since this consumer first had the topic is read from its beginning,
        whatever the policy: nothing else has read it.

        Raises:
            ConfigError: it is refused.
            StreamUnavailable: committed offsets cannot be read now.
            KafkaError: as the request raises it.
        """
        committed = await self.committed([topic_partition])
        if topic_partition in committed:
            return committed[topic_partition]
        topic, number = topic_partition
        is_added = number >= self._first_counts.get(topic, number + 1)
        where = "earliest" if is_added else self._config.first_start
        return await self._choose(consumer, topic_partition, where, _NO_OFFSET, "first_start")

    async def after_a_gap(
        self, consumer: AIOKafkaConsumer, topic_partition: TopicPartition, offset: int
    ) -> int:
        """Return where to continue if a partition no longer has the next offset.

        Raises:
            ConfigError: it is refused.
            KafkaError: as the request raises it.
        """
        where = self._config.out_of_range
        return await self._choose(consumer, topic_partition, where, _gone(offset), "out_of_range")

    async def _compare(self, consumer: AIOKafkaConsumer, assigned: Collection[TopicPartition]) -> None:
        await self._check_witnesses(consumer, assigned)
        floors = await self._finished_below(assigned)
        known = [one for one in assigned if floors[one]]
        if not known:
            return
        ends = await consumer.end_offsets(known)
        committed = await self.committed(known)
        for one in known:
            self._refuse_below(floors[one], one, "ends at", ends[one])
            if one in committed:
                self._refuse_below(floors[one], one, "is committed up to", committed[one])

    async def _check_witnesses(
        self, consumer: AIOKafkaConsumer, assigned: Collection[TopicPartition]
    ) -> None:
        """Check the metadata also of offsets at the beginning: records after them may have been published."""
        found = await committed(self._config.connection, self._config.group_id, list(assigned))
        beginnings = await consumer.beginning_offsets(list(found)) if found else {}
        await self._history.check(
            {self.partition(one): commit.metadata for one, commit in found.items()},
            [self.partition(one) for one, commit in found.items() if commit.offset <= beginnings[one]],
        )

    async def _check_starts(self, consumer: AIOKafkaConsumer, partitions: Sequence[TopicPartition]) -> None:
        """Raise for partitions whose first read raises: without a committed offset, or without its record.

        What grows while daemons run is read first where it may only be smaller. An offset above the end is
        not refused: an open transaction hides the end of its partition.
        """
        floors = await self._finished_below(partitions)
        beginnings = await consumer.beginning_offsets(partitions)
        committed = await self.committed(partitions)
        starts = {"earliest": beginnings, "latest": await consumer.end_offsets(partitions)}
        for one in partitions:
            if one not in committed:
                where, found, setting = self._config.first_start, _NO_OFFSET, "first_start"
            elif committed[one] < beginnings[one]:
                where, found, setting = self._config.out_of_range, _gone(committed[one]), "out_of_range"
            else:
                continue
            self._refuse_failing(one, where, found, setting)
            self._refuse_start(floors[one], one, found, where, starts[where][one])

    async def _choose(
        self, consumer: AIOKafkaConsumer, one: TopicPartition, where: str, found: str, setting: str
    ) -> int:
        """Return the start offset by a policy, and log it.

        Raises:
            ConfigError: the policy is `fail`, or the offset is below the finished positions.
        """
        self._refuse_failing(one, where, found, setting)
        floors = await self._finished_below([one])
        ask = consumer.beginning_offsets if where == "earliest" else consumer.end_offsets
        offset = int((await ask([one]))[one])
        self._refuse_start(floors[one], one, found, where, offset)
        level = logging.WARNING if setting == "out_of_range" else logging.INFO
        fields = {"partition": name_of(one), "reason": found, "setting": f"kafka.{setting}", "value": where}
        _log.log(level, "start_offset_chosen", extra={"fields": {**fields, "offset": offset}})
        return offset

    def _refuse_failing(self, one: TopicPartition, where: str, found: str, setting: str) -> None:
        if where == "fail":
            raise ConfigError(
                f"group {self._config.group_id} has {found}, for {name_of(one)}: "
                f"set kafka.{setting} to earliest or latest to go on"
            )

    def _refuse_start(self, floor: int, one: TopicPartition, found: str, where: str, offset: int) -> None:
        self._refuse_below(floor, one, f"would begin, having {found}, at the {where} offset", offset)

    async def _finished_below(self, some: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        partitions = {one: self.partition(one) for one in some}
        floors = await self._history.finished_below(list(partitions.values())) if partitions else {}
        return {one: floors[partition] for one, partition in partitions.items()}

    def _refuse_below(self, floor: int, one: TopicPartition, does: str, offset: int) -> None:
        if offset < floor:
            raise ConfigError(
                f"{name_of(one)} {does} {offset}, and all below {floor} was finished before: the topic was "
                f"made anew, or its offsets were reset. Set kafka.input_epoch = "
                f"{self._config.input_epoch + 1} in every daemon to have it judged as a new input, or set "
                f"the offsets of group {self._config.group_id} to {floor} to go on; if Redis was restored "
                "from an older copy, run 'neardup-stream recover' after that"
            )


def _gone(offset: int) -> str:
    return f"offset {offset}, which is not there: deleted unread, or the topic was made anew"


async def check_offsets(
    config: KafkaSourceConfig, history: InputHistory, partition_count: int, *, is_start: bool
) -> None:
    """Compare the committed offsets of a group with an index and the topic, as a daemon does at its start.

    Args:
        config: names one topic and the group, which is not joined.
        history: finished positions of the index; nothing is written there.
        partition_count: of the topic.
        is_start: whether a daemon is to start there: also raises where `kafka.first_start` or
            `kafka.out_of_range` refuses the start offset of a partition.

    Raises:
        ConfigError: they contradict each other, the index was lost, or a higher epoch is read; the message
            names the remedy.
        StreamUnavailable: ends or committed offsets cannot be read now.
        StoreUnavailable: finished positions cannot be read now.
    """
    (topic,) = config.topics
    consumer = await open_consumer(config)
    try:
        partitions = [TopicPartition(topic, number) for number in range(partition_count)]
        await StartOffsets(config, history).compare(consumer, partitions, is_start=is_start)
    finally:
        await close_consumer(consumer)
