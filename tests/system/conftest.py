"""The program on real servers: topics and name space of each test's own."""

import asyncio
import json
import secrets
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
import redis
from aiokafka import AIOKafkaConsumer

from neardup_stream.message import Message
from neardup_stream.wire.events import from_message
from tests.servers.kafka import KafkaBroker
from tests.servers.program import run_program
from tests.servers.redis import RedisServer, start_redis

COMMAND_SECONDS = 240
POLL_MILLISECONDS = 200
NAMESPACE = "redis.namespace="


@dataclass(frozen=True)
class Site:
    """One installation: its settings, and how to call commands with them."""

    broker: KafkaBroker
    settings: tuple[str, ...]
    topics: tuple[str, str, str]

    def create_topics(self, partitions: int = 1) -> None:
        """All three."""
        self.broker.create_topics(dict.fromkeys(self.topics, partitions))

    def call(
        self, *words: str, settings: Sequence[str] = (), stdin: bytes = b""
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a command of ours with the site's settings."""
        overrides = [word for setting in (*self.settings, *settings) for word in ("--set", setting)]
        return call(*words, *overrides, stdin=stdin)

    def events(self) -> list[dict[str, object]]:
        """Return every event on the topic, up to its end, as `tail` prints them."""
        return [json.loads(msgspec.json.encode(from_message(each))) for each in self.messages(self.topics[1])]

    def messages(self, topic: str) -> list[Message]:
        """Return what is on a topic, one partition behind the other, without aborted transactions."""
        return asyncio.run(_read_topic(self.broker.bootstrap_servers, topic))


async def _read_topic(bootstrap_servers: str, topic: str) -> list[Message]:
    consumer = AIOKafkaConsumer(
        topic,
        bootstrap_servers=bootstrap_servers,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
    )
    found: list[Message] = []
    async with consumer:
        partitions = sorted(consumer.assignment())
        ends = await consumer.end_offsets(partitions)
        for one in partitions:
            consumer.pause(*partitions)
            consumer.resume(one)
            while await consumer.position(one) < ends[one]:
                for record in (await consumer.getmany(one, timeout_ms=POLL_MILLISECONDS)).get(one, []):
                    headers = tuple((name, value) for name, value in record.headers)
                    found.append(Message(key=record.key, value=record.value, headers=headers))
    return found


@dataclass(frozen=True)
class StoredIndex:
    """An index in a real Redis, without any Kafka: filled by `dedup`, asked by the commands under test."""

    server: RedisServer
    settings: tuple[str, ...]

    def hold(self, *pages: bytes) -> None:
        """Take pages in."""
        run = self.call("dedup", "-", "--redis", stdin=b"".join(page + b"\n" for page in pages))
        assert run.returncode == 0, run.stderr

    def call(self, *words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        """Run a command of ours on this index."""
        overrides = [word for setting in self.settings for word in ("--set", setting)]
        return call(*words, *overrides, stdin=stdin)

    def json_of(self, *words: str, stdin: bytes = b"") -> Any:
        """Return the output of a command that succeeds, as JSON."""
        run = self.call(*words, stdin=stdin)
        assert run.returncode == 0, run.stderr
        return json.loads(run.stdout)

    @property
    def namespace(self) -> str:
        """What the names of its keys begin with."""
        return namespace_of(self.settings)

    def keys(self, pattern: str = "*") -> dict[bytes, bytes | None]:
        """Return every key of this server and what is in it; `pattern` restricts them."""
        with redis.Redis.from_url(self.server.url) as client:
            return {key: client.dump(key) for key in client.scan_iter(match=pattern)}


def namespace_of(settings: Sequence[str]) -> str:
    """Return the namespace among settings."""
    (namespace,) = (each.removeprefix(NAMESPACE) for each in settings if each.startswith(NAMESPACE))
    return namespace


def call(
    *words: str, stdin: bytes = b"", environ: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a command of ours, in an environment without settings other than these."""
    return run_program(words, stdin, environ or {}, COMMAND_SECONDS)


def new_index(server: RedisServer) -> StoredIndex:
    """Return an index of its own name space, in which nothing is stored."""
    name = f"t{secrets.token_hex(6)}"
    settings = (f"redis.url={server.url}", f"redis.namespace={name}", "index.expected_pages=10000")
    return StoredIndex(server, settings)


def new_site(broker: KafkaBroker, server: RedisServer, namespace: str, topic_prefix: str) -> Site:
    """Return an installation without topics."""
    topics = (f"{topic_prefix}-pages", f"{topic_prefix}-events", f"{topic_prefix}-dead")
    return Site(
        broker,
        (
            f"kafka.bootstrap_servers={broker.bootstrap_servers}",
            f"kafka.pages_topic={topics[0]}",
            f"kafka.events_topic={topics[1]}",
            f"kafka.dead_letters_topic={topics[2]}",
            f"kafka.group_id={topic_prefix}",
            f"redis.url={server.url}",
            f"redis.namespace={namespace}",
            "index.expected_pages=10000",
        ),
        topics,
    )


@pytest.fixture
def index(redis_server: RedisServer) -> StoredIndex:
    return new_index(redis_server)


@pytest.fixture
def only_index() -> Iterator[StoredIndex]:
    """An index that a server holds alone, so that reading every key takes no time."""
    with start_redis() as server:
        yield new_index(server)


@pytest.fixture
def site(kafka_broker: KafkaBroker, redis_server: RedisServer, namespace: str, topic_prefix: str) -> Site:
    return new_site(kafka_broker, redis_server, namespace, topic_prefix)
