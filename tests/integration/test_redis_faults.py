"""Redis as it fails: the pipeline waits, reports why, and then publishes the same events as without faults.

The faults are real: servers configured to refuse, to load, to be replicas; a proxy that harms connections.
"""

import asyncio
import socket
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import redis
from redis.crc import REDIS_CLUSTER_HASH_SLOTS as SLOTS
from redis.crc import key_slot

from neardup_stream.errors import ConfigError, StoreUnavailable
from neardup_stream.message import Record
from neardup_stream.stores.redis.client import RedisClient, Script, ScriptCall
from neardup_stream.stores.redis.config import RedisConfig
from neardup_stream.stores.redis.supervisor import FAILURES_OF_A_CLIENT
from neardup_stream.streams.memory.streams import MemorySource, Pause, numbered
from tests.moving_slots import moving_slot, other_key
from tests.pipelines import essay, page_json
from tests.redis_pipelines import FaultMeters, events_without_faults, published_events, redis_pipeline, until
from tests.servers.process import free_ports, wait_until
from tests.servers.proxy import Proxy, start_proxy
from tests.servers.redis import RedisCluster, RedisServer, start_redis

TOPICS, PAGES, PAGES_BEFORE = 20, 60, 20
PATIENT_SECONDS = 60
ANSWER_SECONDS = 0.3


class Site(NamedTuple):
    """A server that a test may harm, and the way there."""

    server: RedisServer
    admin: redis.Redis
    proxy: Proxy


@pytest.fixture(scope="module")
def harmed_server() -> Iterator[RedisServer]:
    with start_redis(options={"busy-reply-threshold": "10"}) as server:
        yield server


@pytest.fixture
def site(harmed_server: RedisServer) -> Iterator[Site]:
    with redis.Redis.from_url(harmed_server.url) as admin, start_proxy(harmed_server.port) as proxy:
        yield Site(harmed_server, admin, proxy)


def client_of(site: Site, answer_seconds: float) -> RedisClient:
    """Return a client of the proxy, to be opened."""
    return RedisClient(RedisConfig(f"redis://127.0.0.1:{site.proxy.port}/0", answer_seconds, retries=0))


@pytest.fixture
async def client(site: Site) -> AsyncIterator[RedisClient]:
    async with client_of(site, PATIENT_SECONDS) as client:
        yield client


@contextmanager
def configured(site: Site, name: str, value: str) -> Iterator[None]:
    former = site.admin.config_get(name)[name]
    site.admin.config_set(name, value)
    try:
        yield
    finally:
        site.admin.config_set(name, former or "")


@contextmanager
def without_a_master(site: Site) -> Iterator[None]:
    site.admin.replicaof("127.0.0.1", free_ports(1)[0])
    try:
        yield
    finally:
        site.admin.replicaof("NO", "ONE")


@contextmanager
def replica_that_serves_nothing(site: Site) -> Iterator[None]:
    with configured(site, "replica-serve-stale-data", "no"), without_a_master(site):
        yield


@contextmanager
def endless_script(site: Site) -> Iterator[None]:
    with socket.create_connection(("127.0.0.1", site.server.port)) as caller:
        caller.sendall(b"EVAL 'while true do end' 0\r\n")
        try:
            yield
        finally:
            site.admin.script_kill()


@contextmanager
def file_limit(site: Site) -> Iterator[None]:
    """The append-only file cannot grow, as on a full disk."""
    with configured(site, "appendonly", "yes"):
        wait_until(lambda: not site.admin.info("persistence")["aof_rewrite_in_progress"], PATIENT_SECONDS)
        limit(site.server, "fsize", "1")
        try:
            yield
        finally:
            limit(site.server, "fsize", "unlimited")


@contextmanager
def too_many_clients(site: Site) -> Iterator[None]:
    with configured(site, "maxclients", "1"):
        site.admin.client_kill_filter(_type="normal", skipme=True)
        yield


@contextmanager
def paused_server(site: Site) -> Iterator[None]:
    site.server.process.freeze()
    try:
        yield
    finally:
        site.server.process.thaw()


@contextmanager
def proxied(site: Site, harm: Callable[[Proxy], None]) -> Iterator[None]:
    harm(site.proxy)
    try:
        yield
    finally:
        site.proxy.heal()


