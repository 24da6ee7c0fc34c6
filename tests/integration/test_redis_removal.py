"""Keys that are removed by a pattern, on one server and on all of a cluster."""

import pytest

from neardup_stream.stores.redis.client import RedisClient
from neardup_stream.stores.redis.config import RedisConfig

KEYS = 1500
"""More than one step of a scan, on each of three servers."""


@pytest.mark.parametrize("servers", ["redis_server", "redis_cluster"])
async def test_all_keys_of_a_pattern_are_removed_but_those_that_are_kept(
    servers: str, namespace: str, request: pytest.FixtureRequest
) -> None:
    async with RedisClient(RedisConfig(request.getfixturevalue(servers).url)) as client:
        for number in range(KEYS):
            await client.execute("SET", f"{namespace}:old:{{{number}}}", number)
        kept = [f"{namespace}:new:{{1}}", f"{namespace}:meta", f"{namespace}-other:old:{{1}}"]
        for key in kept:
            await client.execute("SET", key, "x")

        removed = await client.delete_matching(f"{namespace}:*", (f"{namespace}:new:", f"{namespace}:meta"))
        again = await client.delete_matching(f"{namespace}:*", (f"{namespace}:new:", f"{namespace}:meta"))

        assert (removed, again) == (KEYS, 0)
        assert [await client.execute("EXISTS", key) for key in kept] == [1, 1, 1]
        await client.delete_matching(f"{namespace}*", ())
