"""What every tier shares: one of each real server per run, fresh names per test, Hypothesis profiles."""

import os
import secrets
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.servers.kafka import KafkaBroker, start_kafka
from tests.servers.redis import (
    RedisCluster,
    RedisServer,
    find_valkey,
    start_redis,
    start_redis_cluster,
)
from tests.servers.secure import SecureKafka, SecureRedis, start_secure_kafka, start_secure_redis

# CI tries the same examples every time, so that a red build is red for its change alone; a developer's
# runs go on exploring. How long an example takes is never a failure: machines differ.
settings.register_profile(
    "explore", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("ci", settings.get_profile("explore"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "explore")


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    with start_redis() as server:
        yield server


@pytest.fixture(scope="session")
def valkey_server() -> Iterator[RedisServer]:
    with start_redis(find_valkey) as server:
        yield server


@pytest.fixture(scope="session")
def redis_cluster() -> Iterator[RedisCluster]:
    with start_redis_cluster() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def kafka_broker() -> Iterator[KafkaBroker]:
    with start_kafka(is_brief=True) as broker:
        yield broker


@pytest.fixture(scope="session")
def secure_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureRedis]:
    with start_secure_redis(tmp_path_factory.mktemp("redis-certificates")) as server:
        yield server


@pytest.fixture(scope="session")
def secure_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureKafka]:
    with start_secure_kafka(tmp_path_factory.mktemp("kafka-certificates")) as broker:
        yield broker


@pytest.fixture
def namespace() -> str:
    """A key prefix that no other test uses, so that tests share a server and not its contents."""
    return f"t{secrets.token_hex(6)}"


@pytest.fixture
def topic_prefix() -> str:
    """The same for topics and groups: `f"{topic_prefix}-pages"`."""
    return f"t{secrets.token_hex(6)}"
