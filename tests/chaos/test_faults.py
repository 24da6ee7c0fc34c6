"""Two daemons die and are paused, again and again; the result is the same as without faults."""

import os
from contextlib import ExitStack

import pytest

from tests.chaos.arena import CALM, Arena, build_arena
from tests.chaos.crawl import crawl
from tests.chaos.faults import STEPS, fates, points
from tests.chaos.feeding import Feed
from tests.chaos.fleet import live_through, serving
from tests.chaos.judging import stored_partition, violations, wait_until_quiet
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
    finish(uncut, daemon_count=1)

    planned = fates(SEED, FAULTS, STILL_SECONDS)
    feed = Feed(cut, pages, sum(fate.fault_count for fate in planned))
    met = live_through(cut.settings, planned, 2, feed.more)
    feed.rest()
    finish(cut, daemon_count=2)

    print(f"\nseed {SEED}: {met.total()} faults over {PAGES} records: {dict(sorted(met.items()))}")
    assert met.total() >= FAULTS
    assert {f"{fault} {point}" for fault in ("kill", "stop") for point in points(STEPS)} <= set(met)
    assert violations(cut.settings) == []
    assert stored_partition(cut.settings) == stored_partition(uncut.settings)


def finish(arena: Arena, daemon_count: int) -> None:
    """Let daemons without faults process what is left."""
    with ExitStack() as stack:
        daemons = serving(stack, (*arena.settings, *CALM), daemon_count)
        wait_until_quiet(arena.settings, QUIET_SECONDS)
        assert [daemon.stop() for daemon in daemons] == [0] * daemon_count
