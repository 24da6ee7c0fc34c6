"""`rebuild`: what Redis lost of the index is rebuilt from the records."""

from typing import Any

import redis

from tests.pipelines import essay, page_json
from tests.servers.redis import RedisCluster
from tests.system.conftest import StoredIndex

A, B = "https://example.com/a", "https://example.com/b"
PAGES = (page_json("a", essay(1)), page_json("b", essay(1, edits=[50])), page_json("short", "too short"))
OUTPUT = b"3 records: 2 pages in the index, 1 too short for it, 0 left to archives, 0 stubs\n"


MEMBER_BYTES = 9


def tables(index: StoredIndex) -> dict[bytes, list[Any]]:
    """Return the buckets of the index alone; in which order the members of a word came does not matter."""
    namespace = index.settings[1].partition("=")[2]
    with redis.Redis.from_url(index.server.url) as client:
        return {
            key: words_of(client, key) if client.type(key) == b"hash" else client.zrange(key, 0, -1)
            for key in client.scan_iter(f"{namespace}:*}}:t[0-9]*")
        }


def words_of(client: redis.Redis, key: bytes) -> list[Any]:
    return sorted((word, sorted(members_of(stored))) for word, stored in client.hgetall(key).items())


def members_of(stored: Any) -> list[bytes]:
    return [stored[at : at + MEMBER_BYTES] for at in range(0, len(stored), MEMBER_BYTES)]


def test_lost_tables_are_rebuilt_as_they_were(index: StoredIndex) -> None:
    index.hold(*PAGES)
    whole = tables(index)
    with redis.Redis.from_url(index.server.url) as client:
        client.delete(*whole)
    assert index.json_of("query", A)["matches"] == []

    run = index.call("rebuild")

    assert (run.returncode, run.stdout) == (0, OUTPUT)
    assert len(whole) >= 4 + 10  # a bucket in each simhash table and band at least
    assert tables(index) == whole
    assert [match["id"] for match in index.json_of("query", A)["matches"]] == [B]


def test_a_whole_index_is_left_as_it_is(only_index: StoredIndex) -> None:
    only_index.hold(*PAGES)
    before = only_index.keys()

    run = only_index.call("rebuild")

    assert (run.returncode, run.stdout) == (0, OUTPUT)
    assert only_index.keys() == before


def test_a_redis_cluster_is_repaired_too(redis_cluster: RedisCluster, namespace: str) -> None:
    index = StoredIndex(
        redis_cluster.nodes[0], (f"redis.url={redis_cluster.url}", f"redis.namespace={namespace}")
    )
    index.hold(*PAGES)
    with redis.RedisCluster.from_url(redis_cluster.nodes[0].url) as client:
        for key in client.scan_iter(match=f"{namespace}:*}}:t[0-9]*"):
            client.delete(key)
    assert index.json_of("query", A)["matches"] == []

    run = index.call("rebuild")

    assert (run.returncode, run.stdout) == (0, OUTPUT)
    answer = index.json_of("query", A)
    assert ([match["id"] for match in answer["matches"]], answer["cluster"]["size"]) == ([B], 2)


def test_an_index_that_is_not_there_is_not_founded(index: StoredIndex) -> None:
    run = index.call("rebuild")

    assert run.returncode == 2
    assert "nothing is stored" in run.stderr.decode()
