"""How long decision records are kept: until no daemon can read the records again."""

import asyncio
from collections.abc import Sequence

import pytest

from neardup_stream.message import Record
from neardup_stream.stores.cluster_store import PAGES, rows_table
from neardup_stream.stores.memory.clusters import MemoryClusters
from neardup_stream.streams.memory.streams import MemorySource, numbered
from tests.pipelines import Pipeline, essay, page_json

RECORDS = numbered([page_json("a", essay(1)), page_json("b", essay(2))])


class StoppedSource(MemorySource):
    """Requests a stop once it has been read."""

    def __init__(self, stop: asyncio.Event) -> None:
        super().__init__(RECORDS)
        self._stop = stop

    async def read(self, max_records: int, max_bytes: int) -> Sequence[Record]:
        records = await super().read(max_records, max_bytes)
        self._stop.set()
        return records


@pytest.mark.parametrize(("is_read_again", "kept"), [(False, 0), (True, 1)], ids=["pipe", "file"])
async def test_a_run_that_was_cut_off_keeps_the_decision_records_of_what_the_next_run_reads_again(
    *, is_read_again: bool, kept: int
) -> None:
    store, stop = MemoryClusters(), asyncio.Event()
    pipeline = Pipeline(clusters=store)

    async with StoppedSource(stop) as source:
        await pipeline.loop(source, is_read_again=is_read_again).run(stop)

    blocks = store._tables.get(rows_table(RECORDS[0].position.partition), {})
    assert len(blocks) == kept


async def test_rows_of_a_file_that_was_read_to_its_end_are_kept_until_its_outputs_are_written() -> None:
    store, table = MemoryClusters(), rows_table(RECORDS[0].position.partition)

    async with MemorySource(RECORDS) as source:
        loop = Pipeline(clusters=store).loop(source, is_read_again=True)
        await loop.run(asyncio.Event())
        before = len(store._tables.get(table, {}))
        await loop.end()

    assert before == 1
    assert store._tables[table] == {}


async def test_cells_that_kept_rows_held_are_removed_when_the_run_ends() -> None:
    store = MemoryClusters()
    async with MemorySource(RECORDS) as source:
        loop = Pipeline(clusters=store, tombstone_ttl_seconds=0).loop(source, is_read_again=True)
        await loop.run(asyncio.Event())
        before = len(store._tables[PAGES])
        await loop.end()

    assert (before, store._tables[PAGES]) == (2, {})
