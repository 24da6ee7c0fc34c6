"""The sweep's rounds on Redis, on Valkey and on a six-node cluster."""

import asyncio
import time

import pytest

from neardup_stream.stores.redis.client import RedisClient
from neardup_stream.stores.redis.config import RedisConfig
from neardup_stream.stores.redis.sweep_rounds import RedisSweepRounds
from tests.contracts.sweep_rounds import SLOTS, SWEEP_ROUNDS_CLAIMS, SweepRoundsClaim
from tests.servers.redis import RedisServer


@pytest.mark.parametrize("server", ["redis_server", "valkey_server", "redis_cluster"])
@pytest.mark.parametrize("claim", SWEEP_ROUNDS_CLAIMS, ids=lambda claim: claim.__name__)
async def test_sweep_rounds_on_redis_keep_the_contract(
    claim: SweepRoundsClaim, server: str, request: pytest.FixtureRequest, namespace: str
) -> None:
    async with RedisClient(RedisConfig(request.getfixturevalue(server).url)) as client:
        await claim(RedisSweepRounds(client, namespace, "5c"))


async def test_daemons_share_a_round_and_learn_the_time(redis_server: RedisServer, namespace: str) -> None:
    async with RedisClient(RedisConfig(redis_server.url)) as client:
        daemons = [RedisSweepRounds(client, namespace, "5c") for _ in range(4)]
        claims = await asyncio.gather(*(each.claim(10, SLOTS, 1e7) for each in daemons))

    met = [slot for each in claims for slot in range(each.first_slot, each.first_slot + each.slot_count)]
    assert len(set(met)) == len(met) > 30
    assert all(abs(each.now_seconds - time.time()) < 30 for each in claims)
