"""Scripts on keys of a slot that moves to another node."""

import pytest

from neardup_stream.errors import StoreUnavailable
from neardup_stream.stores.redis.client import RedisClient, Script, ScriptCall
from neardup_stream.stores.redis.config import RedisConfig
from tests.moving_slots import moving_slot
from tests.servers.redis import RedisCluster


async def test_a_script_that_empties_a_key_of_a_moving_slot_is_unavailable_and_not_refused(
    redis_cluster: RedisCluster, namespace: str
) -> None:
    key = f"{namespace}:{{c}}:hash"
    empty_and_fill = Script.of("redis.call('DEL', KEYS[1]) return redis.call('HSET', KEYS[1], 'b', 2)")

    async with RedisClient(RedisConfig(redis_cluster.url, retries=0)) as client:
        await client.execute("HSET", key, "a", 1)
        with moving_slot(redis_cluster, b"c"), pytest.raises(StoreUnavailable) as raised:
            await client.run(empty_and_fill, [ScriptCall([key], [])])

    assert raised.value.reason == "try_again"
