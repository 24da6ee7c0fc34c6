"""Masters die under load: the pipeline continues with their replicas, and loses no acknowledged write."""

import asyncio
from collections.abc import Awaitable, Callable

from neardup_stream.message import Record
from neardup_stream.pipeline.in_flight import InFlightLimits
from neardup_stream.stores.redis.client import RedisClient
from neardup_stream.stores.redis.config import Durability, RedisConfig
from neardup_stream.streams.memory.streams import MemorySource, numbered
from tests.pipelines import Pipeline, essay, page_json
from tests.redis_pipelines import FaultMeters, events_without_faults, published_events, redis_pipeline, until
from tests.servers.redis import (
    start_redis,
    start_redis_cluster,
    start_watched_redis,
)

TOPICS, PAGES, PAGES_BEFORE = 300, 900, 200
LIMITS = InFlightLimits(max_batch_pages=8, max_in_flight_pages=64)


async def run_while_a_master_dies(
    url: str, kill: Callable[[FaultMeters], Awaitable[None]], durability: Durability
) -> Pipeline:
    """Take the pages through Redis; in the middle a master is killed."""
    meters = FaultMeters()
    async with RedisClient(RedisConfig(url, durability=durability)) as client:
        pipeline = redis_pipeline(client, "nd", meters)
        pipeline.limits = LIMITS
        async with MemorySource(pages()) as source:
            run = asyncio.create_task(pipeline.loop(source).run(asyncio.Event()))
            await until(lambda: meters.page_count >= PAGES_BEFORE)
            await kill(meters)
            done = meters.page_count
            await until(lambda: meters.page_count > done)
            await run
    assert meters.errors.total() > 0
    assert meters.outcomes.total() == PAGES
    return pipeline


async def test_the_replica_that_the_sentinels_choose_has_all_that_was_published() -> None:
    with start_watched_redis() as servers:

        async def kill(_meters: FaultMeters) -> None:
            servers.master().kill()

        pipeline = await run_while_a_master_dies(servers.url, kill, "replica")

    assert published_events(pipeline) == await events_without_faults(pages())


async def test_a_cluster_continues_without_the_master_of_the_clusters() -> None:
    with start_redis_cluster() as cluster:

        async def kill(_meters: FaultMeters) -> None:
            victim = cluster.master_of("{c}")
            victim.kill()
            await until(lambda: cluster.master_of("{c}") is not victim)
            victim.start_again()  # as the replica of the new master, which needs one

        pipeline = await run_while_a_master_dies(cluster.url, kill, "replica")

    assert published_events(pipeline) == await events_without_faults(pages())


async def test_a_server_that_is_killed_has_everything_in_its_append_only_file() -> None:
    with start_redis(options={"appendonly": "yes", "appendfsync": "always"}) as server:

        async def kill(meters: FaultMeters) -> None:
            server.kill()
            await until(lambda: meters.errors.total() > 0)
            server.start_again()

        pipeline = await run_while_a_master_dies(server.url, kill, "master")

    assert published_events(pipeline) == await events_without_faults(pages())


def pages() -> list[Record]:
    return numbered(page_json(f"p{number}", essay(number % TOPICS)) for number in range(PAGES))
