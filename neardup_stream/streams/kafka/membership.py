"""Join and leave a consumer group, commit with fencing.

And detect that another member took our instance id.
"""

import logging
from collections.abc import Awaitable, Callable, Collection, Mapping

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, OffsetAndMetadata, TopicPartition
from aiokafka.errors import IllegalGenerationError, RebalanceInProgressError, UnknownMemberIdError

from neardup_stream.errors import NeardupError
from neardup_stream.streams.kafka.admin import group_members, require_topics
from neardup_stream.streams.kafka.config import KafkaSourceConfig
from neardup_stream.streams.kafka.consumer import close_consumer, open_consumer
from neardup_stream.streams.kafka.start_offsets import Beginnings

__all__ = ["Listener", "commit_as_member", "generation_of", "is_fenced", "join"]

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


async def join(config: KafkaSourceConfig, beginnings: Beginnings, listener: Listener) -> AIOKafkaConsumer:
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
        await beginnings.check(consumer, partitions)
    except BaseException:
        await close_consumer(consumer)
        raise
    consumer.subscribe(config.topics, listener=listener)
    return consumer


def generation_of(consumer: AIOKafkaConsumer) -> int:
    """Return the group generation of the consumer; -1 while it is no member."""
    return int(consumer._coordinator.generation)  # noqa: SLF001 - no public API


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
    coordinator = consumer._coordinator  # noqa: SLF001 - see above
    requests = {one: OffsetAndMetadata(offset, witnesses[one]) for one, offset in offsets.items()}
    await coordinator.ensure_coordinator_known()
    if generation < 0 or coordinator.generation != generation or not offsets.keys() <= consumer.assignment():
        return False
    try:  # no `await` between the check of the generation and the request that carries it
        await coordinator._do_commit_offsets(None, requests)  # noqa: SLF001 - see above
    except (UnknownMemberIdError, IllegalGenerationError, RebalanceInProgressError):
        return False
    return True


async def is_fenced(consumer: AIOKafkaConsumer, config: KafkaSourceConfig) -> bool:
    """Return whether another member holds the consumer's instance id.

    Heartbeats do not name the id, so their answer only says that the member is unknown. It may have missed
    heartbeats for too long; if the id has a member now, another process took it.
    """
    if not config.group_instance_id or consumer._coordinator.member_id:  # noqa: SLF001 - no public API
        return False
    try:
        members = await group_members(config.connection, config.group_id)
    except NeardupError as error:
        _log.warning("cannot check whether another member has our instance id: %s", error)
        return False
    return any(member[:-_UUID_LENGTH] == f"{config.group_instance_id}-" for member in members)
