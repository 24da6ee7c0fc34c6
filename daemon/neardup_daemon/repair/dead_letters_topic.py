"""Read the dead letters that their topic has now, for `replay`: those that come meanwhile are left."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import monotonic

import click

from neardup_daemon.kafka_wiring import SENT_BYTES, kept_records_source, topic_snapshot
from neardup_daemon.settings.settings import Settings
from neardup_stream.errors import StreamUnavailable
from neardup_stream.message import Partition, Record
from neardup_stream.pipeline.offsets import next_offsets, not_below
from neardup_stream.streams.kafka.admin import committed_offsets
from neardup_stream.streams.kafka.partitions import topic_partition_of
from neardup_stream.streams.kafka.source import KafkaSource

__all__ = ["DeadLetters", "open_dead_letters"]

_BATCH_RECORDS = 500
_TIMEOUT_SECONDS = 30.0
"""How long we may be without a part of the partitions: longer, and another replay has them."""


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """The dead letters topic as it was when it was opened.

    Attributes:
        source: reads and commits in that group.
        group_id: of `replay` alone; its offsets are those of what was replayed.
        ends: offset after the last letter, by partition.
    """

    source: KafkaSource
    group_id: str
    ends: Mapping[Partition, int]

    async def records(self) -> AsyncIterator[Sequence[Record]]:
        """Yield the records below the ends, batch by batch, each once: after a rebalance some are read again.

        Raises:
            StreamUnavailable: Kafka cannot be reached, or another replay has some of the partitions.
        """
        unread, whole_seconds = set(self.ends), monotonic()
        yielded: dict[Partition, int] = {}
        while unread:
            records = await self.source.read(_BATCH_RECORDS, SENT_BYTES)
            if wanted := not_below(filter(self._is_wanted, records), yielded):
                yielded |= next_offsets(wanted)
                yield wanted
                whole_seconds = monotonic()
            unread -= {each.position.partition for each in records if self._is_last(each)}
            lag = self.source.lag()
            unread -= {one for one, count in lag.items() if count == 0}
            if len(lag) >= len(self.ends):
                whole_seconds = monotonic()
            elif not records and monotonic() - whole_seconds > _TIMEOUT_SECONDS:
                raise StreamUnavailable(
                    f"the group {self.group_id} has other members: another replay is at work"
                )

    async def commit(self, next_offsets: Mapping[Partition, int], done: str) -> None:
        """Record that the letters below these offsets are dealt with.

        Args:
            next_offsets: by partition.
            done: what was done with the letters, for the error.

        Raises:
            StreamUnavailable: Kafka cannot be reached, or the group was rebalanced and some of the letters
                are not recorded.
        """
        committed = await self.source.commit(next_offsets)
        if refused := sorted(one.number for one in next_offsets.keys() - committed.keys()):
            raise StreamUnavailable(
                f"letters of partition {', '.join(map(str, refused))} were {done}, and the next run takes"
                f" them again: the group {self.group_id} was rebalanced before they were recorded;"
                " run one replay at a time"
            )

    def _is_wanted(self, record: Record) -> bool:
        return record.position.offset < self.ends.get(record.position.partition, 0)

    def _is_last(self, record: Record) -> bool:
        """Return whether no wanted record of the partition follows."""
        return record.position.offset + 1 >= self.ends.get(record.position.partition, 0)


async def _say_if_nothing_is_known(
    settings: Settings, group_id: str, partitions: Iterable[Partition]
) -> None:
    where = [topic_partition_of(one) for one in partitions]
    if not await committed_offsets(settings.kafka.connection(), group_id, where):
        click.echo(
            f"group {group_id} has no offsets: this is its first run, or Kafka has forgotten them after"
            " offsets.retention.minutes; it begins with the oldest letter kept",
            err=True,
        )


@asynccontextmanager
async def open_dead_letters(settings: Settings, *, from_start: bool) -> AsyncIterator[DeadLetters]:
    """Open the topic where the last run ended, or at its beginning; letters that are deleted are passed.

    Says on standard error where it is not known where the last run ended.

    Raises:
        StreamUnavailable: Kafka cannot be reached.
        ConfigError: the topic does not exist or refuses us.
    """
    kafka = settings.kafka
    topic = kafka.dead_letters_topic
    async with topic_snapshot(settings, topic) as snapshot:
        ends = snapshot.ends
        has_letters = snapshot.beginnings != ends
    group_id = f"{kafka.group_id}-replay"
    if has_letters and not from_start:
        await _say_if_nothing_is_known(settings, group_id, ends)
    source = kept_records_source(settings, topic, group_id)
    if from_start:

        async def from_their_beginnings(partitions: Sequence[Partition]) -> Mapping[Partition, int]:
            async with topic_snapshot(settings, topic) as snapshot:  # letters may be deleted meanwhile
                return {each: snapshot.beginnings[each] for each in partitions}

        source.on_assign(from_their_beginnings)
    async with source:
        yield DeadLetters(source, group_id, ends)
