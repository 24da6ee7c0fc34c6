"""A site whose Redis is its own, so that a test may empty it."""

import asyncio
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import NamedTuple

import redis
from aiokafka import OffsetAndMetadata, TopicPartition
from neardup_daemon.settings.settings import Settings

from neardup_stream.message import Message
from neardup_stream.streams.kafka.admin import commit_for_group
from neardup_stream.streams.kafka.config import KafkaConnection
from tests.chaos.fleet import serving
from tests.chaos.judging import wait_until_quiet
from tests.servers.daemon import start_daemon
from tests.servers.redis import RedisServer
from tests.system.conftest import Site
from tests.system.test_run import publish

__all__ = ["DAEMONS", "PARTITIONS", "QUIET_SECONDS", "Own", "open_own"]

PARTITIONS = 4
DAEMONS = 2
QUIET_SECONDS = 90


class Own(NamedTuple):
    """Topics, and a Redis that may be emptied."""

    site: Site
    client: redis.Redis

    @property
    def settings(self) -> tuple[str, ...]:
        """Of daemons and commands."""
        return self.site.settings

    def finish(self, messages: Sequence[Message]) -> None:
        """Let daemons finish some records, and stop them."""
        publish(self.site, messages)
        with ExitStack() as stack:
            daemons = serving(stack, self.settings, DAEMONS)
            wait_until_quiet(self.settings, QUIET_SECONDS)
            for daemon in daemons:
                daemon.signal(signal.SIGTERM)
            assert {daemon.wait() for daemon in daemons} == {0}

    def commit(self, offset: int) -> None:
        """Commit an offset of each partition, in the group of the daemons."""
        group = Settings.load(overrides=self.settings).kafka.group_id
        connection = KafkaConnection(bootstrap_servers=self.site.broker.bootstrap_servers)
        pages = (TopicPartition(self.site.topics[0], number) for number in range(PARTITIONS))
        offsets = dict.fromkeys(pages, OffsetAndMetadata(offset, ""))
        asyncio.run(commit_for_group(connection, group, offsets))

    def recover(self) -> str:
        """Run `recover`, and return its output."""
        run = self.site.call("recover")
        assert run.returncode == 0, run.stderr.decode()
        return run.stdout.decode()

    def copy(self, pattern: str = "*") -> dict[bytes, bytes]:
        """Return some keys as they are."""
        return {key: self.client.dump(key) or b"" for key in self.client.scan_iter(pattern)}

    def put_back(self, copy: Mapping[bytes, bytes], pattern: str = "*") -> None:
        """Make those keys what they were; others that match are lost."""
        for key in self.client.scan_iter(pattern):
            self.client.delete(key)
        for key, dumped in copy.items():
            self.client.restore(key, 0, dumped)

    def refusal(self) -> str:
        """Return the last line of a daemon that does not start."""
        with start_daemon(self.settings) as daemon:
            assert daemon.wait() == 2
            return daemon.log().splitlines()[-1]


@contextmanager
def open_own(site: Site, server: RedisServer) -> Iterator[Own]:
    """Create the topics of a site, whose index is in an empty server."""
    pages, events, dead_letters = site.topics
    with redis.Redis.from_url(server.url) as client:
        site = replace(site, settings=(*site.settings, f"redis.url={server.url}"))
        site.broker.create_topics({pages: PARTITIONS, events: 1, dead_letters: 1})
        yield Own(site, client)
