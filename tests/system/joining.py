"""Another member of a consumer group, which rebalances it."""

from neardup_daemon.settings.settings import Settings

from neardup_stream.meters import NoMeters
from neardup_stream.streams.kafka.config import KafkaSourceConfig
from neardup_stream.streams.kafka.source import KafkaSource

__all__ = ["join_for_a_moment"]


class _Joined(NoMeters):
    """Whether the group has admitted a member."""

    def __init__(self) -> None:
        self.is_member = False

    def assigned(self, partition_count: int, topic_partition_count: int) -> None:
        self.is_member = True


async def join_for_a_moment(settings: Settings, topic: str, group_id: str) -> None:
    """Be another reader of the topic, which ends when the group has admitted it."""
    meters = _Joined()
    config = KafkaSourceConfig(connection=settings.kafka.connection(), topics=(topic,), group_id=group_id)
    async with KafkaSource(config, None, meters) as other:
        while not meters.is_member:
            await other.read(1, 1)
