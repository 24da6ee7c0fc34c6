"""Clusters on Redis, on Valkey and on a six-node cluster."""

import random
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from neardup_stream.stores.cluster_keys import ClusterKeys
from neardup_stream.stores.memory_clusters import MemoryClusters
from neardup_stream.stores.redis_client import RedisClient, RedisConfig
from neardup_stream.stores.redis_clusters import RedisClusters
from tests.cluster_histories import History, Op, walked
from tests.contracts.clusters import CLUSTER_STORE_CLAIMS


@pytest.fixture(params=["redis_server", "valkey_server", "redis_cluster"])
async def store(request: pytest.FixtureRequest, namespace: str) -> AsyncIterator[RedisClusters]:
    server = request.getfixturevalue(request.param)
    async with RedisClient(RedisConfig(server.url)) as client:
        yield RedisClusters(client, ClusterKeys(namespace=namespace, schema_id="5c", slot_bits=2))


@pytest.mark.parametrize("claim", CLUSTER_STORE_CLAIMS, ids=lambda claim: claim.__name__)
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
