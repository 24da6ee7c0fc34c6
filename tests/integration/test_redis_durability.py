"""`durability = replica`: no answer is returned before a replica has what it is based on."""

import asyncio
from collections.abc import Iterator
from typing import NamedTuple

import pytest
import redis

from neardup_stream.errors import StoreUnavailable
from neardup_stream.stores.redis.client import RedisClient, Script, ScriptCall
from neardup_stream.stores.redis.config import RedisConfig
from tests.redis_pipelines import until
from tests.servers.proxy import Proxy, start_proxy
from tests.servers.redis import RedisCluster, RedisServer, find_redis, find_valkey, start_redis

LINK_DELAY_SECONDS = 0.1
SHORT_SECONDS = 4
KEY = "nd:5c:{0.0}:p1"
WRITE = Script.of("return redis.call('SET', KEYS[1], ARGV[1])")
READ = Script.of("return redis.call('GET', KEYS[1])")


class Pair(NamedTuple):
    """A master, its replica, and the proxy through which the replica hears of its master."""

    master: RedisServer
    replica: RedisServer
    link: Proxy


@pytest.fixture(scope="module", params=[find_redis, find_valkey], ids=["redis", "valkey"])
def servers(request: pytest.FixtureRequest) -> Iterator[Pair]:
    with (
        start_redis(request.param, {"repl-diskless-sync-delay": "0"}) as master,
        start_redis(request.param) as replica,
        start_proxy(master.port) as link,
    ):
        replica.follow(link.port)
        yield Pair(master, replica, link)


@pytest.fixture
def pair(servers: Pair) -> Iterator[Pair]:
    yield servers
    servers.link.heal()
    servers.replica.follow(servers.link.port)


def config(pair: Pair, socket_timeout_seconds: float = 10) -> RedisConfig:
    return RedisConfig(pair.master.url, socket_timeout_seconds, durability="replica")


async def run(client: RedisClient, script: Script, *args: str) -> object:
    (answer,) = await client.run(script, [ScriptCall([KEY], args)])
    return answer


def replica_has(pair: Pair) -> bytes | None:
    with redis.Redis.from_url(pair.replica.url) as client:
        value: bytes | None = client.get(KEY)
    return value


async def test_what_is_answered_is_at_the_replica(pair: Pair) -> None:
    pair.link.delay(LINK_DELAY_SECONDS)

    async with RedisClient(config(pair)) as client:
        for number in range(3):
            await run(client, WRITE, str(number))

            assert replica_has(pair) == b"%d" % number


async def test_with_the_master_alone_an_answer_may_come_first(pair: Pair) -> None:
    pair.link.half_open()

    async with RedisClient(RedisConfig(pair.master.url)) as client:
        await run(client, WRITE, "not there yet")

        assert replica_has(pair) != b"not there yet"


async def test_a_replica_that_hears_nothing_is_waited_for_and_then_named(pair: Pair) -> None:
    hasty = RedisClient(config(pair, SHORT_SECONDS))
    async with RedisClient(config(pair)) as client, hasty:
        await run(client, WRITE, "before")
        pair.link.half_open()

        with pytest.raises(StoreUnavailable, match=r"within 2 seconds; see that a replica runs") as raised:
            await run(hasty, WRITE, "during")
        pair.link.heal()
        pair.replica.follow(pair.link.port)

        assert raised.value.reason == "not_replicated"
        assert await run(client, WRITE, "after") == b"OK"
        assert replica_has(pair) == b"after"


async def test_what_others_wrote_is_not_published_before_the_replica_has_it(pair: Pair) -> None:
    """Else a decision record, stored but not replicated, would be read again and sent."""
    hasty = RedisClient(config(pair, SHORT_SECONDS))
    async with RedisClient(config(pair)) as client, hasty:
        await run(client, WRITE, "old")
        pair.link.half_open()
        async with RedisClient(RedisConfig(pair.master.url)) as other:
            await run(other, WRITE, "new")

        with pytest.raises(StoreUnavailable) as raised:
            await run(hasty, READ)

    assert raised.value.reason == "not_replicated"


async def test_many_calls_wait_once_and_forgotten_scripts_are_sent_again(pair: Pair) -> None:
    calls = [ScriptCall([KEY], [str(number)]) for number in range(100)]
    async with RedisClient(config(pair)) as client:
        await client.execute("SCRIPT", "FLUSH")

        assert await client.run(WRITE, calls) == [b"OK"] * 100
        assert await client.run(WRITE, []) == []
        assert replica_has(pair) == b"99"


async def test_a_master_that_was_demoted_is_unavailable_and_not_refused(pair: Pair) -> None:
    async with RedisClient(config(pair)) as client:
        await run(client, WRITE, "as master")
        with redis.Redis.from_url(pair.master.url) as admin:
            admin.replicaof("127.0.0.1", pair.replica.port)

            with pytest.raises(StoreUnavailable) as raised:
                await run(client, READ)
            admin.replicaof("NO", "ONE")

    assert raised.value.reason == "read_only"


async def test_a_master_that_is_demoted_while_a_call_waits_for_its_replica_is_unavailable(pair: Pair) -> None:
    async with RedisClient(config(pair)) as client:
        await run(client, WRITE, "as master")
        pair.link.half_open()
        waiting = asyncio.create_task(run(client, WRITE, "not replicated"))
        with redis.Redis.from_url(pair.master.url) as admin:
            await until(lambda: admin.info("clients")["blocked_clients"] == 1)
            admin.replicaof("127.0.0.1", pair.replica.port)

            with pytest.raises(StoreUnavailable, match="UNBLOCKED") as raised:
                await waiting
            admin.replicaof("NO", "ONE")

    assert raised.value.reason == "read_only"


async def test_in_a_cluster_each_node_waits_for_its_own_replica(
    redis_cluster: RedisCluster, namespace: str
) -> None:
    keys = [f"{namespace}:{{{tag}}}:x" for tag in range(24)]
    config = RedisConfig(redis_cluster.url, durability="replica")

    async with RedisClient(config) as client:
        await client.run(WRITE, [ScriptCall([key], [key]) for key in keys])
        answers = await client.run(READ, [ScriptCall([key], []) for key in keys])

    assert answers == [key.encode() for key in keys]
    held = set()
    for node in redis_cluster.nodes:
        with redis.Redis.from_url(node.url) as admin:
            if admin.info("replication")["role"] == "slave":
                held |= set(admin.scan_iter(f"{namespace}:*:x", count=1000))
    assert held == {key.encode() for key in keys}
