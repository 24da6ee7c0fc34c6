"""Keys that are removed by a pattern, and buckets of a layout, on one server and on all of a cluster."""

import pytest

from neardup_stream.stores.redis.client import RedisClient
from neardup_stream.stores.redis.config import RedisConfig
from neardup_stream.stores.redis.keys import Keys, meta_key
from neardup_stream.stores.redis.tables import remove_tables

KEYS = 1500
"""More than one step of a scan, on each of three servers."""

TABLES = 12


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


@pytest.mark.parametrize("servers", ["redis_server", "redis_cluster"])
@pytest.mark.parametrize("number", [0, 3])
@pytest.mark.parametrize("bucket_bits", [0, 40], ids=["few possible buckets", "too many to name"])
async def test_the_buckets_of_one_layout_are_removed_and_no_other_key(
    servers: str, number: int, bucket_bits: int, namespace: str, request: pytest.FixtureRequest
) -> None:
    layouts = {layout: layout_keys(namespace, layout, bucket_bits) for layout in (0, 3, 30)}
    doomed = layouts[number]
    async with RedisClient(RedisConfig(request.getfixturevalue(servers).url)) as client:
        kept = [doomed.record(5), doomed.frame_table(5), meta_key(namespace)]
        for keys in layouts.values():
            buckets = keys.buckets(range(TABLES), range(TABLES), [0] * TABLES)
            kept += buckets if keys is not doomed else []
            for bucket in buckets:
                await client.execute("SET", bucket, "x")
        for key in kept:
            await client.execute("SET", key, "x")

        removed = await remove_tables(client, doomed, [bucket_bits] * TABLES)

        assert removed == TABLES
        assert [await client.execute("EXISTS", key) for key in kept] == [1] * len(kept)
        await client.delete_matching(f"{namespace}*")


def layout_keys(namespace: str, layout: int, bucket_bits: int) -> Keys:
    return Keys(
        namespace=namespace,
        schema_id="abc",
        shard_bits=2,
        table_count=TABLES,
        bucket_bits=bucket_bits,
        slot_bits=4,
        layout=layout,
    )
