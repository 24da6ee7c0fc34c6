"""A store of pages whose time passes, and sweeps over it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from inspect import iscoroutinefunction
from itertools import count
from typing import Any

from neardup_stream.clusters.placements import AlreadyDecided, Decided
from neardup_stream.clusters.requests import PageVersion
from neardup_stream.errors import StoreUnavailable
from neardup_stream.hashing.handles import handle_of
from neardup_stream.indexes.layout import IndexConfig, IndexLayout
from neardup_stream.indexes.permuted import PermutedIndex
from neardup_stream.message import Partition, Position, RecordMetadata
from neardup_stream.page import Fingerprint64, Handle, Page, PageId
from neardup_stream.pipeline.arrival import Arrival, Registered
from neardup_stream.pipeline.indexed import indexed_pages
from neardup_stream.pipeline.register import register
from neardup_stream.pipeline.retention import RetentionConfig, Sweeper
from neardup_stream.stores.memory.records import MemoryRecords
from neardup_stream.stores.page_record import PageRecord, PageState
from neardup_stream.stores.protocol import all_records
from tests.doubles.tables import MemoryTables

__all__ = ["CONFIG", "DAY", "KEY", "START", "World", "at", "cut_at", "handle", "page"]

KEY = bytes(16)
DAY = 86_400
START = 1_790_000_000
CONFIG = RetentionConfig(page_seconds=10 * DAY, stub_seconds=2 * DAY)

Hook = Callable[[], Awaitable[None]]


def cut_at(call: int) -> Hook:
    """Return a hook that cuts one call of the stores off, by its number from 1."""
    calls = count(1)

    async def cut() -> None:
        if next(calls) == call:
            raise StoreUnavailable("cut")

    return cut


class Hooked:
    """Something whose every call is preceded by another."""

    def __init__(self, target: object, before: Hook) -> None:
        self._target = target
        self._before = before

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._target, name)
        if not iscoroutinefunction(member):
            return member

        async def call(*arguments: object) -> object:
            await self._before()
            return await member(*arguments)

        return call


class Families:
    """Clusters as far as expiry knows them: a first page represents the others that are still there."""

    def __init__(self) -> None:
        self._others_of: dict[Handle, set[Handle]] = {}
        self.released: set[Handle] = set()
        self.finished_below = 1_000
        self.decided_below = 0

    def link(self, first: Handle, *others: Handle) -> None:
        self._others_of[first] = set(others)

    async def expire(self, nodes: Sequence[PageVersion]) -> list[bool]:
        has_left = []
        for node in nodes:
            has_left.append(not self._others_of.get(node.handle))
            for others in self._others_of.values():
                others.discard(node.handle)
        return has_left

    async def release(self, nodes: Sequence[PageVersion]) -> None:
        self.released.update(node.handle for node in nodes)

    async def already_decided(self, positions: Sequence[Position]) -> AlreadyDecided:
        finished = frozenset(each for each in positions if each.offset < self.finished_below)
        outcomes = {each: Decided(0, b"") for each in positions if each.offset < self.decided_below}
        return AlreadyDecided(outcomes, finished, aged_count=0)


@dataclass
class World:
    """Everything that pages leave traces in."""

    records: MemoryRecords = field(default_factory=MemoryRecords)
    tables: MemoryTables = field(default_factory=MemoryTables)
    families: Families = field(default_factory=Families)
    offset: int = 0

    @property
    def index(self) -> PermutedIndex:
        return PermutedIndex(self.tables, IndexLayout(IndexConfig()))

    def sweeper(self, before: Hook | None = None, config: RetentionConfig = CONFIG) -> Sweeper:
        async def nothing() -> None:
            """Let it run."""

        hook = before or nothing
        return Sweeper(
            records=Hooked(self.records, hook),
            index=Hooked(self.index, hook),
            clusters=Hooked(self.families, hook),
            config=config,
        )

    async def crawl(self, day: int, *names: str, text: int = 0) -> list[Registered]:
        """Register pages and index them, as the pipeline does."""
        pages = await register([self._arrival(name, text) for name in names], self.records, KEY, at(day))
        for page in pages:
            if page.former is not None:
                await self.index.remove(indexed_pages(page.handle, page.former))
            if page.record.is_indexed:
                await self.index.probe_and_insert(indexed_pages(page.handle, page.record))
        return pages

    def _arrival(self, name: str, text: int) -> Arrival:
        self.offset += 1
        return Arrival(
            record=RecordMetadata(position=Position(Partition("pages", 0), self.offset)),
            page=Page(id=PageId(name), url=name, fetched_at_seconds=0),
            fingerprint=Fingerprint64(handle_of(PageId(name), b"fingerprint") ^ text),
            text_fingerprint=text,
            token_count=100,
            has_enough_tokens=not name.startswith("short"),
        )

    async def stored(self, name: str) -> PageRecord | None:
        (packed,) = await self.records.fetch([handle(name)])
        return None if packed is None else PageRecord.unpack(packed)

    async def state(self, name: str) -> PageState | None:
        record = await self.stored(name)
        return None if record is None else record.state

    async def record_count(self) -> int:
        return sum([len(walked.records) async for walked in all_records(self.records)])

    @property
    def entry_count(self) -> int:
        return sum(map(len, self.tables.groups()))


def handle(name: str) -> Handle:
    return handle_of(PageId(name), KEY)


def at(day: int) -> int:
    return START + day * DAY


def page(state: PageState) -> PageRecord:
    return PageRecord.first(
        page_id=PageId("page"),
        url="page",
        text_fingerprint=1,
        position=Position(Partition("pages", 0), 0),
        seen_seconds=START,
        state=state,
    )
