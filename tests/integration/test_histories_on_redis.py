"""The histories of pages on real servers: events add up to what is stored there too."""

import random
from collections.abc import AsyncIterator
from typing import get_args

import pytest

from neardup_stream.indexes.layout import IndexConfig, IndexLayout
from neardup_stream.stores.redis.client import RedisClient
from neardup_stream.stores.redis.clusters import RedisClusters
from neardup_stream.stores.redis.config import RedisConfig
from neardup_stream.stores.redis.keys import ClusterKeys, Keys
from neardup_stream.stores.redis.records import RedisRecords
from neardup_stream.stores.redis.tables import RedisTables
from tests.crashes import Burn, Fuse, Moment
from tests.page_histories import RULES, SKETCH, Content, Op, PageHistory, Sweep, sharp_pipeline
from tests.pipelines import Pipeline

SEEDS = range(6)


@pytest.fixture(params=["redis_server", "valkey_server", "redis_cluster"])
async def pipeline(request: pytest.FixtureRequest, namespace: str) -> AsyncIterator[Pipeline]:
    layout = IndexLayout(IndexConfig(bands=SKETCH.bands))
    keys = Keys(
        namespace=namespace,
        schema_id="5c",
        shard_bits=layout.shard_bits,
        table_count=layout.table_count,
        bucket_bits=layout.bucket_bits,
        slot_bits=0,
    )
    async with RedisClient(RedisConfig(request.getfixturevalue(request.param).url)) as client:
        yield sharp_pipeline(
            tables=RedisTables(client, keys),
            records=RedisRecords(client, keys),
            clusters=RedisClusters(client, ClusterKeys(namespace=namespace, schema_id="5c", slot_bits=2)),
        )


@pytest.mark.parametrize("seed", SEEDS)
async def test_the_fold_of_the_events_is_what_is_stored(pipeline: Pipeline, seed: int) -> None:
    dice = random.Random(seed)
    pipeline.rule = list(RULES.values())[seed % len(RULES)]
    pipeline.tombstone_ttl_seconds = 600 * (
        seed % 2
    )  # without tombstones, what was compared is often compared again
    burns = [Burn(dice.randrange(60), dice.choice(get_args(Moment))) for _ in range(dice.randrange(8))]
    history = PageHistory(pipeline, fuse=Fuse(burns))

    await history.live([_step(dice) for _ in range(60)], batch_pages=dice.randint(1, 8))

    await history.check(dice)


def _step(dice: random.Random) -> Op | Sweep:
    chance = dice.random()
    if chance < 0.12:
        return Sweep(dice.choice([1, 3, 6, 11]))
    if chance < 0.3:
        return Op(dice.randrange(8), None)
    return Op(dice.randrange(8), Content(dice.choice([1, 2]), dice.randrange(5), dice.random() < 0.3))
