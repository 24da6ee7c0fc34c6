import asyncio
from collections import Counter

from daemon.rebuilding import Rebuilt, rebuild_slot
from neardup_stream.indexes.layout import IndexConfig, IndexLayout
from neardup_stream.indexes.permuted import PermutedIndex
from neardup_stream.pipeline.judgement import JudgementStores
from neardup_stream.stores.memory_tables import MemoryTables
from neardup_stream.streams.memory import MemorySource, numbered
from tests.pipelines import Pipeline, essay, page_json


def emptied(pipeline: Pipeline) -> tuple[JudgementStores, PermutedIndex]:
    """The stores of a pipeline, but that its tables are lost."""
    sketch = pipeline.sketch
    index = PermutedIndex(MemoryTables(), IndexLayout(IndexConfig(bands=sketch.bands if sketch else 0)))
    return JudgementStores(index, pipeline.records, pipeline.decider(), bytes(16)), index


async def rebuilt(stores: JudgementStores) -> Counter[Rebuilt]:
    counts: Counter[Rebuilt] = Counter()
    for slot in range(stores.records.slot_count):
        counts += await rebuild_slot(stores, slot)
    return counts


async def test_every_living_page_is_found_again_and_nothing_else() -> None:
    pipeline = Pipeline()
    pages = [page_json("a", essay(1)), page_json("b", essay(1, [50])), page_json("gone", essay(1))]
    values = [*pages, page_json("short", "too short"), page_json("a", essay(2)), None]
    keys = [None] * 5 + [b"https://example.com/gone"]
    async with MemorySource(numbered(values, keys=keys)) as source:
        await pipeline.loop(source).run(asyncio.Event())
    stores, index = emptied(pipeline)

    counts = await rebuilt(stores)

    assert counts == {"indexed": 2, "short": 1, "gone": 1}
    pipeline.tables = index._store
    last = numbered([page_json("c", essay(1)), page_json("d", essay(2))], first_offset=6)
    async with MemorySource(last) as source:
        await pipeline.loop(source).run(asyncio.Event())
    assert pipeline.pairs()[-2:] == [
        ("https://example.com/c", ["https://example.com/b"]),
        ("https://example.com/d", ["https://example.com/a"]),
    ]


async def test_rebuilding_twice_is_rebuilding_once() -> None:
    pipeline = Pipeline()
    async with MemorySource(numbered([page_json("a", essay(1)), page_json("b", essay(1))])) as source:
        await pipeline.loop(source).run(asyncio.Event())
    stores, index = emptied(pipeline)

    first = await rebuilt(stores)
    tables = repr(index._store.__dict__)

    assert await rebuilt(stores) == first == {"indexed": 2}
    assert repr(index._store.__dict__) == tables
