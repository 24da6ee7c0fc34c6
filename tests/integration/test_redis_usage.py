"""How full Redis is, asked of real servers."""

import random
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import redis

from neardup_stream.errors import StoreUnavailable
from neardup_stream.page import Handle
from neardup_stream.stores.protocol import RecordChange
from neardup_stream.stores.redis.client import RedisClient
from neardup_stream.stores.redis.config import RedisConfig
from neardup_stream.stores.redis.keys import Keys
from neardup_stream.stores.redis.records import RedisRecords
from neardup_stream.stores.redis.usage import RedisUsage
from tests.servers.redis import RedisCluster, RedisServer, start_redis, start_redis_cluster


def keys(namespace: str, slot_bits: int) -> Keys:
    return Keys(
        namespace=namespace, schema_id="s", shard_bits=4, table_count=1, bucket_bits=0, slot_bits=slot_bits
    )


async def store(client: RedisClient, names: Keys, count: int) -> None:
    """Page records at random places, the same for each count."""
    dice = random.Random(count)
    handles = [Handle(dice.getrandbits(64)) for _ in range(count)]
    changes = [RecordChange(handle, None, b"record") for handle in handles]
    await RedisRecords(client, names).replace(changes)


@pytest.fixture(params=["server", "cluster"])
def url(request: pytest.FixtureRequest, redis_server: RedisServer, redis_cluster: RedisCluster) -> str:
    return redis_server.url if request.param == "server" else redis_cluster.url


async def test_the_records_of_a_small_index_are_counted_exactly(url: str, namespace: str) -> None:
    names = keys(namespace, slot_bits=4)
    async with RedisClient(RedisConfig(url)) as client:
        empty = await RedisUsage(client, names).measure()
        await store(client, names, 500)
        full = await RedisUsage(client, names).measure()

    assert (empty.records, full.records) == (0, 500)
    assert (empty.records_error, full.records_error) == (0, 0)
    assert full.used_bytes > 0


async def test_the_records_of_a_large_index_are_estimated_from_a_sample(
    redis_server: RedisServer, namespace: str
) -> None:
    names = keys(namespace, slot_bits=8)
    async with RedisClient(RedisConfig(redis_server.url)) as client:
        await store(client, names, 40_000)
        usage = await RedisUsage(client, names).measure()

    assert usage.records == pytest.approx(40_000, rel=0.05)
    assert usage.records_error > 0
    assert usage.most_records == usage.records + 3 * usage.records_error


async def test_the_records_of_a_nearly_empty_index_are_found_by_a_larger_sample(
    redis_server: RedisServer, namespace: str
) -> None:
    names = keys(namespace, slot_bits=12)
    async with RedisClient(RedisConfig(redis_server.url)) as client:
        await store(client, names, 4000)
        usage = await RedisUsage(client, names).measure()

    assert usage.records == pytest.approx(4000, rel=0.2)


async def test_an_estimate_of_few_records_comes_with_its_standard_error(
    redis_server: RedisServer, namespace: str
) -> None:
    names = keys(namespace, slot_bits=12)
    async with RedisClient(RedisConfig(redis_server.url)) as client:
        await store(client, names, 40)
        state = random.getstate()
        random.seed(40)  # of the sample, in which there may be hardly any
        try:
            usage = await RedisUsage(client, names).measure()
        finally:
            random.setstate(state)

    assert 5 < usage.records_error < 30
    assert abs(usage.records - 40) < 6 * usage.records_error


async def test_the_memory_limit_is_the_servers(namespace: str) -> None:
    names = keys(namespace, slot_bits=4)
    with start_redis(options={"maxmemory": "64mb"}) as server:
        async with RedisClient(RedisConfig(server.url)) as client:
            usage = await RedisUsage(client, names).measure()

    assert usage.max_bytes == 64 << 20
    assert 0 < usage.used_bytes < usage.max_bytes


async def test_the_memory_of_a_cluster_is_that_of_its_fullest_primary(
    redis_cluster: RedisCluster, namespace: str
) -> None:
    names = keys(namespace, slot_bits=4)
    roomy, full, _ = (node for node in redis_cluster.nodes if role(node) == b"master")
    with limited(roomy, "1gb"), limited(full, "64mb"):
        async with RedisClient(RedisConfig(redis_cluster.url)) as client:
            usage = await RedisUsage(client, names).measure()

    assert usage.fullest_primary == f"127.0.0.1:{full.port}"
    assert usage.max_bytes == 64 << 20
    assert 0 < usage.used_bytes < usage.max_bytes


async def test_a_write_that_a_full_primary_refuses_names_it(
    redis_cluster: RedisCluster, namespace: str
) -> None:
    names = keys(namespace, slot_bits=4)
    full = redis_cluster.master_of(names.record_slot(0))
    with limited(full, "1"):
        async with RedisClient(RedisConfig(redis_cluster.url)) as client:
            with pytest.raises(StoreUnavailable, match=f"OOM .* at 127.0.0.1:{full.port}; raise maxmemory"):
                await client.execute("HSET", names.record_slot(0), "field", "value")


@contextmanager
def limited(node: RedisServer, maxmemory: str) -> Iterator[None]:
    with redis.Redis.from_url(node.url) as admin:
        admin.config_set("maxmemory", maxmemory)
        try:
            yield
        finally:
            admin.config_set("maxmemory", "0")


async def test_a_replica_that_is_dead_keeps_nothing_from_being_measured(namespace: str) -> None:
    names = keys(namespace, slot_bits=4)
    with start_redis_cluster() as cluster:
        async with RedisClient(RedisConfig(cluster.url)) as client:
            await store(client, names, 500)
            next(node for node in cluster.nodes if role(node) == b"slave").kill()
            usage = await RedisUsage(client, names).measure()

    assert usage.records == 500
    assert usage.used_bytes > 0


def role(node: RedisServer) -> bytes:
    with redis.Redis.from_url(node.url) as admin:
        answer: bytes = admin.role()[0]
    return answer
