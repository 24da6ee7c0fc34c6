"""Exactly-once delivery: what `make chaos` does for long, for a moment.

Judged by a consumer that reads committed: every event and every dead letter is there, and none comes twice.
"""

import signal
from collections.abc import Sequence
from contextlib import suppress

import pytest
from aiokafka.errors import KafkaError

from tests.chaos.arena import CALM, Arena, build_arena
from tests.chaos.crawl import crawl
from tests.chaos.faults import Fate, named_faults
from tests.chaos.feeding import Feed
from tests.chaos.fleet import finish, live_through
from tests.chaos.judging import committed_offsets, uncommitted_count, violations, wait_until_quiet
from tests.chaos.repeats import repeated_messages
from tests.chaos.storming import ALL_CHANGES_SEED, storm
from tests.servers.daemon import start_daemon
from tests.servers.kafka import KafkaBroker
from tests.servers.process import wait_until
from tests.servers.redis import RedisServer

pytestmark = pytest.mark.timeout(1500)  # more than lives that miss their points take on a busy machine

QUIET_SECONDS = 60


def exactly_once(arena: Arena) -> tuple[str, ...]:
    return (*arena.settings, "kafka.delivery=exactly_once")


FATES = [
    Fate(stop=None, still_seconds=0, kill=kill, moment_seconds=moment_seconds)
    for kill, moment_seconds in (
        ("before transactions.deliver 2", 0),
        ("after transactions.deliver", 0),
        ("", 0.3),
    )
]


def test_daemons_that_die_publish_nothing_twice(kafka_broker: KafkaBroker, redis_server: RedisServer) -> None:
    arena = build_arena(kafka_broker, redis_server)
    feed = Feed(arena, crawl(600, seed=6), len(FATES) + 1)

    met = live_through(exactly_once(arena), FATES, 2, feed.more)
    feed.rest()
    finish((*exactly_once(arena), *CALM), 1, QUIET_SECONDS)

    assert named_faults(FATES) <= set(met)
    assert repeated_messages(arena.settings) == []
    assert violations(arena.settings) == []


def test_a_group_that_is_never_at_rest_publishes_nothing_twice(
    kafka_broker: KafkaBroker, redis_server: RedisServer
) -> None:
    arena = build_arena(kafka_broker, redis_server)
    feed = Feed(arena, crawl(400, seed=7), 6)

    changes = storm(exactly_once(arena), feed, ALL_CHANGES_SEED, change_count=5, pause_seconds=1)
    done = sum(committed_offsets(exactly_once(arena)).values())
    feed.rest()
    finish((*exactly_once(arena), *CALM), 1, QUIET_SECONDS)

    assert changes.keys() == {"joined", "left", "killed"}
    assert done > 0
    assert repeated_messages(arena.settings) == []
    assert violations(arena.settings) == []


def held_back_count(settings: Sequence[str]) -> int:
    """Return how many records are not committed, once a busy broker says."""
    counts: list[int] = []

    def is_said() -> bool:
        with suppress(KafkaError):
            counts.append(uncommitted_count(settings))
        return bool(counts)

    wait_until(is_said, QUIET_SECONDS)
    return counts[0]


def test_a_paused_process_is_fenced_by_the_owner_of_its_partitions(
    kafka_broker: KafkaBroker, redis_server: RedisServer
) -> None:
    """It is paused with a batch that it has decided, until another daemon has published everything."""
    arena = build_arena(kafka_broker, redis_server)
    arena.publish(crawl(300, seed=8))
    settings = exactly_once(arena)
    with start_daemon([*settings, "failpoints.stop=before transactions.deliver 3"]) as paused:
        wait_until(paused.is_paused, QUIET_SECONDS)
        held_back = held_back_count(settings)
        with start_daemon([*settings, *CALM]) as successor:
            successor.wait_until_ready()
            wait_until_quiet(settings, QUIET_SECONDS)
            paused.signal(signal.SIGCONT)
            wait_until(lambda: "dependency_unavailable" in paused.log(), QUIET_SECONDS)
            arena.publish(crawl(100, seed=9))
            wait_until_quiet(settings, QUIET_SECONDS)
            assert (paused.stop(), successor.stop()) == (0, 0)

    assert held_back > 0
    assert repeated_messages(arena.settings) == []
    assert violations(arena.settings) == []
