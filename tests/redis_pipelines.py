"""A whole pipeline over a real Redis, with memory streams: for what servers do to it."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence

from neardup_stream.fingerprints.sketch import SketchConfig
from neardup_stream.indexes.layout import IndexConfig, IndexLayout
from neardup_stream.message import Record
from neardup_stream.meters import Dependency
from neardup_stream.pipeline.retries import RetryPolicy
from neardup_stream.stores.redis.client import RedisClient
from neardup_stream.stores.redis.clusters import RedisClusters
from neardup_stream.stores.redis.keys import ClusterKeys, Keys
from neardup_stream.stores.redis.records import RedisRecords
from neardup_stream.stores.redis.tables import RedisTables
from neardup_stream.streams.memory.streams import MemorySource
from tests.pipelines import CountingMeters, Pipeline

__all__ = ["FaultMeters", "events_without_faults", "published_events", "redis_pipeline", "until"]

STEADY = RetryPolicy(retry_deadline_seconds=60, first_pause_seconds=0.01, longest_pause_seconds=0.1)
SCHEMA_ID = "5c"
MOST_SECONDS = 60


class FaultMeters(CountingMeters):
    """Counts what was unavailable, by dependency and reason."""

    def __init__(self) -> None:
        super().__init__()
        self.errors: Counter[tuple[Dependency, str]] = Counter()

    def dependency_error(self, dependency: Dependency, reason: str) -> None:
        self.errors[dependency, reason] += 1


def redis_pipeline(client: RedisClient, namespace: str, meters: CountingMeters) -> Pipeline:
    """Return the stores of `Pipeline`'s own layout, under a namespace of an open client."""
    layout = IndexLayout(IndexConfig(bands=SketchConfig().bands))
    keys = Keys(
        namespace=namespace,
        schema_id=SCHEMA_ID,
        shard_bits=layout.shard_bits,
        table_count=layout.table_count,
        bucket_bits=layout.bucket_bits,
        slot_bits=0,
    )
    return Pipeline(
        tables=RedisTables(client, keys),
        records=RedisRecords(client, keys),
        clusters=RedisClusters(client, ClusterKeys(namespace=namespace, schema_id=SCHEMA_ID, slot_bits=2)),
        meters=meters,
        retry_policy=STEADY,
    )


async def events_without_faults(pages: Sequence[Record]) -> Counter[bytes]:
    """Return what the events of these pages are where nothing fails, in memory."""
    pipeline = Pipeline()
    async with MemorySource(pages) as source:
        await pipeline.loop(source).run(asyncio.Event())
    return published_events(pipeline)


def published_events(pipeline: Pipeline) -> Counter[bytes]:
    """Return the events so far, repeats counted."""
    return Counter(message.value or b"" for message in pipeline.events.messages)


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what a pipeline counts."""
    async with asyncio.timeout(MOST_SECONDS):
        while not condition():  # noqa: ASYNC110 - counters and servers set no events
            await asyncio.sleep(0.005)
