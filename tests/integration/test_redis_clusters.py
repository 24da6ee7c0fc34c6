"""Clusters on Redis, on Valkey and on a six-node cluster."""

import asyncio
import random
from collections.abc import Awaitable, Callable

import pytest

from neardup_stream.message import Partition
from neardup_stream.stores.cluster_store import AHEAD_SECONDS
from neardup_stream.stores.memory.clusters import MemoryClusters
from neardup_stream.stores.redis.client import RedisClient
from neardup_stream.stores.redis.clusters import RedisClusters
from neardup_stream.stores.redis.config import RedisConfig
from neardup_stream.stores.redis.keys import ClusterKeys
from tests.cluster_histories import Crawl, History, Op, walked
from tests.contracts.cluster_cells import FREE, LOW, page, ranked, writing
from tests.contracts.clusters import UNGUARDED_STORE_CLAIMS
from tests.servers.redis import RedisServer

AGED_PAGE = (1).to_bytes(6, "big") + bytes(2) + LOW.to_bytes(8, "big") + bytes(4)
"""A page of rank 1, as the list of aging pages has it behind the time."""


@pytest.fixture
def keys(namespace: str) -> ClusterKeys:
    return ClusterKeys(namespace=namespace, schema_id="5c", slot_bits=2)


@pytest.fixture
def store(client: RedisClient, keys: ClusterKeys) -> RedisClusters:
    return RedisClusters(client, keys)


@pytest.mark.parametrize("claim", UNGUARDED_STORE_CLAIMS, ids=lambda claim: claim.__name__)
async def test_redis_clusters_keep_the_contract(
    claim: Callable[[RedisClusters], Awaitable[None]], store: RedisClusters
) -> None:
    await claim(store)


async def test_the_same_history_gives_the_same_answers_as_in_memory(store: RedisClusters) -> None:
    dice = random.Random(20)
    real, model = History(store), History(MemoryClusters())
    for _ in range(60):
        numbers = dice.sample(range(30), dice.randrange(1, 8))
        batch = [Op(number, dice.choice([None, *range(40)])) for number in numbers]

        assert await real.run(batch) == await model.run(batch)

    assert real.ranks == model.ranks
    assert await walked(real.clusters) == await walked(model.clusters)


async def test_matching_pages_in_flight_at_once_end_in_one_cluster(store: RedisClusters) -> None:
    crawl = Crawl()
    daemons = [History(store, crawl=crawl, partition=Partition("pages", number)) for number in range(4)]
    for content in range(0, 60, 3):
        await asyncio.gather(
            *(daemon.run([Op(content * 10 + number, content)]) for number, daemon in enumerate(daemons))
        )

    clusters = await walked(daemons[0].clusters)
    assert sorted(sorted(members) for _, members in clusters.values()) == [
        [content * 10 + number for number in range(4)] for content in range(0, 60, 3)
    ]


async def test_what_is_delivered_leaves_nothing_but_clusters(
    redis_server: RedisServer, namespace: str
) -> None:
    async with RedisClient(RedisConfig(redis_server.url)) as client:
        store = RedisClusters(client, ClusterKeys(namespace=namespace, schema_id="5c", slot_bits=0))
        history = History(store, tombstone_ttl_seconds=0)
        await history.run([Op(number, 10 * number) for number in range(50)] + [Op(99, 0)])
        await history.trim()

        stem = f"{namespace}:5c:{{c}}:"
        assert await client.execute("HLEN", f"{stem}pages:0") == 2
        assert await client.execute("EXISTS", f"{stem}rows:pages:0", f"{stem}aging") == 0


async def test_a_turn_that_began_before_the_clock_was_set_back_is_over(
    store: RedisClusters, client: RedisClient, keys: ClusterKeys
) -> None:
    """It would keep all daemons from committing until the clock is there again."""
    (seconds, _) = await client.execute("TIME")
    for ends, is_over in ((int(seconds) + 3600, True), (int(seconds), False)):
        await client.execute("SET", keys.turn, b"12345678%d000" % ends)

        assert await store.take_turn(b"abcdefgh", 1.0) == is_over
    assert await store.take_turn(b"12345678", 1.0)


async def test_a_commit_is_refused_during_the_turn_of_another_and_not_during_its_own(
    store: RedisClusters,
) -> None:
    assert await store.take_turn(b"abcdefgh", 60.0)
    cell = (page(LOW), ranked(1, FREE))

    assert await store.commit(writing(cell)) is None
    assert await store.commit(writing(cell)._replace(turn=b"12345678")) is None
    assert await store.commit(writing(cell)._replace(turn=b"abcdefgh")) is not None
    assert await store.commit(writing(cell)) is not None


async def test_pages_that_began_to_age_while_the_clock_was_ahead_are_due(
    store: RedisClusters, client: RedisClient, keys: ClusterKeys
) -> None:
    await store.commit(writing((page(LOW), ranked(1, FREE))))
    (seconds, _) = await client.execute("TIME")
    for ahead_seconds in (AHEAD_SECONDS // 2, 100 * AHEAD_SECONDS):
        entry = (int(seconds) + ahead_seconds).to_bytes(4, "big") + AGED_PAGE
        await client.execute("DEL", keys.aging)
        await client.execute("RPUSH", keys.aging, entry)

        due = await store.due(600, 10)

        assert [aged.handle for aged in due] == ([LOW] if ahead_seconds > AHEAD_SECONDS else [])
