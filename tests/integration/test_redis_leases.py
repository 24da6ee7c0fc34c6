import asyncio
from collections.abc import AsyncIterator

import pytest

from neardup_stream.errors import ConfigError
from neardup_stream.stores.redis.client import RedisClient
from neardup_stream.stores.redis.config import RedisConfig
from neardup_stream.stores.redis.leases import leased
from tests.servers.redis import RedisServer


@pytest.fixture
async def client(redis_server: RedisServer) -> AsyncIterator[RedisClient]:
    async with RedisClient(RedisConfig(redis_server.url)) as opened:
        yield opened


async def test_a_lease_is_free_again_once_its_work_has_ended(client: RedisClient, namespace: str) -> None:
    for _ in range(2):
        async with leased(client, namespace, "work"):
            assert await client.execute("GET", namespace)

    assert await client.execute("GET", namespace) is None


async def test_a_lease_that_is_renewed_is_refused_to_others(client: RedisClient, namespace: str) -> None:
    async with leased(client, namespace, "work"):
        with pytest.raises(ConfigError, match="another work is at work, process"):
            async with leased(client, namespace, "work"):
                pass


async def test_the_lease_of_a_process_that_was_killed_ends_by_itself(
    client: RedisClient, namespace: str
) -> None:
    await client.execute("SET", namespace, "process 1 on host 0 0", "PX", 200)

    async with asyncio.timeout(60), leased(client, namespace, "work"):
        assert not (await client.execute("GET", namespace)).startswith(b"process 1 ")


async def test_a_lease_that_another_holder_has_taken_is_left_to_it(
    client: RedisClient, namespace: str
) -> None:
    async with leased(client, namespace, "work"):
        await client.execute("SET", namespace, "process 1 on host 0 0")

    assert await client.execute("GET", namespace) == b"process 1 on host 0 0"
