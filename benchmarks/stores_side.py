"""Drive the stores of one checkout with generated pages, a chunk for each line of standard input.

`benchmarks.stores` starts one such process for each checkout that it compares, with the checkout in front of
the module path. So this file uses nothing of `benchmarks`, and only calls that both checkouts have.

It prints a JSON line when the stored pages are there, and one for each chunk: by kind of call, the
microseconds of CPU a page that this process and Redis took. It ends when its input ends.
"""

import argparse
import asyncio
import gc
import json
import random
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import redis

from neardup_stream.clusters.clusters import ClusterConfig, Clusters
from neardup_stream.clusters.placements import Decided, Placement
from neardup_stream.clusters.requests import PageVersion, PlaceRequest, Request
from neardup_stream.clusters.snapshot import DescribedPage, Description
from neardup_stream.fingerprints.sketch import SketchConfig
from neardup_stream.indexes.layout import IndexConfig, IndexLayout
from neardup_stream.indexes.permuted import PermutedIndex
from neardup_stream.indexes.protocol import Probed
from neardup_stream.match import Match
from neardup_stream.message import Partition, Position
from neardup_stream.page import Fingerprint64, Handle, PageId
from neardup_stream.pipeline.decide import decide_requests
from neardup_stream.pipeline.in_flight import InFlightLimits
from neardup_stream.pipeline.indexed import indexed_pages
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import RankWrite, RecordChange
from neardup_stream.stores.redis.client import RedisClient
from neardup_stream.stores.redis.clusters import RedisClusters
from neardup_stream.stores.redis.config import RedisConfig
from neardup_stream.stores.redis.keys import ClusterKeys, Keys
from neardup_stream.stores.redis.records import RedisRecords
from neardup_stream.stores.redis.servers import inspect_servers
from neardup_stream.stores.redis.tables import RedisTables
from tests.servers.redis import start_redis

BATCH_PAGES = InFlightLimits().max_batch_pages
SKETCH = SketchConfig()
PARTITION = Partition("pages", 0)
ROW = bytes(12)
CHANGED_BANDS = 3
CLUSTER_FILL = 64
COPIED_OF, COPY_DISTANCE = 5, 2_000
"""Every fifth page nearly equals the one so many pages before it."""


class Page(NamedTuple):
    """A generated page and what it nearly equals."""

    number: int
    handle: Handle
    record: PageRecord
    original: "Page | None"


def page_of(number: int) -> Page:
    """Return the page with a number, from 0; near copies differ in two bits and three bands."""
    original = (
        page_of(number - COPY_DISTANCE + 1) if number % COPIED_OF == 0 and number > COPY_DISTANCE else None
    )
    dice = random.Random(number)
    if original is None:
        fingerprint = dice.getrandbits(64)
        bands = dice.randbytes(4 * SKETCH.bands)
    else:
        fingerprint = original.record.fingerprint ^ 0x8000_0000_0001
        bands = original.record.bands[: -4 * CHANGED_BANDS] + dice.randbytes(4 * CHANGED_BANDS)
    url = f"https://site-{number % 997}.example/some/path/of-usual/length-{number:09}"
    record = PageRecord.first(
        page_id=PageId(url),
        url=url,
        text_fingerprint=dice.getrandbits(64),
        position=Position(PARTITION, number),
        seen_seconds=1_790_000_000,
        fingerprint=Fingerprint64(fingerprint),
        sketch=dice.randbytes(SKETCH.sketch_bytes),
        shingle_count=500,
        bands=bands,
    )
    return Page(number, Handle((number + 1) * 0x9E3779B97F4A7C15 % 2**64), record, original)


