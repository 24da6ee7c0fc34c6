"""Redis loses what it has acknowledged, in the middle of a crawl: subscribers are never misled.

The judge is independent of the program: a fold of its own, and texts known from the generator. At the end the
clusters are those of an uncut run.
"""

import os
import time
from collections.abc import Iterator

import pytest

from tests.chaos.arena import build_arena
from tests.chaos.lost_writes import (
    copy_of_cluster_keys,
    copy_to_disk,
    fail_over,
    flush,
    put_back,
    start_from,
)
from tests.chaos.moving_crawl import moving_crawl
from tests.chaos.slow_calls import SLOW_LOG, put_first, report_long_calls, start_quick_redis
from tests.chaos.trials import Trial
from tests.servers.kafka import KafkaBroker
from tests.servers.redis import RedisCluster, RedisServer, start_redis_cluster

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(1800)]

SEED = int(os.environ.get("CHAOS_SEED", "5"))
RECORDS = int(os.environ.get("CHAOS_RECORDS", "20000"))
LOST_SECONDS = min(5.0, RECORDS / 2000)
BEFORE_LOSS = 3 / 4
"""What of the crawl is published before the loss. Daemons learn of it by what comes later."""


@pytest.fixture
def server() -> Iterator[RedisServer]:
    with start_quick_redis() as server:
        yield server


@pytest.fixture
def cluster() -> Iterator[RedisCluster]:
    with start_redis_cluster(SLOW_LOG) as cluster:
        put_first(cluster.nodes)
        yield cluster
        assert report_long_calls(cluster.nodes) == []


def begin(broker: KafkaBroker, redis: RedisServer | RedisCluster, share: float = 1) -> Trial:
    """Publish the first pages of the crawl, or all."""
    trial = Trial(build_arena(broker, redis, event_partitions=1), moving_crawl(RECORDS, SEED))
    trial.publish(0, share)
    return trial


def test_an_uncut_run_ends_in_the_clusters_that_the_texts_make(
    kafka_broker: KafkaBroker, server: RedisServer
) -> None:
    trial = begin(kafka_broker, server)

    trial.finish()

    assert trial.check().kinds.keys() >= {
        "unique",
        "duplicate",
        "gone",
        "cluster-merge",
        "representative-changed",
    }


def test_an_index_that_is_emptied_is_recovered(kafka_broker: KafkaBroker, server: RedisServer) -> None:
    trial = begin(kafka_broker, server, BEFORE_LOSS)
    with trial.running() as daemons:
        trial.wait_for_share(1 / 2)
        flush(server)
        trial.publish(BEFORE_LOSS, 1)
        trial.stop_lost(daemons)

    trial.recover()
    trial.finish()

    trial.check()


def test_an_index_that_an_older_copy_replaced_is_recovered(
    kafka_broker: KafkaBroker, server: RedisServer
) -> None:
    trial = begin(kafka_broker, server, BEFORE_LOSS)
    with trial.running() as daemons:
        trial.wait_for_share(1 / 3)
        copy = copy_to_disk(server)
        trial.wait_for_share(2 / 3)
        start_from(server, copy)
        trial.publish(BEFORE_LOSS, 1)
        trial.stop_lost(daemons)

    trial.recover()
    trial.finish()

    trial.check()


def test_clusters_that_alone_lost_their_last_seconds_are_recovered(
    kafka_broker: KafkaBroker, server: RedisServer
) -> None:
    trial = begin(kafka_broker, server, BEFORE_LOSS)
    with trial.running() as daemons:
        trial.wait_for_share(1 / 4)
        copy = copy_of_cluster_keys(server)
        time.sleep(LOST_SECONDS)
        put_back(server, copy)
        trial.publish(BEFORE_LOSS, 1)
        trial.stop_lost(daemons)

    trial.recover()
    trial.finish()

    trial.check()


def test_a_shard_of_records_that_fails_over_misleads_no_subscriber_and_is_recovered(
    kafka_broker: KafkaBroker, cluster: RedisCluster
) -> None:
    """Daemons go on by themselves; pages that were not found meanwhile are found by `recover`."""
    trial = begin(kafka_broker, cluster)
    with trial.running() as daemons:
        trial.wait_for_share(1 / 4)
        fail_over(cluster, record_key(cluster), LOST_SECONDS)
        trial.finish_with(daemons)
    print(f"\nas the daemons left it, by promise: {trial.verified()}")
    assert trial.judged().lost_texts == []

    trial.recover()
    trial.check()


def record_key(cluster: RedisCluster) -> str:
    """Return some key on another server than the clusters."""
    clusters = cluster.master_of("{c}")
    return next(key for key in map(str, range(1000)) if cluster.master_of(key) is not clusters)
