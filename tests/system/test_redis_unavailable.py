"""Redis that stays unavailable, or refuses: the exit code is right and the last line names the remedy."""

from collections.abc import Iterator

import pytest
import redis

from tests.pipelines import essay, page_json
from tests.servers.redis import start_redis
from tests.system.conftest import StoredIndex

PAGE = page_json("p", essay(1)) + b"\n"


@pytest.fixture
def faulty(namespace: str) -> Iterator[StoredIndex]:
    """An index on a server of its own, which is waited for half a second."""
    with start_redis() as server:
        names = (f"redis.url={server.url}", f"redis.namespace={namespace}")
        yield StoredIndex(server, (*names, "pipeline.retry_deadline_seconds=0.5"))


def admin(index: StoredIndex) -> redis.Redis:
    return redis.Redis.from_url(index.server.url)


@pytest.mark.parametrize(
    ("setting", "value", "remedy"),
    [
        ("maxmemory", "1", "raise maxmemory: no page can expire either"),
        ("min-replicas-to-write", "1", "start the replicas"),
    ],
)
def test_a_server_that_takes_nothing_ends_the_run_with_3_and_the_remedy(
    faulty: StoredIndex, setting: str, value: str, remedy: str
) -> None:
    with admin(faulty) as client:
        client.config_set(setting, value)

    run = faulty.call("dedup", "-", "--redis", stdin=PAGE)

    assert run.returncode == 3
    assert remedy in run.stderr.decode()
    assert "no progress for 0.5 s (pipeline.retry_deadline_seconds)" in run.stderr.decode()


def test_a_missing_replica_ends_the_run_with_3_and_the_remedy(faulty: StoredIndex) -> None:
    durable = ("--set", "redis.durability=replica", "--set", "redis.socket_timeout_seconds=4")

    run = faulty.call("dedup", "-", "--redis", *durable, stdin=PAGE)

    assert run.returncode == 3
    assert "see that a replica runs" in run.stderr.decode()


def test_a_foreign_key_ends_the_run_with_4(faulty: StoredIndex) -> None:
    faulty.hold(PAGE.strip())
    with admin(faulty) as client:
        (ranks,) = client.scan_iter("*:ranks")
        client.delete(ranks)
        client.sadd(ranks, "of another program")

    run = faulty.call("dedup", "-", "--redis", stdin=page_json("q", essay(1)) + b"\n")

    assert run.returncode == 4
    assert "give each program a name of its own" in run.stderr.decode()
