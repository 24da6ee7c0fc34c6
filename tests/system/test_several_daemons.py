"""Several daemons of one group: what `make chaos` does for long, for a moment."""

import pytest

from tests.chaos.arena import CALM, SESSION_SECONDS, build_arena
from tests.chaos.crawl import crawl
from tests.chaos.faults import Fate, named_faults
from tests.chaos.feeding import Feed
from tests.chaos.fleet import finish, live_through
from tests.chaos.judging import committed_offsets, stored_partition, violations
from tests.chaos.meetings import meet, page
from tests.chaos.storming import ALL_CHANGES_SEED, storm
from tests.pipelines import essay
from tests.servers.daemon import start_daemon
from tests.servers.kafka import KafkaBroker
from tests.servers.redis import RedisServer
from tests.system.conftest import Site

pytestmark = pytest.mark.timeout(1500)  # more than lives that miss their points take on a busy machine

QUIET_SECONDS = 60
PAUSE_SECONDS = 1.5 * SESSION_SECONDS


FATES = [
    Fate(stop=None, kill="after records.replace 2"),
    Fate(stop="after index.probe_and_insert", kill="", still_seconds=PAUSE_SECONDS, moment_seconds=0.2),
    Fate(stop=None, kill="after cluster_store.commit 2"),
    Fate(stop=None, kill="before source.commit"),
]


def test_daemons_that_die_or_are_paused_leave_what_an_uncut_run_leaves(
    kafka_broker: KafkaBroker, redis_server: RedisServer
) -> None:
    pages = crawl(1000, seed=3)
    uncut, cut = (build_arena(kafka_broker, redis_server) for _ in range(2))
    uncut.publish(pages)
    finish((*uncut.settings, *CALM), 1, QUIET_SECONDS)

    feed = Feed(cut, pages, len(FATES) + 1)
    met = live_through(cut.settings, FATES, 2, feed.more)
    feed.rest()
    finish((*cut.settings, *CALM), 2, QUIET_SECONDS)

    assert named_faults(FATES) <= set(met)
    assert violations(cut.settings) == []
    assert stored_partition(cut.settings) == stored_partition(uncut.settings)


def test_a_group_that_is_never_at_rest_loses_nothing(
    kafka_broker: KafkaBroker, redis_server: RedisServer
) -> None:
    arena = build_arena(kafka_broker, redis_server)
    feed = Feed(arena, crawl(1000, seed=4), 6)

    changes = storm(arena.settings, feed, ALL_CHANGES_SEED, change_count=5, pause_seconds=0.7)
    done = sum(committed_offsets(arena.settings).values())
    feed.rest()
    finish((*arena.settings, *CALM), 1, QUIET_SECONDS)

    assert changes.keys() == {"joined", "left", "killed"}
    assert done > 0
    assert violations(arena.settings) == []


def test_matching_pages_in_flight_at_once_on_two_daemons_end_in_one_cluster(
    kafka_broker: KafkaBroker, redis_server: RedisServer
) -> None:
    arena = build_arena(kafka_broker, redis_server, partitions=2)

    meet(arena, [page("one", essay(1)), page("other", essay(1, [3]))], "before cluster_store.commit", 0)

    assert violations(arena.settings) == []
    assert stored_partition(arena.settings) == {
        frozenset({"https://example.com/one", "https://example.com/other"})
    }


def test_the_same_id_in_two_partitions_is_one_page(
    kafka_broker: KafkaBroker, redis_server: RedisServer
) -> None:
    arena = build_arena(kafka_broker, redis_server, partitions=2)

    meet(arena, [page("same", essay(1)), page("same", essay(2))], "after records.replace", PAUSE_SECONDS)

    assert violations(arena.settings) == []
    assert not stored_partition(arena.settings)


def test_a_daemon_stops_where_another_one_has_brought_a_later_policy_into_force(site: Site) -> None:
    site.create_topics()
    later = ["verdict.policy=1", "verdict.near_resemblance=0.7"]
    with start_daemon(site.settings) as former:
        former.wait_until_ready()
        with start_daemon([*site.settings, *later]) as other:
            other.wait_until_ready()
            codes = former.wait(), other.stop()

        assert codes == (2, 0)
        assert "are judged by policy 1 now, and here verdict.policy is 0" in former.log()
