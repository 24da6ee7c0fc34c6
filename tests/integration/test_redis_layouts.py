import json
from collections.abc import AsyncIterator

import pytest

from neardup_stream.errors import ConfigError, CorruptData
from neardup_stream.stores.redis.client import RedisClient
from neardup_stream.stores.redis.config import RedisConfig
from neardup_stream.stores.redis.keys import meta_key
from neardup_stream.stores.redis.layouts import TableSettings, add_layout, read_layouts
from tests.servers.redis import RedisServer

HALVES = TableSettings(expected_pages=5_000_000, blocks=3, substrings=2)


@pytest.fixture
async def client(redis_server: RedisServer) -> AsyncIterator[RedisClient]:
    async with RedisClient(RedisConfig(redis_server.url)) as opened:
        yield opened


async def _store(client: RedisClient, namespace: str, **fields: object) -> None:
    await client.execute("HSET", meta_key(namespace), "token", "abc", "layout:abc:1", json.dumps(fields))


async def test_a_layout_is_read_as_it_was_stored(client: RedisClient, namespace: str) -> None:
    await client.execute("HSET", meta_key(namespace), "token", "abc")

    await add_layout(client, namespace, "abc", 1, HALVES)

    assert await read_layouts(client, namespace) == {1: HALVES}


async def test_a_layout_of_a_release_without_substrings_has_one(client: RedisClient, namespace: str) -> None:
    await _store(client, namespace, expected_pages=9_000, blocks=4)

    assert await read_layouts(client, namespace) == {1: TableSettings(9_000, 4, substrings=1)}


async def test_a_layout_without_substrings_is_stored_as_releases_before_them_read_it(
    client: RedisClient, namespace: str
) -> None:
    await add_layout(client, namespace, "abc", 1, TableSettings(9_000, 4, substrings=1))

    stored = await client.execute("HGET", meta_key(namespace), "layout:abc:1")
    assert json.loads(stored) == {"expected_pages": 9_000, "blocks": 4}


async def test_a_layout_of_a_later_release_is_refused(client: RedisClient, namespace: str) -> None:
    await _store(client, namespace, expected_pages=9_000, blocks=4, halves=2)

    with pytest.raises(ConfigError, match=r"of a later release laid the tables out by index\.halves"):
        await read_layouts(client, namespace)


@pytest.mark.parametrize("stored", ['{"expected_pages": 9000}', "[]", "5", "null", "{"])
async def test_what_is_no_layout_is_corrupt_data(client: RedisClient, namespace: str, stored: str) -> None:
    await client.execute("HSET", meta_key(namespace), "token", "abc", "layout:abc:1", stored)

    with pytest.raises(CorruptData, match="does not hold a layout"):
        await read_layouts(client, namespace)
