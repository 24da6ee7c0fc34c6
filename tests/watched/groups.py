"""Groups of real daemons, each a Prometheus job with topics and an index of its own, fed without a pause."""

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from tests.servers.daemon import Daemon, start_daemon
from tests.servers.kafka import KafkaBroker
from tests.servers.process import free_ports
from tests.servers.redis import RedisServer

__all__ = ["Fed", "Group", "feeding", "start_group"]

PORTION_SECONDS = 0.5
STOP_SECONDS = 10


class Fed(NamedTuple):
    """One record for the pages topic."""

    value: bytes | None
    key: bytes | None = None
    partition: int | None = None
    timestamp_ms: int | None = None


Portion = Callable[[int], Sequence[Fed]]
"""The records of one moment, given its number."""


def nothing(_number: int) -> Sequence[Fed]:
    """No records."""
    return ()


@dataclass
class Group:
    """Daemons that share a pages topic.

    Attributes:
        job: as Prometheus knows it.
        broker: holds the three topics.
        redis: holds the index.
        partitions: of the pages topic.
        daemon_count: how many run.
        extra: settings beyond where things are.
        portion: what is fed; may be replaced at any time.
        ports: of the daemons' metrics.
        daemons: once they are started.
        fed_portions: how many portions were fed.
        slowness: how many times longer than usual its faults take.
    """

    job: str
    broker: KafkaBroker
    redis: RedisServer
    partitions: int = 1
    daemon_count: int = 1
    extra: tuple[str, ...] = ()
    portion: Portion = nothing
    ports: list[int] = field(default_factory=list)
    daemons: list[Daemon] = field(default_factory=list)
    fed_portions: int = 0
    slowness: float = 1

    @property
    def pages_topic(self) -> str:
        """Its pages topic."""
        return f"{self.job}-pages"

    @property
    def settings(self) -> tuple[str, ...]:
        """All of them."""
        return (
            f"kafka.bootstrap_servers={self.broker.bootstrap_servers}",
            f"kafka.pages_topic={self.pages_topic}",
            f"kafka.events_topic={self.job}-events",
            f"kafka.dead_letters_topic={self.job}-dead-letters",
            f"kafka.group_id={self.job}",
            f"redis.url={self.redis.url}",
            f"redis.namespace={self.job}",
            "index.expected_pages=100000",
            *self.extra,
        )

    def create_topics(self, dead_letter_bytes: int = 1 << 20) -> None:
        """All three."""
        self.broker.create_topics({self.pages_topic: self.partitions, f"{self.job}-events": 1})
        dead_letters = {"max.message.bytes": str(dead_letter_bytes)}
        self.broker.create_topic(f"{self.job}-dead-letters", configs=dead_letters)


def start_group(group: Group, stack: ExitStack) -> None:
    """Start its daemons without waiting for them."""
    group.ports = group.ports or free_ports(group.daemon_count)
    group.daemons = [stack.enter_context(start_daemon(group.settings, port=port)) for port in group.ports]


@contextmanager
def feeding(broker: KafkaBroker, groups: Sequence[Group]) -> Iterator[None]:
    """Publish a portion for every group twice a second while the block runs, from a thread of its own.

    A thread that waits for the broker at the end is left behind.
    """
    stop = threading.Event()

    def feed() -> None:
        try:
            asyncio.run(_feed(broker, groups, stop))
        except KafkaError:
            if not stop.wait(STOP_SECONDS):  # else the broker was ended, and the block with it
                raise

    thread = threading.Thread(target=feed, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(STOP_SECONDS)


async def _feed(broker: KafkaBroker, groups: Sequence[Group], stop: threading.Event) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers, linger_ms=5)
    await producer.start()
    try:
        while not stop.is_set():
            sent = [
                await producer.send(
                    group.pages_topic,
                    value=record.value,
                    key=record.key,
                    partition=record.partition,
                    timestamp_ms=record.timestamp_ms,
                )
                for group in groups
                for record in group.portion(group.fed_portions)
            ]
            await asyncio.gather(*sent)
            for group in groups:
                group.fed_portions += 1
            await asyncio.sleep(PORTION_SECONDS)
    finally:
        await producer.stop()
