"""The sample crawl through the pipeline: records in memory, the tables in a private Redis."""

import asyncio
from collections.abc import Mapping

import msgspec

from daemon.sample_crawl.truth import SampleCrawl
from daemon.service import redis_url
from daemon.settings import Settings
from daemon.tally import Tally
from daemon.wiring import build_loop, build_retries, message_publication, open_stores
from neardup_stream.events import DuplicateFound, event_type
from neardup_stream.message import Partition, Position, Record
from neardup_stream.streams.memory import MemorySink, MemorySource

__all__ = ["run_demo"]


async def run_demo(crawl: SampleCrawl, settings: Settings) -> tuple[list[DuplicateFound], Mapping[str, int]]:
    """The duplicates that were announced, in order, and how many records met each outcome."""
    tally = Tally()
    events = MemorySink()
    partition = Partition("demo", 0)
    source = MemorySource(
        [
            Record(position=Position(partition, offset), key=record.key, value=record.value)
            for offset, record in enumerate(crawl.records)
        ]
    )
    retries = build_retries(settings, tally, lambda _error: None)
    async with (
        redis_url(settings, embedded=True) as url,
        open_stores(settings, url, retries) as stores,
        source,
    ):
        publication = message_publication(events, MemorySink())
        await build_loop(settings, stores, source, publication, retries, tally).run(asyncio.Event())
    decoder = msgspec.json.Decoder(DuplicateFound)
    duplicates = [
        decoder.decode(message.value or b"")
        for message in events.messages
        if ("ce_type", event_type("duplicate").encode()) in message.headers
    ]
    return duplicates, dict(tally.outcomes.items())
