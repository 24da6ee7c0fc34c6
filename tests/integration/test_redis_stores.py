"""The store contracts on Redis, on Valkey and on a cluster; and servers that daemons may or may not use."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from neardup_stream.errors import ConfigError, StoreUnavailable
from neardup_stream.stores.frame_store import FrameChange
from neardup_stream.stores.redis.client import RedisClient
from neardup_stream.stores.redis.config import RedisConfig
from neardup_stream.stores.redis.frames import RedisFrames
from neardup_stream.stores.redis.keys import Keys
from neardup_stream.stores.redis.records import RedisRecords
from neardup_stream.stores.redis.servers import PACKING_LIMITS, inspect_servers
from neardup_stream.stores.redis.tables import RedisTables
from tests.contracts.frames import FRAME_CLAIMS
from tests.contracts.records import RECORD_CLAIMS
from tests.contracts.tables import TABLE_CLAIMS
from tests.servers.redis import RedisServer, start_redis

CONFIGURATION = Path(__file__).parents[2] / "deploy" / "redis.conf"


@pytest.fixture
def keys(namespace: str) -> Keys:
    return Keys(namespace=namespace, schema_id="5c", shard_bits=4, table_count=1, bucket_bits=0, slot_bits=2)


@pytest.mark.parametrize("claim", TABLE_CLAIMS, ids=lambda claim: claim.__name__)
async def test_redis_tables_keep_the_contract(
    claim: Callable[[RedisTables], Awaitable[None]], client: RedisClient, keys: Keys
) -> None:
    await claim(RedisTables(client, keys))


@pytest.mark.parametrize("claim", RECORD_CLAIMS, ids=lambda claim: claim.__name__)
async def test_redis_records_keep_the_contract(
    claim: Callable[[RedisRecords], Awaitable[None]], client: RedisClient, keys: Keys
) -> None:
    await claim(RedisRecords(client, keys))


@pytest.mark.parametrize("claim", FRAME_CLAIMS, ids=lambda claim: claim.__name__)
async def test_redis_frames_keep_the_contract(
    claim: Callable[[RedisFrames], Awaitable[None]], client: RedisClient, keys: Keys
) -> None:
    await claim(RedisFrames(client, keys))


async def test_a_frame_table_expires_when_no_page_teaches_its_site_for_90_days(
    client: RedisClient, keys: Keys
) -> None:
    frames, table = RedisFrames(client, keys), bytes(10)
    await frames.replace([FrameChange(7, b"", table)])
    key = keys.frame_table(7)
    await client.execute("EXPIRE", key, 1000)

    await frames.replace([FrameChange(7, table[:8], bytes(9) + b"1")])

    assert 90 * 86_400 - 60 < await client.execute("TTL", key) <= 90 * 86_400


async def test_a_good_server_is_named_and_gets_the_packing_limits(client: RedisClient) -> None:
    facts = await inspect_servers(client)

    assert facts.name.split()[0] in {"Redis", "Valkey"}
    assert facts.warnings == ()


def test_the_configuration_for_deployments_has_the_packing_limits() -> None:
    lines = [line.split() for line in CONFIGURATION.read_text("utf-8").splitlines()]

    assert {words[0]: words[1] for words in lines if "-max-" in "".join(words[:1])} == {
        name: str(limit) for name, limit in PACKING_LIMITS.items()
    }


async def test_packing_limits_that_are_too_low_are_raised() -> None:
    with start_redis(options={"hash-max-ziplist-value": "64"}) as server:
        async with RedisClient(RedisConfig(server.url)) as client:
            await inspect_servers(client)

            (limits,) = (await client.by_node("CONFIG GET", "hash-max-ziplist-value")).values()
    assert limits == {"hash-max-ziplist-value": "1200"}


async def test_a_server_that_evicts_is_refused_with_the_remedy() -> None:
    with start_redis(options={"maxmemory-policy": "allkeys-lru"}) as server:
        async with RedisClient(RedisConfig(server.url)) as client:
            with pytest.raises(ConfigError, match="set it to noeviction"):
                await inspect_servers(client)


async def test_a_cluster_that_is_none_is_refused_with_the_remedy(redis_server: RedisServer) -> None:
    url = redis_server.url.replace("redis://", "redis+cluster://")

    with pytest.raises(ConfigError, match="write redis://"):
        async with RedisClient(RedisConfig(url)) as client:
            await inspect_servers(client)


async def test_a_server_whose_memory_is_used_up_is_full() -> None:
    with start_redis(options={"maxmemory": "64mb"}) as server:
        async with RedisClient(RedisConfig(server.url)) as client:
            before = await inspect_servers(client)
            await client.execute("CONFIG SET", "maxmemory", "1")
            after = await inspect_servers(client)

    assert (before.full_nodes, after.full_nodes) == ((), ("",))


async def test_scripts_survive_a_server_that_forgot_them(redis_server: RedisServer, keys: Keys) -> None:
    async with RedisClient(RedisConfig(redis_server.url)) as client:
        await client.execute("SCRIPT FLUSH")

        await TABLE_CLAIMS[0](RedisTables(client, keys))


@pytest.mark.parametrize("url", ["redis://127.0.0.1:1", "redis+cluster://127.0.0.1:1"])
async def test_a_server_that_is_not_there_is_unavailable(url: str) -> None:
    with pytest.raises(StoreUnavailable):
        async with RedisClient(RedisConfig(url, retries=0)):
            pass


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:6379", "redis://127.0.0.1:port", "redis+cluster://127.0.0.1"],
    ids=["unknown-scheme", "port-not-a-number", "cluster-node-without-port"],
)
def test_a_url_that_cannot_be_read_is_a_configuration_error(url: str) -> None:
    with pytest.raises(ConfigError, match=r"redis\.url"):
        RedisClient(RedisConfig(url))