class Stores:
    """The stores of one checkout, and what each batch of pages asks of them."""

    def __init__(self, client: RedisClient, expected_pages: int) -> None:
        layout = IndexLayout(IndexConfig(expected_pages=expected_pages, bands=SKETCH.bands))
        keys = Keys(
            namespace="pages",
            schema_id="bench0",
            shard_bits=layout.shard_bits,
            table_count=layout.table_count,
            bucket_bits=layout.key_bucket_bits,
            slot_bits=layout.slot_bits,
        )
        cluster_slot_bits = (expected_pages // CLUSTER_FILL).bit_length()
        cluster_keys = ClusterKeys(namespace="pages", schema_id="bench0", slot_bits=cluster_slot_bits)
        self.records = RedisRecords(client, keys)
        self.index = PermutedIndex(RedisTables(client, keys), layout)
        self.clusters = Clusters(
            RedisClusters(client, cluster_keys), _describe, config=ClusterConfig(tombstone_ttl_seconds=0)
        )

    async def register(self, pages: Sequence[Page]) -> None:
        """Pack and store the records of new pages."""
        packed = [page.record.pack() for page in pages]
        answers = await self.records.replace(
            [RecordChange(page.handle, None, value) for page, value in zip(pages, packed, strict=True)]
        )
        assert [answer.value for answer in answers] == packed

    async def probe(self, pages: Sequence[Page]) -> None:
        """Probe and insert; each near copy must find its original, and nothing else finds a page."""
        probed: Probed = await self.index.probe_and_insert(
            [entry for page in pages for entry in indexed_pages(page.handle, page.record)]
        )
        for page, candidates in zip(pages, probed.candidates, strict=True):
            found = {candidate.handle for candidate in candidates}
            assert page.original is None or page.original.handle in found, page

    async def fetch(self, pages: Sequence[Page]) -> None:
        """Fetch and read the records of the originals."""
        originals = [page.original for page in pages if page.original]
        found = await self.records.fetch([each.handle for each in originals])
        for original, value in zip(originals, found, strict=True):
            assert value is not None
            assert PageRecord.unpack(value).url == original.record.url

    async def already_decided(self, pages: Sequence[Page]) -> int:
        """Ask what was decided: nothing."""
        already_decided = await self.clusters.already_decided(
            [Position(PARTITION, page.number) for page in pages]
        )
        assert not already_decided.outcomes
        return already_decided.aged_count

    async def decide(self, pages: Sequence[Page], aged_count: int) -> list[Decided]:
        """Decide and store the outcomes."""
        decided = await decide_requests(
            self.clusters, [_request(page) for page in pages], _render, aged_count
        )
        assert all(each.rank for each in decided)
        return decided

    async def write_ranks(self, pages: Sequence[Page], decided: Sequence[Decided]) -> None:
        """Write the ranks."""
        await self.records.write_ranks(
            [RankWrite(page.handle, 1, each.rank) for page, each in zip(pages, decided, strict=True)]
        )

    async def trim(self, pages: Sequence[Page]) -> None:
        """Remove the decisions of a batch, and tombstones that are due."""
        await self.clusters.trim({PARTITION: pages[-1].number + 1})
        await self.clusters.tidy(self.records)


async def _describe(pages: Sequence[DescribedPage]) -> dict[DescribedPage, Description]:
    return {page: Description(PageId(str(page[0])), str(page[0])) for page in pages}


def _node(page: Page) -> PageVersion:
    return PageVersion(page.handle, 1, page.record.id, page.record.url, page.record.fingerprint64)


def _request(page: Page) -> PlaceRequest:
    """Ask to place a page; the rank of what it matches is that of its place in the order of all pages."""
    other = page.original
    matches = (
        ()
        if other is None
        else (Match(other.handle, other.record.id, other.record.url, 1, 2, "near", rank=other.number + 1),)
    )
    return PlaceRequest(Position(PARTITION, page.number), _node(page), matches, page.record.content)


def _render(_request: Request, _placement: Placement | None) -> bytes:
    return ROW


class Meter:
    """Adds up the CPU time of this process and of Redis, by kind of call."""

    def __init__(self, server: redis.Redis) -> None:
        self._server = server
        self.totals: dict[str, list[float]] = {}

    async def measure(self, kind: str, works: Sequence[Callable[[], Awaitable[Any]]]) -> list[Any]:
        """Do some works of one kind, one after the other."""
        server_before, before = self._server_seconds(), time.process_time()
        results = [await work() for work in works]
        own, at_server = time.process_time() - before, self._server_seconds() - server_before
        total = self.totals.setdefault(kind, [0.0, 0.0])
        total[0] += own
        total[1] += at_server
        return results

    def _server_seconds(self) -> float:
        used = self._server.info("cpu")
        return float(used["used_cpu_user"] + used["used_cpu_sys"])


async def one_chunk(stores: Stores, batches: Sequence[Sequence[Page]], meter: Meter) -> None:
    """Take some batches through all calls, kind by kind."""
    await meter.measure("register", [partial(stores.register, pages) for pages in batches])
    await meter.measure("probe and insert", [partial(stores.probe, pages) for pages in batches])
    await meter.measure("fetch", [partial(stores.fetch, pages) for pages in batches])
    aged, *_ = await meter.measure(
        "already decided", [partial(stores.already_decided, pages) for pages in batches]
    )
    decided = await meter.measure("decide", [partial(stores.decide, pages, aged) for pages in batches])
    writes = [partial(stores.write_ranks, *each) for each in zip(batches, decided, strict=True)]
    await meter.measure("write ranks", writes)
    await meter.measure("trim and sweep", [partial(stores.trim, pages) for pages in batches])


async def run(stored: int, chunk_pages: int) -> None:
    """Fill, then answer each line of the input with the figures of one more chunk."""
    with start_redis() as server, redis.Redis.from_url(server.url) as plain:
        async with RedisClient(RedisConfig(server.url)) as client:
            await inspect_servers(client)
            stores = Stores(client, stored)
            chunks = stored // chunk_pages
            for number in range(chunks):
                await one_chunk(stores, _batches(number, chunk_pages), Meter(plain))
            print(json.dumps({"bytes": [plain.info("memory")["used_memory"]]}), flush=True)
            number = chunks
            for _ in iter(sys.stdin.readline, ""):
                meter, batches = Meter(plain), _batches(number, chunk_pages)
                gc.collect()
                await one_chunk(stores, batches, meter)
                number += 1
                print(
                    json.dumps(
                        {
                            kind: [seconds / chunk_pages * 1e6 for seconds in total]
                            for kind, total in meter.totals.items()
                        }
                    ),
                    flush=True,
                )


def _batches(chunk: int, chunk_pages: int) -> list[list[Page]]:
    pages = [page_of(number) for number in range(chunk * chunk_pages, (chunk + 1) * chunk_pages)]
    return [pages[at : at + BATCH_PAGES] for at in range(0, chunk_pages, BATCH_PAGES)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stored", type=int, required=True)
    parser.add_argument("--chunk", type=int, required=True)
    arguments = parser.parse_args()
    gc.freeze()
    asyncio.run(run(arguments.stored, arguments.chunk))
