"""Take pages through the pipeline of the daemon, from memory to a Redis and back, and check its events."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple, Self

import msgspec
from neardup_daemon.gc_tuning import collect_rarely
from neardup_daemon.kafka_wiring import message_publication
from neardup_daemon.loop_wiring import build_loop, build_retries, loop_config
from neardup_daemon.preparing import open_preparation
from neardup_daemon.settings.settings import Settings
from neardup_daemon.tally import Tally
from neardup_daemon.wiring import Stores, open_stores

from benchmarks.direct_fill import fill_with_lone_pages
from benchmarks.growing_crawl import GrowingCrawl, number_of
from neardup_stream.events import DuplicateFound, event_type
from neardup_stream.message import Message, Record
from neardup_stream.pipeline.preparation import Prepares
from neardup_stream.pipeline.stages import Runtime
from neardup_stream.streams.buffer import take_records
from neardup_stream.streams.finite import FiniteSource
from neardup_stream.streams.memory.streams import MemorySink
from neardup_stream.streams.protocol import EndOfStream

__all__ = ["Found", "GrowingIndex", "check_events", "open_growing_index"]

_DUPLICATE = ("ce_type", event_type("duplicate").encode())


class Found(NamedTuple):
    """What was found among some pages.

    Attributes:
        copies: near copies that are reported.
        pairs: matches of reported pages.
        false_pairs: of them, pages that are not copies of one original.
    """

    copies: int
    pairs: int
    false_pairs: int


class _Records(FiniteSource):
    """Records in memory, read once."""

    def __init__(self, records: Sequence[Record]) -> None:
        self._left = deque(records)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._left.clear()

    async def read(self, max_records: int, max_bytes: int) -> Sequence[Record]:
        if not self._left:
            raise EndOfStream
        return take_records(self._left, max_records, max_bytes)


class GrowingIndex:
    """An index that takes portions of pages one after the other, each to its last commit.

    Args:
        settings: of the daemon.
        stores: open, in Redis.
        preparation: of pages, in the worker process.
        tally: counts outcomes.
        runtime: how stages run.
    """

    def __init__(
        self, settings: Settings, stores: Stores, preparation: Prepares, tally: Tally, runtime: Runtime
    ) -> None:
        self._settings = settings
        self._stores = stores
        self._preparation = preparation
        self._tally = tally
        self._runtime = runtime

    async def take(self, records: Sequence[Record]) -> list[Message]:
        """Decide the pages and return their events; every page must have one outcome."""
        before = self._tally.outcomes.total()
        sink = MemorySink()
        loop = build_loop(
            self._settings,
            self._stores,
            _Records(records),
            message_publication(sink, MemorySink(), None),
            self._preparation,
            self._runtime,
        )
        await loop.run(asyncio.Event())
        decided = self._tally.outcomes.total() - before
        assert decided == len(records), (decided, self._tally.outcomes)
        return sink.messages

    async def fill(self, originals: Sequence[Record]) -> None:
        """Store pages that match no page so far, as they are once they are decided; no event is made."""
        now_seconds = int(self._stores.clock())
        await fill_with_lone_pages(self._stores, self._preparation, originals, now_seconds)

    async def rest(self) -> None:
        """Wait until tombstones are due, and remove them, as the daemon does after its commits."""
        clusters = self._stores.clusters
        assert clusters is not None
        await asyncio.sleep(self._settings.clusters.tombstone_ttl_seconds)
        await clusters.tidy(self._stores.pages.records)


@asynccontextmanager
async def open_growing_index(settings: Settings) -> AsyncIterator[GrowingIndex]:
    """Open the stores and the worker process, all kernels loaded."""
    tally = Tally()
    retries = build_retries(settings, tally)
    runtime = Runtime(loop_config(settings), retries, tally)
    async with (
        open_stores(settings, settings.redis.url, retries) as stores,
        open_preparation(settings, tally) as preparation,
    ):
        collect_rarely()
        yield GrowingIndex(settings, stores, preparation, tally, runtime)


def check_events(messages: Sequence[Message], crawl: GrowingCrawl) -> Found:
    """Compare the duplicates that are reported with the truth; each is reported once.

    Raises:
        AssertionError: a page has two events.
    """
    pages: set[int] = set()
    pairs = false_pairs = 0
    for message in messages:
        if _DUPLICATE not in message.headers:
            continue
        event = msgspec.json.decode(message.value or b"", type=DuplicateFound)
        number = number_of(event.page.id)
        assert number not in pages, f"two events for {event.page.id}"
        pages.add(number)
        origins = [crawl.origins[number_of(match.id)] for match in event.matches]
        pairs += len(origins)
        false_pairs += sum(origin != crawl.origins[number] for origin in origins)
    copies = sum(crawl.origins[number] != number for number in pages)
    return Found(copies, pairs, false_pairs)
