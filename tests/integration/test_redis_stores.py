"""The store contracts on Redis, on Valkey and on a six-node cluster; and what daemons find at start."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace

import pytest

from neardup_stream.errors import ConfigError, CorruptData, StoreUnavailable
from neardup_stream.stores.cluster_store import DECIDED, Cell, Transaction
from neardup_stream.stores.frame_store import FrameChange
from neardup_stream.stores.guarded_clusters import INDEX, GuardedClusters, IndexLost
from neardup_stream.stores.index_identity import Policy
from neardup_stream.stores.redis.client import RedisClient
from neardup_stream.stores.redis.clusters import RedisClusters
from neardup_stream.stores.redis.config import RedisConfig
from neardup_stream.stores.redis.frames import RedisFrames
from neardup_stream.stores.redis.keys import ClusterKeys, Keys, meta_key
from neardup_stream.stores.redis.namespace import (
    begin_to_correct,
    check_index,
    check_policy,
    enter_index,
    found_successor,
    install,
    open_namespace,
)
from neardup_stream.stores.redis.records import RedisRecords
from neardup_stream.stores.redis.servers import inspect_servers
from neardup_stream.stores.redis.tables import RedisTables
from tests.contracts.frames import FRAME_CLAIMS
from tests.contracts.records import RECORD_CLAIMS
from tests.contracts.tables import TABLE_CLAIMS
from tests.servers.redis import RedisServer, start_redis

POLICY = Policy(0, {"clusters.rule": "linked", "verdict.near_resemblance": 0.55})
SERVERS = ["redis_server", "valkey_server", "redis_cluster"]


@pytest.fixture(params=SERVERS)
async def client(request: pytest.FixtureRequest) -> AsyncIterator[RedisClient]:
    server = request.getfixturevalue(request.param)
    async with RedisClient(RedisConfig(server.url)) as client:
        yield client


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


async def used(client: RedisClient, namespace: str, schema: dict[str, str | int]) -> RedisClusters:
    """Return the clusters of a namespace in which something was decided."""
    clusters = await entered(client, namespace, schema)
    writes = {Cell(DECIDED, b"pages:0"): bytes(6) + b"7"}
    assert await clusters.commit(Transaction(floors={}, expected={}, writes=writes)) is not None
    return clusters


async def entered(client: RedisClient, namespace: str, schema: dict[str, str | int]) -> RedisClusters:
    """Return the clusters of a namespace that a daemon has entered."""
    found = await open_namespace(client, namespace, schema, POLICY)
    clusters = RedisClusters(client, ClusterKeys(namespace=namespace, schema_id=found.schema_id, slot_bits=2))
    assert (await enter_index(client, namespace, found, clusters)).is_created
    return clusters


async def test_an_index_in_which_nothing_was_decided_may_be_made_anew_with_other_settings(
    client: RedisClient, namespace: str
) -> None:
    """A first start with a wrong layout leaves its settings behind."""
    first = await open_namespace(client, namespace, {"blocks": 4}, POLICY)
    clusters = await entered(client, namespace, {"blocks": 4})

    second = await open_namespace(client, namespace, {"blocks": 5}, POLICY)

    assert second.schema_id != first.schema_id
    assert second.token > first.token
    with pytest.raises(IndexLost):
        await GuardedClusters(clusters, first.token).check()


async def test_an_index_that_is_not_there_any_more_cannot_be_entered(
    client: RedisClient, namespace: str
) -> None:
    found = await open_namespace(client, namespace, {"blocks": 4}, POLICY)
    clusters = await entered(client, namespace, {"blocks": 4})
    await clusters.commit(Transaction(floors={}, expected={}, writes={INDEX: None}))
    again = await open_namespace(client, namespace, {"blocks": 4}, POLICY)

    with pytest.raises(ConfigError, match="is not there any more; stop all daemons and run"):
        await enter_index(client, namespace, again, clusters)
    assert again.token == found.token


async def test_an_index_of_a_former_release_says_nothing_of_itself_in_events(
    client: RedisClient, namespace: str
) -> None:
    await client.execute("HSET", meta_key(namespace), "schema", '{"blocks":4}', "handle_key", bytes(16))

    found = await open_namespace(client, namespace, {"blocks": 4}, POLICY)

    assert found.token
    assert found.index == ""


async def test_a_successor_has_keys_of_its_own_and_a_greater_token(
    client: RedisClient, namespace: str
) -> None:
    former = await open_namespace(client, namespace, {"blocks": 4}, POLICY)
    successor = await found_successor(client, namespace, {"blocks": 5}, above="0fffffffffff" + 16 * "0")
    assert await open_namespace(client, namespace, {"blocks": 4}, POLICY) == former

    await install(client, namespace, {"blocks": 5}, replace(successor, version_floor=8))

    found = await open_namespace(client, namespace, {"blocks": 5}, POLICY)
    assert found.token > max(former.token, "0fffffffffff")
    assert found.schema_id not in former.schema_id
    assert found.version_floor == 8


async def test_an_index_is_refused_once_subscribers_have_corrections_to_another_one(
    client: RedisClient, namespace: str
) -> None:
    clusters = await entered(client, namespace, {"blocks": 4})
    former = await open_namespace(client, namespace, {"blocks": 4}, POLICY)
    abandoned = await found_successor(client, namespace, {"blocks": 4}, above="")
    await begin_to_correct(client, namespace, abandoned)

    with pytest.raises(ConfigError, match=r"did not end, .* run 'neardup-stream recover'"):
        await open_namespace(client, namespace, {"blocks": 4}, POLICY)
    with pytest.raises(ConfigError, match="is not there any more"):  # of daemons that have opened it before
        await check_index(former, clusters)

    successor = await found_successor(client, namespace, {"blocks": 4}, above=abandoned.token)
    await begin_to_correct(client, namespace, successor)
    with pytest.raises(ConfigError, match=r"another recovery .* has begun"):
        await install(client, namespace, {"blocks": 4}, abandoned)
    await install(client, namespace, {"blocks": 4}, successor)
    assert (await open_namespace(client, namespace, {"blocks": 4}, POLICY)).token == successor.token
    anew = await open_namespace(client, namespace, {"blocks": 5}, POLICY)  # nothing was decided in it
    assert await open_namespace(client, namespace, {"blocks": 5}, POLICY) == anew


async def test_a_namespace_is_founded_once_and_then_the_same_for_all(
    client: RedisClient, namespace: str
) -> None:
    founded = await open_namespace(client, namespace, {"blocks": 4}, POLICY)

    assert await open_namespace(client, namespace, {"blocks": 4}, POLICY) == founded


async def test_a_daemon_with_another_schema_is_shown_every_difference(
    client: RedisClient, namespace: str
) -> None:
    await used(client, namespace, {"blocks": 4, "window_tokens": 3, "shards": 16})

    with pytest.raises(
        ConfigError, match=r"index\.blocks is 4 there and 6 here; text\.window_tokens is 3 there and 2 here"
    ):
        await open_namespace(client, namespace, {"blocks": 6, "window_tokens": 2, "shards": 16}, POLICY)


async def test_a_daemon_with_another_policy_is_shown_every_difference_and_how_to_go_on(
    client: RedisClient, namespace: str
) -> None:
    await open_namespace(client, namespace, {}, POLICY)
    other = Policy(0, {"clusters.rule": "anchored", "verdict.near_resemblance": 0.6})

    with pytest.raises(
        ConfigError,
        match=r"clusters\.rule is 'linked' there and 'anchored' here; verdict\.near_resemblance is 0\.55"
        r" there and 0\.6 here; use those, or stop all daemons and set verdict\.policy = 1",
    ):
        await open_namespace(client, namespace, {}, other)


async def test_a_policy_with_a_new_number_comes_into_force_and_the_old_one_is_refused(
    client: RedisClient, namespace: str
) -> None:
    newer = Policy(2, {"clusters.rule": "components", "verdict.near_resemblance": 0.55})
    founded = await open_namespace(client, namespace, {}, POLICY)

    assert await open_namespace(client, namespace, {}, newer) == founded
    assert await open_namespace(client, namespace, {}, newer) == founded
    with pytest.raises(ConfigError, match=r"by policy 2 now, and here verdict\.policy is 0"):
        await open_namespace(client, namespace, {}, POLICY)
    with pytest.raises(ConfigError, match="by policy 2 now"):
        await open_namespace(client, namespace, {}, POLICY._replace(number=1))
    fields = await client.execute("HKEYS", meta_key(namespace))
    assert sorted(fields) == [b"created_by", b"handle_key", b"policy:0", b"policy:2", b"schema", b"token"]


async def test_checking_a_policy_writes_nothing(client: RedisClient, namespace: str) -> None:
    await check_policy(client, namespace, POLICY)

    assert await client.execute("EXISTS", meta_key(namespace)) == 0


async def test_a_daemon_with_another_schema_leaves_no_policy_behind(
    client: RedisClient, namespace: str
) -> None:
    await used(client, namespace, {"blocks": 4})

    with pytest.raises(ConfigError, match="blocks"):
        await open_namespace(client, namespace, {"blocks": 5}, POLICY._replace(number=7))
    await check_policy(client, namespace, POLICY)


@pytest.mark.parametrize(
    ("field", "complaint"),
    [
        ("schema", "does not hold a schema"),
        ("policy:0", "does not hold a policy"),
        ("policy:x", "a policy without a number"),
    ],
)
async def test_a_meta_record_that_is_not_ours_is_corrupt_data(
    field: str, complaint: str, client: RedisClient, namespace: str
) -> None:
    await client.execute("HSET", meta_key(namespace), field, "garbage")

    with pytest.raises(CorruptData, match=complaint):
        await open_namespace(client, namespace, {"blocks": 4}, POLICY)


async def test_a_key_of_another_type_is_corrupt_data(client: RedisClient, namespace: str) -> None:
    await client.execute("SET", meta_key(namespace), "something else")

    with pytest.raises(CorruptData, match="WRONGTYPE"):
        await open_namespace(client, namespace, {"blocks": 4}, POLICY)


async def test_a_good_server_is_named_and_gets_the_packing_limits(client: RedisClient) -> None:
    facts = await inspect_servers(client)

    assert facts.name.split()[0] in {"Redis", "Valkey"}
    assert facts.warnings == ()


async def test_packing_limits_that_are_too_low_are_raised() -> None:
    with start_redis(options={"hash-max-listpack-value": "64"}) as server:
        async with RedisClient(RedisConfig(server.url)) as client:
            await inspect_servers(client)

            (limits,) = (await client.by_node("CONFIG GET", "hash-max-listpack-value")).values()
    assert limits == {"hash-max-listpack-value": "1200"}


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
