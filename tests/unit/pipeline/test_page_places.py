from neardup_stream.hashing.handles import handle_of, next_handle
from neardup_stream.message import Partition, Position
from neardup_stream.page import PageId
from neardup_stream.pipeline.page_places import find_places
from neardup_stream.stores.memory.records import MemoryRecords
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import RecordChange

KEY = bytes(16)
ONE, TWO = PageId("one"), PageId("two")


def record(page_id: PageId) -> PageRecord:
    return PageRecord.first(
        page_id=page_id,
        url="url",
        text_fingerprint=1,
        position=Position(Partition("pages", 0), 0),
        seen_seconds=0,
    )


async def test_a_page_is_where_its_handle_says() -> None:
    store, handle = MemoryRecords(), handle_of(ONE, KEY)
    await store.replace([RecordChange(handle, None, record(ONE).pack())])

    places = await find_places([ONE, TWO], store, KEY)

    assert places[ONE] == (handle, record(ONE).pack(), record(ONE))
    assert places[TWO] == (handle_of(TWO, KEY), None, None)


async def test_behind_a_taken_handle_comes_the_next_one() -> None:
    store, taken = MemoryRecords(), handle_of(ONE, KEY)
    await store.replace([RecordChange(taken, None, record(TWO).pack())])

    assert (await find_places([ONE], store, KEY))[ONE] == (next_handle(taken), None, None)

    await store.replace([RecordChange(next_handle(taken), None, record(ONE).pack())])

    assert (await find_places([ONE], store, KEY))[ONE].record == record(ONE)
