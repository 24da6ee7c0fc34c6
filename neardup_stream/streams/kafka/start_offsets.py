"""Where reading a partition begins, and where it must not.

What is finished is remembered by offset. Where a group goes on from an offset below what was finished, the
topic was made anew, or its offsets were reset: its records would be taken for those that were finished, and
never be judged. So that is refused, and the remedy is another input epoch.

What is committed is never asked of the consumer: aiokafka's takes an answer that holds nothing but an error,
as of a coordinator that is not ready, for that of a group that never committed.
"""

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from aiokafka import AIOKafkaConsumer, TopicPartition

from neardup_stream.errors import ConfigError
from neardup_stream.message import Partition, input_id
from neardup_stream.streams.kafka.admin import committed, committed_offsets
from neardup_stream.streams.kafka.config import KafkaSourceConfig
from neardup_stream.streams.kafka.errors import kafka_errors
from neardup_stream.streams.kafka.partitions import name_of

__all__ = ["Beginnings", "InputHistory", "NoHistory"]

_log = logging.getLogger(__name__)


class InputHistory(Protocol):
    """What is remembered of inputs. Each method raises StoreUnavailable while the memory is unavailable."""

    async def enter(self, topic: str, epoch: int) -> None:
        """Be counted among the readers of this epoch.

        Raises:
            ConfigError: a higher one is read already.
        """
        ...

    async def finished_below(self, partitions: Sequence[Partition]) -> Mapping[Partition, int]:
        """The offsets below which everything is finished; 0 where unknown."""
        ...

    async def witnesses(self, partitions: Sequence[Partition]) -> Mapping[Partition, str]:
        """What is to be noted beside committed offsets, to be checked when they are met again."""
        ...

    async def check(self, witnesses: Mapping[Partition, str], unread: Collection[Partition] = ()) -> None:
        """Return if what was noted beside committed offsets still holds.

        Args:
            witnesses: the notes, by partition.
            unread: of these the committed offset is the first one, so the note counts only if it says that
                something was decided.

        Raises:
            ConfigError: it does not: what was stored then is lost.
        """
        ...


class NoHistory:
    """Remembers nothing: for readers that only look."""

    async def enter(self, topic: str, epoch: int) -> None:
        """Whoever comes may read."""

    async def finished_below(self, partitions: Sequence[Partition]) -> Mapping[Partition, int]:
        """Nothing is."""
        return dict.fromkeys(partitions, 0)

    async def witnesses(self, partitions: Sequence[Partition]) -> Mapping[Partition, str]:
        """Nothing is noted."""
        return dict.fromkeys(partitions, "")

    async def check(self, witnesses: Mapping[Partition, str], unread: Collection[Partition] = ()) -> None:
        """Whatever was noted holds."""


class Beginnings:
    """Chooses and checks where partitions begin.

    Args:
        config: the policies.
        history: what was finished before.
    """

    def __init__(self, config: KafkaSourceConfig, history: InputHistory) -> None:
        self._config = config
        self._history = history

    def partition(self, topic_partition: TopicPartition) -> Partition:
        """The partition as the input it is in this epoch."""
        return Partition(input_id(topic_partition.topic, self._config.input_epoch), topic_partition.partition)

    async def check(self, consumer: AIOKafkaConsumer, assigned: Collection[TopicPartition]) -> None:
        """Refuse partitions whose committed offset or end contradicts what was finished.

        What was finished is read first: of an undisturbed topic the other two only grow, and are never below.

        Raises:
            ConfigError: one is refused, or the topic is read in a higher epoch.
            StreamUnavailable: ends, or what is committed, cannot be asked now.
            StoreUnavailable: nor can what was finished.
        """
        with kafka_errors("looking up offsets", "Read"):
            async with asyncio.timeout(self._config.connection.request_timeout_seconds):
                await self._check(consumer, assigned)

    async def committed(self, some: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """What the group has committed; a partition for which it never did is left out.

        Raises:
            ConfigError: it is not for us.
            StreamUnavailable: it cannot be asked now.

        Cost: a connection and two requests.
        """
        return await committed_offsets(self._config.connection, self._config.group_id, some)

    async def witnesses(self, some: Collection[TopicPartition]) -> dict[TopicPartition, str]:
        """What is to be noted beside committed offsets.

        Raises:
            StoreUnavailable: it cannot be asked now.
        """
        partitions = {one: self.partition(one) for one in some}
        found = await self._history.witnesses(list(partitions.values()))
        return {one: found[partition] for one, partition in partitions.items()}

    async def first(self, consumer: AIOKafkaConsumer, topic_partition: TopicPartition) -> int:
        """Where a partition begins of which the consumer found no committed offset.

        Raises:
            ConfigError: it is refused.
            StreamUnavailable: what is committed cannot be asked now.
            KafkaError: as asking raises it.
        """
        committed = await self.committed([topic_partition])
        if topic_partition in committed:
            return committed[topic_partition]
        return await self._choose(
            consumer, topic_partition, self._config.first_start, "no committed offset", "first_start"
        )

    async def after_a_gap(
        self, consumer: AIOKafkaConsumer, topic_partition: TopicPartition, offset: int
    ) -> int:
        """Where a partition goes on that no longer has the offset it stood at.

        Raises:
            ConfigError: it is refused.
            KafkaError: as asking raises it.
        """
        gone = f"offset {offset}, which is not there: deleted unread, or the topic was made anew"
        return await self._choose(consumer, topic_partition, self._config.out_of_range, gone, "out_of_range")

    async def _check(self, consumer: AIOKafkaConsumer, assigned: Collection[TopicPartition]) -> None:
        for topic in {one.topic for one in assigned}:
            await self._history.enter(topic, self._config.input_epoch)
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
        """An offset at the beginning commits nothing; yet records behind it may have been published."""
        found = await committed(self._config.connection, self._config.group_id, list(assigned))
        beginnings = await consumer.beginning_offsets(list(found)) if found else {}
        await self._history.check(
            {self.partition(one): commit.metadata for one, commit in found.items()},
            [self.partition(one) for one, commit in found.items() if commit.offset <= beginnings[one]],
        )

    async def _choose(
        self, consumer: AIOKafkaConsumer, one: TopicPartition, where: str, found: str, setting: str
    ) -> int:
        if where == "fail":
            raise ConfigError(
                f"group {self._config.group_id} has {found}, for {name_of(one)}: "
                f"set kafka.{setting} to earliest or latest to go on"
            )
        floors = await self._finished_below([one])
        ask = consumer.beginning_offsets if where == "earliest" else consumer.end_offsets
        offset = int((await ask([one]))[one])
        self._refuse_below(floors[one], one, f"would begin, having {found}, at the {where} offset", offset)
        level = logging.WARNING if setting == "out_of_range" else logging.INFO
        _log.log(level, "%s has %s, begins at the %s offset, %d", name_of(one), found, where, offset)
        return offset

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
                f"the offsets of group {self._config.group_id} to {floor} to go on"
            )
