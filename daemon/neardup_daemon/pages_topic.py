"""The pages topic, and what the group of the daemons has committed of it."""

from collections.abc import Iterable, Mapping
from contextlib import AbstractAsyncContextManager

from neardup_daemon.kafka_wiring import topic_snapshot
from neardup_daemon.settings.settings import Settings
from neardup_stream.message import Partition, input_id
from neardup_stream.streams.kafka.admin import committed_offsets, require_topics
from neardup_stream.streams.kafka.partitions import topic_partition_of
from neardup_stream.streams.kafka.snapshot import TopicSnapshot

__all__ = ["committed_of_group", "lags_of_group", "pages_input", "pages_partitions", "pages_snapshot"]


def pages_input(settings: Settings) -> str:
    """Return the input id of the pages topic: under another `kafka.input_epoch` it is another input."""
    return input_id(settings.kafka.pages_topic, settings.kafka.input_epoch)


def pages_snapshot(settings: Settings) -> AbstractAsyncContextManager[TopicSnapshot]:
    """Open the pages topic as it is now, see `open_snapshot`."""
    return topic_snapshot(settings, settings.kafka.pages_topic, pages_input(settings))


async def pages_partitions(settings: Settings) -> list[Partition]:
    """Return all partitions of the pages topic.

    Raises:
        ConfigError: there is no such topic, or access is denied.
        StreamUnavailable: Kafka cannot be reached.
    """
    topic = settings.kafka.pages_topic
    facts = await require_topics(settings.kafka.connection(), [topic], right="Read")
    return [Partition(pages_input(settings), number) for number in range(facts[topic].partitions)]


async def committed_of_group(settings: Settings, partitions: Iterable[Partition]) -> dict[Partition, int]:
    """Return the next offset of the group in partitions of the pages topic; omits those it never committed.

    Raises:
        ConfigError: access is denied.
        StreamUnavailable: Kafka cannot be reached.
    """
    kafka = settings.kafka
    named = {topic_partition_of(one): one for one in partitions}
    offsets = await committed_offsets(kafka.connection(), kafka.group_id, list(named))
    return {named[one]: offset for one, offset in offsets.items()}


def lags_of_group(pages: TopicSnapshot, committed: Mapping[Partition, int]) -> dict[Partition, int]:
    """Return how many records of each partition are not committed: all that are kept where nothing is."""
    return {
        one: max(0, end - max(pages.beginnings[one], committed.get(one, 0)))
        for one, end in pages.ends.items()
    }
