"""Scripts on keys of a slot that moves to another node."""

import pytest

from neardup_stream.errors import StoreUnavailable
from neardup_stream.page import Handle
from neardup_stream.stores.protocol import RecordAnswer, RecordChange, RecordDrop
from neardup_stream.stores.redis.client import RedisClient, Script, ScriptCall
from neardup_stream.stores.redis.config import RedisConfig
from neardup_stream.stores.redis.keys import Keys, shard_tag
from neardup_stream.stores.redis.records import RedisRecords
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


async def test_the_last_record_of_a_hash_leaves_its_floor_while_its_slot_moves(
    redis_cluster: RedisCluster, namespace: str
) -> None:
    keys = Keys(namespace=namespace, schema_id="5c", shard_bits=0, table_count=1, bucket_bits=0, slot_bits=2)
    tag = shard_tag(0, keys.shard_count).encode()
    first = RecordChange(Handle(1), None, b"first")

    async with RedisClient(RedisConfig(redis_cluster.url, retries=0)) as client:
        records = RedisRecords(client, keys)
        await records.replace([first])
        with moving_slot(redis_cluster, tag):
            assert await records.drop([RecordDrop(Handle(1), b"first", floor=3)]) == [True]

        assert await records.replace([first]) == [RecordAnswer(None, floor=3, was_dropped=True)]
