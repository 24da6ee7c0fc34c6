"""Run the sample crawl through the pipeline: records in memory, everything stored in a private Redis."""

import asyncio
from itertools import chain
from time import perf_counter

import msgspec

from neardup_daemon.cluster_files import ClusterRow, cluster_rows
from neardup_daemon.demo.facts import DemoRun
from neardup_daemon.demo.sample_crawl.truth import SampleCrawl
from neardup_daemon.embedded import EmbeddedServer
from neardup_daemon.kafka_wiring import message_publication
from neardup_daemon.loop_wiring import build_loop, build_retries, loop_config
from neardup_daemon.preparing import build_preparation
from neardup_daemon.settings.settings import Settings
from neardup_daemon.tally import Tally
from neardup_daemon.wiring import Stores, open_stores
from neardup_stream.fingerprints.framed import frame_share
from neardup_stream.fingerprints.simhash import load_kernel
from neardup_stream.message import Partition, Position, Record
from neardup_stream.page import PageId
from neardup_stream.pipeline.page_places import find_places
from neardup_stream.pipeline.stages import Runtime
from neardup_stream.streams.memory.streams import MemorySink, MemorySource
from neardup_stream.wire.events import from_message

__all__ = ["run_demo"]


async def run_demo(crawl: SampleCrawl, settings: Settings) -> DemoRun:
    """Take every record through the pipeline, with `contained` events switched on."""
    replace = msgspec.structs.replace
    settings = replace(settings, events=replace(settings.events, contained=True))
    tally, events = Tally(), MemorySink()
    retries = build_retries(settings, tally)
    async with (
        EmbeddedServer() as server,
        open_stores(settings, server.url, retries) as stores,
        _source(crawl) as source,
    ):
        publication = message_publication(events, MemorySink())
        await asyncio.to_thread(load_kernel)
        preparation = build_preparation(settings, tally)
        runtime = Runtime(loop_config(settings), retries, tally)
        loop = build_loop(settings, stores, source, publication, preparation, runtime)
        start = perf_counter()
        await loop.run(asyncio.Event())
        seconds = perf_counter() - start
        clusters = await _stored_clusters(stores)
        frame_shares = await _frame_shares(crawl, stores)
    published = tuple(from_message(message) for message in events.messages)
    return DemoRun(published, dict(tally.outcomes.items()), clusters, seconds, frame_shares)


def _source(crawl: SampleCrawl) -> MemorySource:
    partition = Partition("demo", 0)
    return MemorySource(
        Record(
            position=Position(partition, offset),
            key=record.key,
            value=record.value,
            timestamp_ms=record.time_ms,
        )
        for offset, record in enumerate(crawl.records)
    )


async def _frame_shares(crawl: SampleCrawl, stores: Stores) -> dict[str, float]:
    """Read from the page records how much of each page was frame."""
    page_ids = map(PageId, (*crawl.framed.articles, *crawl.framed.near_duplicates))
    places = await find_places(page_ids, stores.pages.records, stores.pages.handle_key)
    return {page_id: frame_share(place.record) for page_id, place in places.items() if place.record}


async def _stored_clusters(stores: Stores) -> tuple[ClusterRow, ...]:
    if stores.clusters is None:
        return ()
    batches = [rows async for rows in cluster_rows(stores.clusters, stores.pages.records)]
    return tuple(chain.from_iterable(batches))
