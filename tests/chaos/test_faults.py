"""Two daemons die and are paused, again and again; the result is the same as without faults."""

import os

import pytest

from tests.chaos.arena import CALM, build_arena
from tests.chaos.crawl import crawl
from tests.chaos.faults import STEPS, fates, points
from tests.chaos.feeding import Feed
from tests.chaos.fleet import finish, live_through
from tests.chaos.judging import stored_partition, violations
from tests.servers.kafka import KafkaBroker
from tests.servers.redis import RedisServer

SEED = int(os.environ.get("CHAOS_SEED", "5"))
PAGES = 50_000
FAULTS = 200
STILL_SECONDS = (1.5, 4.0)
QUIET_SECONDS = 300


@pytest.mark.chaos
@pytest.mark.timeout(2400)
def test_two_hundred_faults_leave_what_an_uncut_run_leaves(
    kafka_broker: KafkaBroker, redis_server: RedisServer
) -> None:
    """At every point and at random moments. Equal are the clusters of two or more, as sets of page ids."""
    pages = crawl(PAGES, SEED)
    uncut, cut = (build_arena(kafka_broker, redis_server) for _ in range(2))
    uncut.publish(pages)
    finish((*uncut.settings, *CALM), 1, QUIET_SECONDS)

    planned = fates(SEED, FAULTS, STILL_SECONDS)
    feed = Feed(cut, pages, sum(fate.fault_count for fate in planned))
    met = live_through(cut.settings, planned, 2, feed.more)
    feed.rest()
    finish((*cut.settings, *CALM), 2, QUIET_SECONDS)

    print(f"\nseed {SEED}: {met.total()} faults over {PAGES} records: {dict(sorted(met.items()))}")
    assert met.total() >= FAULTS
    assert {f"{fault} {point}" for fault in ("kill", "stop") for point in points(STEPS)} <= set(met)
    assert violations(cut.settings) == []
    assert stored_partition(cut.settings) == stored_partition(uncut.settings)
