"""Pages registered in a store, one after another and at once."""

import asyncio
from typing import Any

import msgspec
import pytest

from neardup_stream.clusters.protocol import KnownVersion
from neardup_stream.hashing.handles import handle_of, next_handle
from neardup_stream.message import Partition, Position
from neardup_stream.page import Handle, PageId
from neardup_stream.pipeline.register import plan, register
from neardup_stream.stores.memory.records import MemoryRecords
from neardup_stream.stores.protocol import RankWrite, RecordChange, RecordDrop
from tests.unit.pipeline.arrivals import NOW, PAGE, THERE, arrival

KEY = bytes(16)


@pytest.mark.parametrize(
    "kind",
    [{}, {"has_enough_tokens": False}, {"is_left_to_archives": True}],
    ids=["plain", "short", "left-to-archives"],
)
async def test_a_page_whose_record_was_dropped_returns_above_the_floor_of_its_slot(
    kind: dict[str, Any],
) -> None:
    store, page = MemoryRecords(), msgspec.structs.replace(PAGE, **kind)
    ((handle, packed),) = [
        (each.handle, each.record.pack()) for each in await register([page], store, KEY, NOW)
    ]
    await store.drop([RecordDrop(handle, packed, floor=41)])

    (registered,) = await register([page], store, KEY, NOW)

    assert (registered.change, registered.record.version, registered.record.is_return) == ("new", 42, True)


async def test_a_page_that_was_marked_meanwhile_is_still_registered_once() -> None:
    store = MemoryRecords()
    (first,) = await register([PAGE], store, KEY, NOW)
    await store.write_ranks([RankWrite(first.handle, 1, rank=5)])

    (again,) = await register([PAGE], store, KEY, NOW)

    assert (again.change, again.record.version, again.record.rank) == ("unchanged", 1, 5)


async def test_registering_twice_gives_the_same_records() -> None:
    store = MemoryRecords()
    arrivals = [arrival(text=row, offset=row, page_id=f"page-{row}") for row in range(5)]

    first = await register(arrivals, store, KEY, NOW)
    again = await register(arrivals, store, KEY, NOW)

    assert first == again
    assert [each.change for each in first] == ["new"] * 5


async def test_the_answer_keeps_the_order_of_the_batch() -> None:
    store = MemoryRecords()
    earlier = [arrival(text=row, offset=row, page_id=f"page-{row}") for row in (1, 3)]
    await register(earlier, store, KEY, NOW)

    batch = [arrival(text=9, offset=10 + row, page_id=f"page-{row}") for row in range(5)]
    registered = await register(batch, store, KEY, NOW)

    assert [each.arrival for each in registered] == batch
    assert [each.change for each in registered] == ["new", "changed", "new", "changed", "new"]


async def test_a_handle_taken_by_another_page_gives_way_to_the_next() -> None:
    store = MemoryRecords()
    taken = handle_of(PageId("page"), KEY)
    other = plan(arrival(text=1, offset=0, page_id="other"), None, NOW).record
    await store.replace([RecordChange(taken, None, other.pack())])

    first, again = [await register([arrival(text=2, offset=1)], store, KEY, NOW) for _ in range(2)]

    assert first[0].handle == again[0].handle == next_handle(taken)
    assert first == again


async def test_eight_registrations_of_one_id_at_once_make_one_page() -> None:
    store = MemoryRecords()

    copies = [arrival(text=1, offset=0, partition=Partition("pages", number)) for number in range(8)]

    answers = await asyncio.gather(*(register([copy], store, KEY, NOW) for copy in copies))

    assert sorted(each.change for (each,) in answers) == ["new", *["unchanged"] * 7]
    assert {each.record.version for (each,) in answers} == {1}


@pytest.mark.parametrize(
    "kind",
    [
        {"sketch": b"sketch", "shingle_count": 9, "bands": bytes(8)},
        {"scope": "example.com"},
        {"whole": b"whole", "whole_count": 9, "whole_bands": bytes(4), "bands": bytes(8)},
        {"has_enough_tokens": False, "sketch": b"sketch"},
        {"is_left_to_archives": True, "bands": bytes(8)},
    ],
    ids=["plain", "of-a-scope", "framed", "short", "left-to-archives"],
)
async def test_new_pages_are_registered_together_as_their_plans_say(kind: dict[str, Any]) -> None:
    """Where the clusters are asked about any page of a batch, each page is planned."""
    batch = [
        msgspec.structs.replace(arrival(text=row, offset=row, page_id=f"page-{row}"), **kind)
        for row in range(3)
    ]
    asked = {Position(THERE, 0): KnownVersion(Handle(1), 1, 0)}

    together = await register(batch, MemoryRecords(), KEY, NOW, version_floor=6)
    planned = await register(batch, MemoryRecords(), KEY, NOW, asked, version_floor=6)

    assert together == planned
    assert [each.record for each in together] == [plan(each, None, NOW, 6).record for each in batch]


async def test_an_empty_batch_registers_nothing() -> None:
    assert await register([], MemoryRecords(), KEY, NOW) == []
