"""An installation for faults: topics of several partitions, and sessions of a second."""

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aiokafka import AIOKafkaProducer

from neardup_stream.message import Message
from neardup_stream.streams.kafka.config import KafkaConnection, KafkaSinkConfig
from neardup_stream.streams.kafka.sink import KafkaSink
from tests.servers.kafka import KafkaBroker
from tests.servers.redis import RedisCluster, RedisServer

__all__ = ["CALM", "PARTITIONS", "SESSION_SECONDS", "Arena", "build_arena"]

PARTITIONS = 4
SESSION_SECONDS = 1.0

CALM = ("kafka.session_timeout_seconds=30", "pipeline.max_batch_pages=512")
"""For daemons without faults, also on a machine that is busy with other things."""


@dataclass(frozen=True)
class Arena:
    """Where several daemons share the partitions of a topic, and are killed and stopped.

    Attributes:
        broker: real.
        settings: of every daemon: small batches, so that a few hundred pages are many steps; and tombstones
            that are kept for less time than some pauses last.
        pages_topic: what they read.
    """

    broker: KafkaBroker
    settings: tuple[str, ...]
    pages_topic: str

    def publish(self, messages: Sequence[Message]) -> None:
        """Send pages, those of one key to one partition."""
        asyncio.run(self._publish(messages))

    def place(self, messages: Mapping[int, Message]) -> None:
        """Send one page to each of these partitions, whatever its key."""
        asyncio.run(self._place(messages))

    async def _publish(self, messages: Sequence[Message]) -> None:
        connection = KafkaConnection(bootstrap_servers=self.broker.bootstrap_servers)
        async with KafkaSink(KafkaSinkConfig(connection=connection, topic=self.pages_topic)) as sink:
            await sink.send(messages)

    async def _place(self, messages: Mapping[int, Message]) -> None:
        async with AIOKafkaProducer(bootstrap_servers=self.broker.bootstrap_servers) as producer:
            for number, page in messages.items():
                await producer.send_and_wait(self.pages_topic, page.value, page.key, partition=number)


def build_arena(
    broker: KafkaBroker,
    redis: RedisServer | RedisCluster,
    partitions: int = PARTITIONS,
    topic_configs: Mapping[str, str] | None = None,
    event_partitions: int | None = None,
) -> Arena:
    """Topics, group and name space that no other test uses.

    Args:
        broker: holds the topics.
        redis: a server, or a cluster.
        partitions: of each topic.
        topic_configs: of each topic.
        event_partitions: of the events, where these are to be fewer or more.
    """
    name = f"t{secrets.token_hex(6)}"
    topics = {each: f"{name}-{each}" for each in ("pages", "events", "dead_letters")}
    counts = dict.fromkeys(topics.values(), partitions)
    broker.create_topics(counts | {topics["events"]: event_partitions or partitions}, topic_configs)
    return Arena(
        broker,
        (
            f"kafka.bootstrap_servers={broker.bootstrap_servers}",
            *(f"kafka.{each}_topic={topic}" for each, topic in topics.items()),
            f"kafka.group_id={name}",
            f"kafka.session_timeout_seconds={SESSION_SECONDS}",
            f"redis.url={redis.url}",
            f"redis.namespace={name}",
            "index.expected_pages=50000",
            "clusters.rule=components",
            "clusters.tombstone_ttl_seconds=3",
            "events.unique=true",
            "pipeline.max_batch_pages=20",
            "pipeline.commit_interval_seconds=0.05",
            "pipeline.drain_seconds=10",
        ),
        topics["pages"],
    )
