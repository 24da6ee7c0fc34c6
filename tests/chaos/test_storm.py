"""A group that is never at rest loses nothing."""

import os

import pytest

from tests.chaos.arena import PARTITIONS, build_arena
from tests.chaos.crawl import crawl
from tests.chaos.feeding import Feed
from tests.chaos.judging import violations, wait_until_quiet
from tests.chaos.storming import storm
from tests.servers.daemon import Daemon, start_daemon
from tests.servers.kafka import KafkaBroker
from tests.servers.process import wait_until
from tests.servers.redis import RedisServer

SEED = int(os.environ.get("CHAOS_SEED", "5"))
CHANGES, PAUSE_SECONDS = 30, 2.0
PAGES = 20_000
QUIET_SECONDS = 120


@pytest.mark.chaos
def test_a_minute_of_rebalances_loses_nothing_and_the_lag_returns_to_zero(
    kafka_broker: KafkaBroker, redis_server: RedisServer
) -> None:
    arena = build_arena(kafka_broker, redis_server)
    feed = Feed(arena, crawl(PAGES, SEED), CHANGES)
    with start_daemon(arena.settings) as staying:
        changes = storm(arena.settings, feed, SEED, CHANGES, PAUSE_SECONDS)
        feed.rest()
        wait_until_quiet(arena.settings, QUIET_SECONDS)
        wait_until(lambda: lag(staying) == 0, QUIET_SECONDS)
        assert staying.stop() == 0

    print(f"\nseed {SEED}: {dict(changes)} over {PAGES} records")
    assert violations(arena.settings) == []


def lag(daemon: Daemon) -> float:
    """Return records not yet read of all partitions, which must be its own by now; -1 while they are not."""
    counts = [count for name, count in daemon.metrics().items() if name.startswith("neardup_lag_records")]
    return sum(counts) if len(counts) == PARTITIONS else -1