FAULTS: dict[str, tuple[str, Callable[[Site], AbstractContextManager[None]]]] = {
    "its memory is full": ("out_of_memory", lambda site: configured(site, "maxmemory", "1")),
    "its disk is full": ("disk", file_limit),
    "it lacks replicas": ("too_few_replicas", lambda site: configured(site, "min-replicas-to-write", "1")),
    "it is made a replica": ("read_only", without_a_master),
    "it is a replica alone": ("master_down", replica_that_serves_nothing),
    "a script holds it": ("busy", endless_script),
    "it takes no more clients": ("too_many_clients", too_many_clients),
    "it is paused": ("timeout", paused_server),
    "it refuses connections": ("connection", lambda site: proxied(site, Proxy.refuse)),
    "the network is half-open": ("timeout", lambda site: proxied(site, Proxy.half_open)),
    "the network is slow": (
        "timeout",
        lambda site: proxied(site, lambda proxy: proxy.delay(2 * ANSWER_SECONDS)),
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_fault_costs_time_and_nothing_else_and_its_reason_is_counted(
    site: Site, namespace: str, fault: str
) -> None:
    reason, strike = FAULTS[fault]
    # Impatient only where time runs out: a busy machine answers late, too.
    async with client_of(site, ANSWER_SECONDS if reason == "timeout" else PATIENT_SECONDS) as client:
        await live_through(client, namespace, strike(site), {reason, "connection"}, reason)


async def test_a_script_that_is_killed_is_unavailable_and_not_refused(
    site: Site, client: RedisClient
) -> None:
    endless = Script.of("while redis.call('EXISTS', KEYS[1]) == 0 do end")
    running = asyncio.create_task(client.run(endless, [ScriptCall(["never"], [])]))

    await until(lambda: is_killed(site.admin))
    with pytest.raises(StoreUnavailable, match="SCRIPT KILL ended our script") as raised:
        await running

    assert raised.value.reason == "busy"


def is_killed(admin: redis.Redis) -> bool:
    """Return whether a script ran, and ends now."""
    try:
        admin.script_kill()
    except redis.ResponseError:
        return False
    return True


async def test_slots_without_a_master_are_waited_for(namespace: str) -> None:
    (bus_port,) = free_ports(1)
    options = {"cluster-enabled": "yes", "cluster-port": str(bus_port)}
    with start_redis(options=options) as server, redis.Redis.from_url(server.url) as admin:
        admin.execute_command("CLUSTER ADDSLOTSRANGE", 0, SLOTS - 1)
        wait_until(lambda: admin.execute_command("CLUSTER INFO")["cluster_state"] == "ok", PATIENT_SECONDS)
        config = RedisConfig(f"redis+cluster://127.0.0.1:{server.port}", PATIENT_SECONDS, retries=0)
        async with RedisClient(config) as client:
            strike = slot_without_a_master(admin, key_slot(b"c"))
            reasons = {"cluster_down", "no_cluster", "connection"}  # as below
            await live_through(client, namespace, strike, reasons, "no_cluster")


async def test_slots_on_the_move_are_waited_for(redis_cluster: RedisCluster, namespace: str) -> None:
    config = RedisConfig(redis_cluster.url, retries=0)
    async with RedisClient(config) as client:
        # A client that fails again and again is replaced, and a busy node may answer the next one late.
        reasons = {"try_again", "connection", "timeout"}
        await live_through(client, namespace, moving_slot(redis_cluster, b"c"), reasons, "try_again")


async def test_a_node_of_a_cluster_that_is_named_as_one_server_is_refused(
    redis_cluster: RedisCluster,
) -> None:
    home, other = redis_cluster.master_of("key"), other_key(redis_cluster, b"key")

    async with RedisClient(RedisConfig(home.url)) as client:
        with pytest.raises(ConfigError, match=r"MOVED .*that is part of a cluster"):
            await client.execute("HGET", other, "field")
        with pytest.raises(ConfigError, match=r"CROSSSLOT .*that is part of a cluster"):
            await client.run(Script.of("return 1"), [ScriptCall(["key", other], [])])


async def live_through(
    client: RedisClient,
    namespace: str,
    strike: AbstractContextManager[None],
    reasons: set[str],
    main_reason: str,
) -> None:
    """Take pages through it, strike in the middle, and compare the events with those of a run without faults.

    Args:
        client: of the Redis that will be struck.
        namespace: of this test.
        strike: lasts until several tries in a row have met it.
        reasons: of all that may be met.
        main_reason: the one that several tries must meet.
    """
    meters = FaultMeters()
    pipeline = redis_pipeline(client, namespace, meters)
    begin = asyncio.Event()
    source = MemorySource([*pages()[:PAGES_BEFORE], Pause(begin), *pages()[PAGES_BEFORE:]])

    async with source:
        run = asyncio.create_task(pipeline.loop(source).run(asyncio.Event()))
        await until(lambda: meters.page_count == PAGES_BEFORE)
        with strike:
            begin.set()
            await until(lambda: meters.errors["store", main_reason] > FAILURES_OF_A_CLIENT)
        await run

    assert {met for _, met in meters.errors} <= reasons
    assert meters.outcomes == {"unique": TOPICS, "duplicate": PAGES - TOPICS}
    assert published_events(pipeline) == await events_without_faults(pages())


@contextmanager
def slot_without_a_master(admin: Any, slot: int) -> Iterator[None]:
    admin.execute_command("CLUSTER DELSLOTS", slot)
    try:
        yield
    finally:
        admin.execute_command("CLUSTER ADDSLOTS", slot)


async def test_connections_that_are_cut_all_the_time_lose_nothing(
    site: Site, client: RedisClient, namespace: str
) -> None:
    """Calls in flight when a connection is cut may have been done, and are repeated."""
    meters = FaultMeters()
    pipeline = redis_pipeline(client, namespace, meters)

    async with MemorySource(pages()) as source:
        run = asyncio.create_task(pipeline.loop(source).run(asyncio.Event()))
        for cut_at in range(0, PAGES, 8):
            await until(lambda cut_at=cut_at: run.done() or meters.page_count >= cut_at)  # type: ignore[misc] # bound now
            site.proxy.cut()
        await run

    assert meters.errors["store", "connection"] > 0
    assert meters.outcomes == {"unique": TOPICS, "duplicate": PAGES - TOPICS}
    assert published_events(pipeline) == await events_without_faults(pages())


async def test_a_server_that_reads_its_data_is_waited_for(namespace: str, tmp_path: Path) -> None:
    meters = FaultMeters()
    begin = asyncio.Event()
    source = MemorySource([*pages()[:PAGES_BEFORE], Pause(begin), *pages()[PAGES_BEFORE:]])
    kept = {"dir": str(tmp_path)}
    slowly = {"key-load-delay": "1000", "loading-process-events-interval-bytes": "1024"}
    with ExitStack() as stack:
        first = stack.enter_context(start_redis(options=kept))
        client = RedisClient(RedisConfig(first.url, PATIENT_SECONDS, retries=0))
        async with client, source:
            pipeline = redis_pipeline(client, namespace, meters)
            run = asyncio.create_task(pipeline.loop(source).run(asyncio.Event()))
            await until(lambda: meters.page_count == PAGES_BEFORE)
            with redis.Redis.from_url(first.url) as admin:
                admin.mset({str(number): "" for number in range(100_000)})  # a hundred seconds more
                admin.save()
            first.kill()

            again = kept | slowly | {"port": str(first.port)}
            second = stack.enter_context(start_redis(options=again, may_be_loading=True))
            begin.set()
            await until(lambda: meters.errors["store", "loading"] > 0)
            with redis.Redis.from_url(second.url) as admin:
                admin.config_set("key-load-delay", "0")
            await run

    assert meters.outcomes == {"unique": TOPICS, "duplicate": PAGES - TOPICS}
    assert published_events(pipeline) == await events_without_faults(pages())


async def test_answers_in_slices_are_put_together(site: Site, client: RedisClient, namespace: str) -> None:
    meters = FaultMeters()
    pipeline = redis_pipeline(client, namespace, meters)
    site.proxy.slice(100)

    async with MemorySource(pages()) as source:
        await pipeline.loop(source).run(asyncio.Event())

    assert not meters.errors
    assert published_events(pipeline) == await events_without_faults(pages())


async def test_forgotten_scripts_are_sent_again_without_a_failure(
    site: Site, client: RedisClient, namespace: str
) -> None:
    meters = FaultMeters()
    pipeline = redis_pipeline(client, namespace, meters)

    async with MemorySource(pages()) as source:
        run = asyncio.create_task(pipeline.loop(source).run(asyncio.Event()))
        while not run.done():
            site.admin.script_flush()
            await asyncio.sleep(0)
        await run

    assert not meters.errors
    assert published_events(pipeline) == await events_without_faults(pages())


def pages() -> list[Record]:
    return numbered(page_json(f"p{number}", essay(number % TOPICS)) for number in range(PAGES))


def limit(server: RedisServer, resource: str, value: str) -> None:
    subprocess.run(["prlimit", "--pid", str(server.pid), f"--{resource}={value}:"], check=True)
