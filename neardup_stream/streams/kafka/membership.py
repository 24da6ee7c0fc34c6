"""A consumer as a member of its group: when it joins and leaves, as whom it commits, who took its name."""

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
"""A broker calls a member by its instance id, a dash and a UUID."""


class Listener(ConsumerRebalanceListener):  # type: ignore[misc] # aiokafka has no types
    """What aiokafka calls around a rebalance, once for all partitions.

    Args:
        revoked: awaited before the group is joined, for the first time or again.
        assigned: called with what is ours from then on.
    """

    def __init__(
        self,
        revoked: Callable[[Collection[TopicPartition]], Awaitable[None]],
        assigned: Callable[[Collection[TopicPartition]], None],
    ) -> None:
        self._revoked = revoked
        self._assigned = assigned

    async def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        """Wait until they may go."""
        await self._revoked(revoked)

    async def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        """Tell what came."""
        self._assigned(assigned)


async def join(config: KafkaSourceConfig, beginnings: Beginnings, listener: Listener) -> AIOKafkaConsumer:
    """A consumer that is about to join the group, once every beginning is known to be sound.

    Raises:
        StreamUnavailable: the cluster cannot be reached.
        StoreUnavailable: what was finished cannot be looked up.
        ConfigError: a topic does not exist, may not be read, or contradicts what was finished.
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
    """Which of the group's rebalances it has come out of; -1 while it is no member."""
    return int(consumer._coordinator.generation)  # noqa: SLF001 - nothing public tells


async def commit_as_member(
    consumer: AIOKafkaConsumer,
    generation: int,
    offsets: Mapping[TopicPartition, int],
    witnesses: Mapping[TopicPartition, str],
) -> bool:
    """Commit as the member it was in this generation, or not at all.

    Its own `commit` sends as whoever it is by then: as a member of a later generation, with partitions that
    others had meanwhile; or, once it was thrown out, as nobody, which a broker accepts while the group is
    empty. Either would take back what others have committed.

    Args:
        consumer: whose.
        generation: in which it read.
        offsets: next ones.
        witnesses: noted beside each.

    Returns:
        Whether the group took it; False once it has moved on.

    Raises:
        KafkaError: as asking raises it.
    """
    coordinator = consumer._coordinator  # noqa: SLF001 - see above
    requests = {one: OffsetAndMetadata(offset, witnesses[one]) for one, offset in offsets.items()}
    await coordinator.ensure_coordinator_known()
    if generation < 0 or coordinator.generation != generation or not offsets.keys() <= consumer.assignment():
        return False
    try:  # no `await` stands between the look at the generation and the request that carries it
        await coordinator._do_commit_offsets(None, requests)  # noqa: SLF001 - see above
    except (UnknownMemberIdError, IllegalGenerationError, RebalanceInProgressError):
        return False
    return True


async def is_fenced(consumer: AIOKafkaConsumer, config: KafkaSourceConfig) -> bool:
    """Whether its instance id is held by another member.

    Heartbeats do not name the id, so their answer only says that the member is unknown. It may have been
    silent for too long; if somebody has the id now, it was taken.
    """
    if not config.group_instance_id or consumer._coordinator.member_id:  # noqa: SLF001 - nothing public tells
        return False
    try:
        members = await group_members(config.connection, config.group_id)
    except NeardupError as error:
        _log.warning("whether another member has our instance id cannot be asked: %s", error)
        return False
    return any(member[:-_UUID_LENGTH] == f"{config.group_instance_id}-" for member in members)
