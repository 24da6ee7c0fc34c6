import asyncio
import os
from collections.abc import AsyncIterator

import pytest

from neardup_stream.errors import ConfigError, CorruptData
from neardup_stream.stores.redis.client import RedisClient
from neardup_stream.stores.redis.config import RedisConfig
from neardup_stream.stores.redis.leases import Lease
from tests.servers.proxy import start_proxy
from tests.servers.redis import RedisServer

ANOTHER = b"process 1 on host 0 0 0"


@pytest.fixture
async def client(redis_server: RedisServer) -> AsyncIterator[RedisClient]:
    async with RedisClient(RedisConfig(redis_server.url)) as opened:
        yield opened


class Work:
    """Work that runs until it is allowed to end, and knows how it ended."""

    def __init__(self) -> None:
        self.may_end = asyncio.Event()
        self.ended = ""

    async def run(self) -> str:
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.ended = "cancelled"
            raise
        self.ended = "done"
        return self.ended


async def stored(client: RedisClient, key: str) -> bytes:
    value: bytes | None = await client.execute("GET", key)
    return value or b""


async def test_a_lease_is_free_again_once_its_work_has_ended(client: RedisClient, namespace: str) -> None:
    for _ in range(2):
        lease = Lease(client, namespace, "work")
        await lease.take()
        assert (await lease.hold(stored(client, namespace))).startswith(b"process %d on " % os.getpid())

    assert await stored(client, namespace) == b""


async def test_a_lease_is_free_again_once_its_work_has_failed(client: RedisClient, namespace: str) -> None:
    async def fail() -> None:
        raise ConfigError("the work has failed")

    lease = Lease(client, namespace, "work")
    await lease.take()
    with pytest.raises(ConfigError, match="the work has failed"):
        await lease.hold(fail())

    assert await stored(client, namespace) == b""


async def test_a_lease_that_is_renewed_is_refused_to_others(client: RedisClient, namespace: str) -> None:
    lease, work = Lease(client, namespace, "work"), Work()
    await lease.take()
    async with asyncio.TaskGroup() as tasks:
        held = tasks.create_task(lease.hold(work.run()))
        with pytest.raises(ConfigError, match="another work is at work, process"):
            await Lease(client, namespace, "work").take()
        work.may_end.set()

    assert held.result() == "done"


async def test_a_lease_may_be_taken_again_by_its_holder(client: RedisClient, namespace: str) -> None:
    lease = Lease(client, namespace, "work")
    for _ in range(2):
        await lease.take()

    assert await stored(client, namespace)


async def test_the_lease_of_a_process_that_was_killed_expires(client: RedisClient, namespace: str) -> None:
    await client.execute("SET", namespace, ANOTHER, "PX", 200)

    async with asyncio.timeout(60):
        await Lease(client, namespace, "work").take()

    assert not (await stored(client, namespace)).startswith(b"process 1 ")


async def test_a_lease_of_before_the_clock_was_set_back_is_over(client: RedisClient, namespace: str) -> None:
    (seconds, _) = await client.execute("TIME")
    await client.execute("SET", namespace, ANOTHER + b" %d000" % (int(seconds) + 30 * 86_400))

    await Lease(client, namespace, "work").take()

    assert not (await stored(client, namespace)).startswith(b"process 1 ")


async def test_work_whose_lease_another_holder_has_taken_is_cancelled_and_leaves_it(
    client: RedisClient, namespace: str
) -> None:
    lease, work = Lease(client, namespace, "work"), Work()
    await lease.take()
    await client.execute("SET", namespace, ANOTHER)

    async with asyncio.timeout(60):
        with pytest.raises(ConfigError, match="work has lost its lease to process 1 on host: this process"):
            await lease.hold(work.run())

    assert work.ended == "cancelled"
    assert await stored(client, namespace) == ANOTHER


async def test_a_lease_that_ended_while_redis_was_unavailable_is_lost_only_to_another_holder(
    redis_server: RedisServer, client: RedisClient, namespace: str
) -> None:
    with start_proxy(redis_server.port) as proxy:
        async with RedisClient(RedisConfig(f"redis://127.0.0.1:{proxy.port}")) as own, asyncio.timeout(120):
            lease, work = Lease(own, namespace, "work"), Work()
            await lease.take()
            held = asyncio.create_task(lease.hold(work.run()))
            for taken_meanwhile in (b"", ANOTHER):
                proxy.refuse()
                await client.execute("DEL", namespace)
                if taken_meanwhile:
                    await client.execute("SET", namespace, taken_meanwhile)
                proxy.heal()
                while not taken_meanwhile and not await stored(client, namespace):
                    await asyncio.wait([held], timeout=0.1)
            with pytest.raises(ConfigError, match="has lost its lease to process 1 on host"):
                await held

    assert await stored(client, namespace) == ANOTHER


async def test_work_ends_with_the_error_of_a_lease_that_cannot_be_renewed(
    client: RedisClient, namespace: str
) -> None:
    lease, work = Lease(client, namespace, "work"), Work()
    await lease.take()
    await client.execute("DEL", namespace)
    await client.execute("HSET", namespace, "no", "lease")

    async with asyncio.timeout(60):
        with pytest.raises(CorruptData, match="WRONGTYPE"):
            await lease.hold(work.run())

    assert work.ended == "cancelled"
