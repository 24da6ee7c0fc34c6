import asyncio
from collections import Counter

import msgspec
from neardup_daemon.repair.rebuilding import Rebuilt, rebuild_slots

from neardup_stream.hashing.handles import handle_of
from neardup_stream.indexes.layout import IndexConfig, IndexLayout
from neardup_stream.indexes.permuted import PermutedIndex
from neardup_stream.message import Partition, Position
from neardup_stream.page import Handle, PageId
from neardup_stream.pipeline.former_versions import FormerVersions
from neardup_stream.pipeline.indexed import banded_page
from neardup_stream.pipeline.stores import PageStores
from neardup_stream.stores.memory.records import MemoryRecords
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import RecordChange, all_records
from neardup_stream.streams.memory.streams import MemorySource, numbered
from tests.doubles.tables import MemoryTables
from tests.pipelines import Pipeline, essay, page_json
from tests.unit.pipeline.retained_pages import World


def emptied(pipeline: Pipeline) -> tuple[PageStores, PermutedIndex]:
    """Return the stores of a pipeline, but that its tables are lost."""
    sketch = pipeline.sketch
    index = PermutedIndex(MemoryTables(), IndexLayout(IndexConfig(bands=sketch.bands if sketch else 0)))
    former = FormerVersions()
    return PageStores(index, pipeline.records, pipeline.decider(former), bytes(16), former), index


async def rebuilt(stores: PageStores) -> Counter[Rebuilt]:
    counts: Counter[Rebuilt] = Counter()
    slot = 0
    while slot < stores.records.slot_count:
        some, slot = await rebuild_slots(stores, slot)
        counts += some
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


async def test_more_pages_than_are_inserted_together_are_all_found_again() -> None:
    world, count = World(records=MemoryRecords(slot_bits=0)), 150
    await world.crawl(0, *(f"page-{number}" for number in range(count)))
    entry_count = world.entry_count
    world.tables = MemoryTables()
    former = FormerVersions()
    stores = PageStores(world.index, world.records, Pipeline().decider(former), bytes(16), former)

    assert await rebuilt(stores) == {"indexed": count}
    assert world.entry_count == entry_count


async def test_a_short_page_with_a_frame_is_found_by_content_and_by_whole_text_again() -> None:
    pipeline = Pipeline()
    async with MemorySource(numbered([page_json("a", essay(1)), page_json("b", essay(2))])) as source:
        await pipeline.loop(source).run(asyncio.Event())
    whole, content = [record for _, record in await stored(pipeline)]
    framed = msgspec.structs.replace(content, whole_bands=whole.bands)
    handle = handle_of(framed.id, bytes(16))
    await pipeline.records.replace([RecordChange(handle, content.pack(), framed.pack())])
    stores, index = emptied(pipeline)

    assert await rebuilt(stores) == {"indexed": 2}

    for bands in (framed.bands, framed.whole_bands):
        probed = await index.probe([banded_page(Handle(7), whole, bands)])
        assert handle in {candidate.handle for candidate in probed.candidates[0]}


async def test_a_page_that_is_left_to_archives_does_not_count_as_too_short() -> None:
    pipeline = Pipeline()
    page = PageRecord.first(
        page_id=PageId("archived"),
        url="archived",
        text_fingerprint=1,
        position=Position(Partition("pages", 0), 0),
        seen_seconds=1,
        state="archived",
    )
    await pipeline.records.replace([RecordChange(handle_of(page.id, bytes(16)), None, page.pack())])
    stores, _ = emptied(pipeline)

    assert await rebuilt(stores) == {"archived": 1}


async def stored(pipeline: Pipeline) -> list[tuple[Handle, PageRecord]]:
    """Return all records, in the order of their ids."""
    found = [
        (handle, PageRecord.unpack(packed))
        async for walked in all_records(pipeline.records)
        for handle, packed in walked.records
    ]
    return sorted(found, key=lambda each: each[1].id)
