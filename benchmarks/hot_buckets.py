"""The cases of `benchmarks.hot_clusters` that need tables and page records: full buckets, and retention."""

import random
from collections.abc import Sequence

from benchmarks.numbered_pages import BATCH_PAGES, spread
from neardup_stream.chunks import in_chunks
from neardup_stream.clusters.clusters import Clusters
from neardup_stream.fingerprints.sketch import SketchConfig
from neardup_stream.indexes.layout import IndexConfig, IndexLayout
from neardup_stream.indexes.permuted import PermutedIndex
from neardup_stream.indexes.protocol import IndexedPage
from neardup_stream.message import Partition, Position
from neardup_stream.page import Fingerprint64, Handle, PageId
from neardup_stream.pipeline.retention import RetentionConfig, Sweeper
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import RecordChange
from neardup_stream.stores.redis.client import RedisClient
from neardup_stream.stores.redis.keys import Keys
from neardup_stream.stores.redis.records import RedisRecords
from neardup_stream.stores.redis.tables import RedisTables

__all__ = ["fill_buckets", "records_on", "round_of_retention", "store_due_pages"]

LAYOUT = IndexLayout(IndexConfig(expected_pages=1_000_000, bands=SketchConfig().bands))
COPIES = 120
"""Of each page: below the cap, so that probes read all of them."""

NOW, KEPT_SECONDS = 1_790_000_000, 600


def _keys(namespace: str) -> Keys:
    return Keys(
        namespace=namespace,
        schema_id="bench",
        shard_bits=LAYOUT.shard_bits,
        table_count=LAYOUT.table_count,
        bucket_bits=LAYOUT.key_bucket_bits,
        slot_bits=LAYOUT.slot_bits,
    )


def records_on(client: RedisClient, namespace: str) -> RedisRecords:
    """Return the page records of one case."""
    return RedisRecords(client, _keys(namespace))


def _index(client: RedisClient, namespace: str) -> PermutedIndex:
    return PermutedIndex(RedisTables(client, _keys(namespace)), LAYOUT)


def _words(family: int) -> tuple[Fingerprint64, list[int]]:
    dice = random.Random(family)
    return Fingerprint64(dice.getrandbits(64)), [dice.getrandbits(32) for _ in range(LAYOUT.config.bands)]


async def fill_buckets(client: RedisClient, namespace: str, pages: int) -> int:
    """Probe and insert so many pages in batches, `COPIES` of each, which must find all before them.

    Of a thousand different pages some share a range of a table, which is then too large to be read whole.
    """
    index, families = _index(client, namespace), max(1, pages // COPIES)
    words = [_words(family) for family in range(families)]
    for copy in range(COPIES):
        numbers = range(copy * families, (copy + 1) * families)
        for some in in_chunks(zip(numbers, words, strict=True), BATCH_PAGES):
            probed = await index.probe_and_insert(
                [IndexedPage(spread(number + 1), 1, *each) for number, each in some]
            )
            assert all(
                len(each) == copy or row in probed.truncated_rows
                for row, each in enumerate(probed.candidates)
            )
    return families * COPIES


async def store_due_pages(client: RedisClient, namespace: str, handles: Sequence[Handle]) -> None:
    """Store pages that are due, in the records and in the tables; of the clusters they may be members."""
    records, index = records_on(client, namespace), _index(client, namespace)
    for some in in_chunks(handles, BATCH_PAGES):
        stored = [(handle, _record(handle)) for handle in some]
        await records.replace([RecordChange(handle, None, record.pack()) for handle, record in stored])
        await index.probe_and_insert([IndexedPage(handle, 1, *_words(handle)) for handle, record in stored])


async def round_of_retention(client: RedisClient, namespace: str, clusters: Clusters) -> int:
    """Let all pages of a case go; return how many went."""
    sweeper = Sweeper(
        records=records_on(client, namespace),
        index=_index(client, namespace),
        clusters=clusters,
        config=RetentionConfig(page_seconds=KEPT_SECONDS, stub_seconds=KEPT_SECONDS),
    )
    count = 0
    while expired := (await sweeper.sweep(NOW + KEPT_SECONDS)).counts["expired"]:
        count += expired
    return count


def _record(handle: Handle) -> PageRecord:
    fingerprint, bands = _words(handle)
    name = f"https://example.com/{handle}"
    return PageRecord.first(
        page_id=PageId(name),
        url=name,
        text_fingerprint=handle,
        position=Position(Partition("pages", 0), 0),
        seen_seconds=NOW,
        fingerprint=fingerprint,
        sketch=bytes(SketchConfig().sketch_bytes),
        shingle_count=100,
        bands=b"".join(band.to_bytes(4, "big") for band in bands),
    )
