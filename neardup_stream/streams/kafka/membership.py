"""Join and leave a consumer group, commit with fencing.

And detect that another member took our instance id.
"""

import logging
from collections.abc import Awaitable, Callable, Collection, Mapping

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, OffsetAndMetadata, TopicPartition
from aiokafka.errors import IllegalGenerationError, RebalanceInProgressError, UnknownMemberIdError

from neardup_stream.errors import ConfigError, NeardupError
from neardup_stream.streams.kafka.admin import group_members, require_topics
from neardup_stream.streams.kafka.aiokafka_compat import commit_generation, member_id_of
from neardup_stream.streams.kafka.config import KafkaSourceConfig
from neardup_stream.streams.kafka.consumer import close_consumer, open_consumer
from neardup_stream.streams.kafka.start_offsets import StartOffsets

__all__ = ["Listener", "commit_as_member", "fencing_error", "join"]

_log = logging.getLogger(__name__)

_UUID_LENGTH = 36
"""A broker's member id is the instance id, a dash and a UUID."""


class Listener(ConsumerRebalanceListener):  # type: ignore[misc] # aiokafka has no types
    """The listener that aiokafka calls around a rebalance, once for all partitions.

    Args:
        revoked: awaited before the consumer joins, for the first time or again.
        assigned: called with the new assignment.
    """

    def __init__(
        self,
        revoked: Callable[[Collection[TopicPartition]], Awaitable[None]],
        assigned: Callable[[Collection[TopicPartition]], None],
    ) -> None:
        self._revoked = revoked
        self._assigned = assigned

    async def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        """Await the callback before the partitions are revoked."""
        await self._revoked(revoked)

    async def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        """Pass on the new assignment."""
        self._assigned(assigned)


async def join(
    config: KafkaSourceConfig, start_offsets: StartOffsets, listener: Listener
) -> AIOKafkaConsumer:
    """Return a consumer that is about to join the group, after all start offsets were checked.

    Raises:
        StreamUnavailable: the cluster cannot be reached.
        StoreUnavailable: the finished positions cannot be looked up.
        ConfigError: a topic does not exist, may not be read, or contradicts the finished positions.
    """
    facts = await require_topics(config.connection, config.topics, "Read")
    partitions = [
        TopicPartition(name, number) for name, fact in facts.items() for number in range(fact.partitions)
    ]
    consumer = await open_consumer(config)
    try:
        await start_offsets.check(consumer, partitions)
    except BaseException:
        await close_consumer(consumer)
        raise
    consumer.subscribe(config.topics, listener=listener)
    return consumer


async def commit_as_member(
    consumer: AIOKafkaConsumer,
    generation: int,
    offsets: Mapping[TopicPartition, int],
    witnesses: Mapping[TopicPartition, str],
) -> bool:
    """Commit as the member of this generation, or not at all.

    aiokafka's own `commit` uses the consumer's current identity: that of a later generation, with partitions
    that others owned meanwhile; or, after an eviction, no member id, which a broker accepts while the group
    is empty. Either could reset what other members committed.

    Args:
        consumer: the member.
        generation: in which it read the records.
        offsets: next ones.
        witnesses: metadata of each offset.

    Returns:
        Whether the group accepted the commit; False if it has a later generation.

    Raises:
        KafkaError: as the request raises it.
    """
    requests = {one: OffsetAndMetadata(offset, witnesses[one]) for one, offset in offsets.items()}
    try:
        return await commit_generation(consumer, generation, requests)
    except (UnknownMemberIdError, IllegalGenerationError, RebalanceInProgressError):
        return False


async def fencing_error(consumer: AIOKafkaConsumer, config: KafkaSourceConfig) -> ConfigError | None:
    """Return an error if another member holds the consumer's instance id, else None.

    Heartbeats do not name the id, so their answer only says that the member is unknown. It may have missed
    heartbeats for too long; if the id has a member now, another process took it. It does not wait for a
    coordinator that is not ready: the rebalance waits meanwhile, and its timeout has no time for that.
    """
    if not config.group_instance_id or member_id_of(consumer):
        return None
    try:
        members = await group_members(config.connection, config.group_id, waits_for_coordinator=False)
    except NeardupError as error:
        _log.warning("group_instance_id_not_checked", extra={"fields": {"error": str(error)}})
        return None
    if all(member[:-_UUID_LENGTH] != f"{config.group_instance_id}-" for member in members):
        return None
    return ConfigError(
        f"another member of group {config.group_id} has joined with kafka.group_instance_id = "
        f"{config.group_instance_id!r}: give every daemon an instance id of its own"
    )
