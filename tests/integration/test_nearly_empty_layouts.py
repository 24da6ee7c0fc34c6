"""In an index made for 20 million pages that holds 5,400, commands that read all of it make few calls."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from neardup_daemon.repair.rebuilding import rebuild_slots

from neardup_stream.chunks import in_chunks
from neardup_stream.clusters.unclustered import Unclustered
from neardup_stream.clusters.walking import walk_clusters
from neardup_stream.fingerprints.sketch import SketchConfig
from neardup_stream.indexes.layout import IndexConfig, IndexLayout
from neardup_stream.indexes.permuted import PermutedIndex
from neardup_stream.message import Partition, Position
from neardup_stream.page import PageId
from neardup_stream.pipeline.former_versions import FormerVersions
from neardup_stream.pipeline.retention import RetentionConfig, Sweeper
from neardup_stream.pipeline.stores import PageStores
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import RecordChange, all_records
from neardup_stream.stores.redis.client import RedisClient, Script, ScriptCall
from neardup_stream.stores.redis.clusters import RedisClusters
from neardup_stream.stores.redis.config import RedisConfig
from neardup_stream.stores.redis.keys import ClusterKeys, Keys
from neardup_stream.stores.redis.records import RedisRecords
from neardup_stream.stores.redis.tables import RedisTables
from neardup_stream.stores.redis.walking import WALKED_SLOTS
from tests.integration.recorded_calls import spread
from tests.servers.redis import RedisServer

PAGES, EXPECTED_PAGES = 5_400, 20_000_000
NOW = 1_790_000_000
LAYOUT = IndexLayout(IndexConfig(expected_pages=EXPECTED_PAGES, bands=SketchConfig().bands))


class CountingClient(RedisClient):
    """A client that counts its trips to the server."""

    trips = 0

    async def run(self, script: Script, calls: Sequence[ScriptCall]) -> list[Any]:
        self.trips += 1
        return await super().run(script, calls)


@dataclass
class Stored:
    """The index, and the client through which it is reached."""

    client: CountingClient
    records: RedisRecords
    tables: RedisTables
    clusters: RedisClusters

    @property
    def walk_trips(self) -> int:
        """How many calls it takes to look at all hashes of records, if none is full."""
        return self.records.slot_count // WALKED_SLOTS


@pytest.fixture
async def stored(redis_server: RedisServer, namespace: str) -> AsyncIterator[Stored]:
    keys = Keys(
        namespace=namespace,
        schema_id="5c",
        shard_bits=LAYOUT.shard_bits,
        table_count=LAYOUT.table_count,
        bucket_bits=LAYOUT.key_bucket_bits,
        slot_bits=LAYOUT.slot_bits,
    )
    cluster_keys = ClusterKeys(namespace=namespace, schema_id="5c", slot_bits=LAYOUT.cluster_slot_bits)
    async with CountingClient(RedisConfig(redis_server.url)) as client:
        records = RedisRecords(client, keys)
        for numbers in in_chunks(range(1, PAGES + 1), 500):
            await records.replace([RecordChange(spread(each), None, page(each).pack()) for each in numbers])
        client.trips = 0
        yield Stored(client, records, RedisTables(client, keys), RedisClusters(client, cluster_keys))


def page(number: int) -> PageRecord:
    config = SketchConfig()
    return PageRecord.first(
        page_id=PageId(f"https://example.com/{number}"),
        url=f"https://example.com/{number}",
        text_fingerprint=number,
        position=Position(Partition("pages", 0), number),
        seen_seconds=NOW,
        fingerprint=spread(number),
        sketch=bytes(config.sketch_bytes),
        shingle_count=100,
        bands=b"".join(
            int(spread(number * 31 + band) >> 32).to_bytes(4, "big") for band in range(config.bands)
        ),
    )


async def test_all_records_and_clusters_are_read_in_few_calls(stored: Stored) -> None:
    found = [each async for walked in all_records(stored.records) for each in walked.records]
    clusters = [each async for each in walk_clusters(stored.clusters)]

    assert (len(found), clusters) == (PAGES, [])
    assert stored.walk_trips <= 1024
    assert stored.client.trips <= 2 * stored.walk_trips


async def test_a_rebuild_takes_few_calls_more_than_reading_the_records(stored: Stored) -> None:
    stores = PageStores(
        PermutedIndex(stored.tables, LAYOUT),
        stored.records,
        Unclustered(stored.clusters),
        bytes(16),
        FormerVersions(),
    )
    slot, count = 0, 0
    while slot < stored.records.slot_count:
        counts, slot = await rebuild_slots(stores, slot)
        count += counts["indexed"]

    assert count == PAGES
    assert stored.client.trips <= stored.walk_trips + PAGES // 32


async def test_a_round_of_retention_in_which_nothing_is_due_takes_no_further_calls(stored: Stored) -> None:
    sweeper = Sweeper(
        records=stored.records,
        index=PermutedIndex(stored.tables, LAYOUT),
        clusters=Unclustered(stored.clusters),
        config=RetentionConfig(page_seconds=3600, stub_seconds=3600),
    )

    swept = await sweeper.sweep(NOW)

    assert swept.counts["scanned"] == PAGES
    assert stored.client.trips <= stored.walk_trips
