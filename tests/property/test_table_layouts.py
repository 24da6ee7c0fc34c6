"""While two daemons read pages the tables are laid out anew: whenever each step comes, no match is missed."""

import asyncio
from dataclasses import dataclass, field
from random import Random
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from neardup_daemon.repair.rebuilding import rebuild_slots

from neardup_stream.bits.permutations import PermutedConfig
from neardup_stream.hashing.handles import handle_of
from neardup_stream.indexes.layout import IndexConfig, IndexLayout
from neardup_stream.indexes.permuted import PermutedIndex
from neardup_stream.indexes.protocol import Index
from neardup_stream.indexes.switching import SwitchingIndex
from neardup_stream.message import Partition
from neardup_stream.page import Handle, PageId
from neardup_stream.pipeline.former_versions import FormerVersions
from neardup_stream.pipeline.stores import PageStores
from neardup_stream.stores.guarded_clusters import GuardedClusters, change_layout, create_index
from neardup_stream.stores.memory.clusters import MemoryClusters
from neardup_stream.stores.memory.records import MemoryRecords
from neardup_stream.stores.table_layouts import LayoutState, TableLayouts
from neardup_stream.streams.memory.streams import MemorySource, numbered
from tests.doubles.tables import MemoryTables
from tests.pipelines import Pipeline, essay, page_json

INDEX = "0193a0b1"
TOPICS, COPIES, DAEMONS = 16, 2, 2
SEEDS = 200
DELAYS = (0, 1, 2, 40)
"""Turns of others around a call; one in four takes longer than a whole batch of the other daemon."""
LAYOUTS = (
    IndexLayout(IndexConfig(bands=12)),
    IndexLayout(IndexConfig(PermutedConfig(3, substrings=2), expected_pages=20_000_000, bands=12)),
)


class Tables(MemoryTables):
    """Tables that can be removed."""

    def forget_all(self) -> None:
        self._groups.clear()


class Slow:
    """Passes calls on, each after and before a while in which others get their turns."""

    def __init__(self, target: object, random: Random) -> None:
        self._target = target
        self._random = random

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._target, name)
        if not asyncio.iscoroutinefunction(member):
            return member

        async def call(*arguments: object) -> object:
            await turns(self._random.choice(DELAYS))
            answer = await member(*arguments)
            await turns(self._random.choice(DELAYS))
            return answer

        return call


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


@dataclass
class Shared:
    """What all daemons keep: both layouts, records and clusters."""

    random: Random
    tables: list[Tables] = field(default_factory=lambda: [Tables(), Tables()])
    new_layouts: type[TableLayouts] = TableLayouts
    records: MemoryRecords = field(default_factory=MemoryRecords)
    cells: MemoryClusters = field(default_factory=MemoryClusters)

    async def index(self, number: int) -> Index:
        return PermutedIndex(cast("Any", Slow(self.tables[number], self.random)), LAYOUTS[number])

    def daemon(self) -> "Daemon":
        layouts = self.new_layouts()
        return Daemon(
            records=cast("Any", Slow(self.records, self.random)),
            clusters=GuardedClusters(cast("Any", Slow(self.cells, self.random)), INDEX, layouts),
            layouts=layouts,
            shared=self,
        )

    async def lay_out(self, waits: list[int]) -> None:
        """Do what `rebuild --into` does, with so many turns of others before each step."""
        announced, switched = LayoutState(1, 0, 1), LayoutState(2, 1)
        await turns(waits[0])
        assert await change_layout(self.cells, INDEX, LayoutState(), announced)
        await turns(waits[1])
        former = FormerVersions()
        decider = self.daemon().decider(former)
        stores = PageStores(await self.index(1), self.records, decider, bytes(16), former)
        slot = 0
        while slot < self.records.slot_count:
            _, slot = await rebuild_slots(stores, slot)
        await turns(waits[2])
        assert await change_layout(self.cells, INDEX, announced, switched)
        self.tables[0].forget_all()


@dataclass
class Daemon(Pipeline):
    """A daemon over shared stores."""

    shared: Shared = field(kw_only=True)

    def index(self) -> Index:
        return SwitchingIndex(self.layouts, self.shared.index)

    async def read(self, own: int) -> None:
        pages = [
            page_json(f"{topic}-{copy}", essay(topic, [copy]))
            for copy in range(own, COPIES, DAEMONS)
            for topic in range(TOPICS)
        ]
        async with MemorySource(numbered(pages, partition=Partition(f"input-{own}", 0))) as source:
            await self.loop(source).run(asyncio.Event())


@given(seed=st.integers(0, 2**32), waits=st.lists(st.integers(0, 80), min_size=3, max_size=3))
async def test_pages_that_match_are_in_one_cluster_whenever_the_layout_changes(
    seed: int, waits: list[int]
) -> None:
    assert await clusters_after(Shared(Random(seed)), waits) == WHOLE


class Unchecked(TableLayouts):
    """Adopts what it reads, and lets pages be decided that were probed before."""

    def learn(self, state: LayoutState) -> None:
        super().learn(state)
        self.adopt()

    def require(self, probed_change: int) -> None:
        """Nothing."""


async def test_matches_are_missed_where_pages_probed_before_a_change_are_decided() -> None:
    """In one seed in a few, or in many where the machine is loaded: fingerprints are made in threads."""
    for seed in range(SEEDS):
        if await clusters_after(Shared(Random(seed), new_layouts=Unchecked), [30, 0, 30]) != WHOLE:
            return
    pytest.fail("no seed shows the defect")


async def clusters_after(shared: Shared, waits: list[int]) -> set[frozenset[Handle]]:
    """Return the clusters when all pages are read and the layout has changed."""
    await create_index(shared.cells, INDEX)
    daemons = [shared.daemon() for _ in range(DAEMONS)]
    await asyncio.gather(*(each.read(own) for own, each in enumerate(daemons)), shared.lay_out(waits))
    return {frozenset(cluster.members) async for cluster in daemons[0].decider().walk()}


def handle(name: str) -> Handle:
    return handle_of(PageId(f"https://example.com/{name}"), bytes(16))


WHOLE = {frozenset(handle(f"{topic}-{copy}") for copy in range(COPIES)) for topic in range(TOPICS)}
