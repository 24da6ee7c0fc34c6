from collections.abc import Sequence

import msgspec
import pytest

from neardup_stream.clusters.cells import PageCell
from neardup_stream.clusters.sweeping import knowledge_of, sweep_aged
from neardup_stream.message import Position
from neardup_stream.page import Handle, PageId
from neardup_stream.stores.cluster_store import PAGES, Aged, CellAddress, Member, MemberRange, Transaction
from neardup_stream.stores.memory.clusters import MemoryClusters
from neardup_stream.stores.memory.records import MemoryRecords
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import RecordAnswer, RecordChange
from tests.cluster_histories import PARTITION

HANDLE = Handle(7)
ADDRESS = CellAddress(PAGES, HANDLE.to_bytes(8, "big"))
LIVING = PageCell(rank=5, version=3, is_living=True, content=1)
GONE = PageCell(rank=5, version=3)


def record(version: int, *, content: int = 1, rank: int = 5) -> PageRecord:
    first = PageRecord.first(
        page_id=PageId("a"),
        url="a",
        text_fingerprint=content,
        position=Position(PARTITION, 0),
        seen_seconds=0,
        floor=version - 1,
    )
    return msgspec.structs.replace(first, rank=rank)


@pytest.mark.parametrize(
    ("cell", "stored", "knowledge"),
    [
        pytest.param(LIVING, record(3), "known", id="the same version"),
        pytest.param(LIVING, record(4, content=2), "known", id="a later version"),
        pytest.param(LIVING, record(4, content=2, rank=0), "undecided", id="a later version, not decided"),
        pytest.param(LIVING, record(3, rank=0), "unranked", id="the same version, without its rank"),
        pytest.param(LIVING, record(2), "lost", id="an earlier version"),
        pytest.param(LIVING, record(3, content=2), "lost", id="the same number, another text"),
        pytest.param(LIVING, None, "lost", id="no record"),
        pytest.param(GONE, record(3).expired(0), "known", id="the stub of the page"),
        pytest.param(GONE, record(3), "lost", id="the page came again under the number of its stub"),
        pytest.param(GONE, record(2), "lost", id="the page from before it went"),
        pytest.param(GONE, None, "dropped", id="no stub any more"),
    ],
)
def test_a_record_knows_the_version_of_its_cell_or_does_not(
    cell: PageCell, stored: PageRecord | None, knowledge: str
) -> None:
    assert knowledge_of(cell, stored) == knowledge


async def swept(cell: PageCell, stored: PageRecord | None, records: MemoryRecords | None = None) -> PageCell:
    """Return the cell after a sweep that finds this record."""
    clusters, records = MemoryClusters(lambda: 0), records or MemoryRecords()
    if stored is not None:
        await records.replace([RecordChange(HANDLE, None, stored.pack())])
    await clusters.commit(Transaction(floors={}, expected={}, writes={ADDRESS: cell.pack()}))
    await clusters.age([Aged(cell.rank, HANDLE)])
    await sweep_aged(clusters, records, 0, 10)
    assert await clusters.due(0, 10) == []
    ((value,), _) = await clusters.read([ADDRESS])
    return PageCell.unpack(value)


@pytest.mark.parametrize(
    "stored",
    [None, record(2), record(4, content=2, rank=0)],
    ids=["no record", "an earlier one", "a later one, that may have begun again"],
)
async def test_a_cell_that_alone_knows_its_version_stays(stored: PageRecord | None) -> None:
    kept = await swept(LIVING, stored)

    assert kept == msgspec.structs.replace(LIVING, is_unrecorded=True)
    assert await swept(kept, stored) == kept


async def test_a_lost_stub_leaves_its_version_to_the_floor_of_its_slot() -> None:
    records = MemoryRecords()

    assert await swept(GONE, None, records) == PageCell()

    answers = await records.replace([RecordChange(HANDLE, None, b"new")])
    assert answers == [RecordAnswer(None, floor=3, was_dropped=True)]


async def test_a_record_without_its_rank_gets_it_before_the_cell_is_removed() -> None:
    records = MemoryRecords()

    assert await swept(LIVING, record(3, rank=0), records) == PageCell()

    assert await records.fetch([HANDLE]) == [record(3).pack()]


async def test_a_stub_that_returns_during_the_sweep_keeps_its_cell() -> None:
    class Returning(MemoryRecords):
        """A record is written between the two calls of a sweep."""

        async def fetch(self, handles: Sequence[Handle]) -> list[bytes | None]:
            found = await super().fetch(handles)
            await self.replace([RecordChange(HANDLE, None, record(1, rank=0).pack())])
            return found

    assert (await swept(GONE, None, Returning())).is_unrecorded


async def test_a_page_that_is_decided_during_the_sweep_is_looked_at_in_the_next_one() -> None:
    class Moving(MemoryClusters):
        """The page is decided after its cell was read."""

        async def read(
            self, addresses: Sequence[CellAddress], ranges: Sequence[MemberRange] = ()
        ) -> tuple[list[bytes | None], list[list[Member]]]:
            found = await super().read(addresses, ranges)
            await self.commit(Transaction(floors={}, expected={}, writes={ADDRESS: later.pack()}))
            return found

    clusters, later = Moving(lambda: 0), msgspec.structs.replace(LIVING, rank=6, version=4)
    await clusters.commit(Transaction(floors={}, expected={}, writes={ADDRESS: LIVING.pack()}))
    await clusters.age([Aged(LIVING.rank, HANDLE)])

    await sweep_aged(clusters, MemoryRecords(), 0, 10)

    assert await clusters.due(0, 10) == [Aged(LIVING.rank, HANDLE)]
    await sweep_aged(clusters, MemoryRecords(), 0, 10)
    assert (await clusters.due(0, 10), await clusters.read([ADDRESS])) == ([], ([later.pack()], []))


@pytest.mark.parametrize(
    ("stored", "is_read"),
    [
        pytest.param(record(3), False, id="its rank and its text"),
        pytest.param(record(3, content=2), True, id="another text"),
        pytest.param(record(3, rank=0), True, id="no rank"),
        pytest.param(None, True, id="no record"),
    ],
)
async def test_a_cell_is_read_unless_its_record_has_its_rank_and_its_text(
    stored: PageRecord | None, *, is_read: bool
) -> None:
    class Counting(MemoryClusters):
        reads = 0

        async def read(
            self, addresses: Sequence[CellAddress], ranges: Sequence[MemberRange] = ()
        ) -> tuple[list[bytes | None], list[list[Member]]]:
            self.reads += 1
            return await super().read(addresses, ranges)

    clusters, records = Counting(lambda: 0), MemoryRecords()
    await clusters.commit(Transaction(floors={}, expected={}, writes={ADDRESS: LIVING.pack()}))
    await clusters.age([Aged(LIVING.rank, HANDLE, LIVING.content)])
    if stored is not None:
        await records.replace([RecordChange(HANDLE, None, stored.pack())])

    await sweep_aged(clusters, records, 0, 10)

    assert (clusters.reads, await clusters.due(0, 10)) == (int(is_read), [])
