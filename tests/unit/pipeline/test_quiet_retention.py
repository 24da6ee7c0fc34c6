"""Where only duplicates are published, retention does not make new pages loud."""

import json
from collections.abc import Sequence

from neardup_stream.page import Handle
from neardup_stream.pipeline.register import register
from neardup_stream.stores.memory.records import MemoryRecords
from neardup_stream.stores.protocol import RecordAnswer, RecordChange, RecordDrop
from tests.page_histories import PARTITION, Content, Op, PageHistory, Sweep, page_url, sharp_pipeline
from tests.unit.pipeline.arrivals import NOW, arrival

KEY = bytes(16)
PAGES = range(5)


def old(page: int) -> Op:
    return Op(page, Content(page + 1, 0))


class CountingRecords(MemoryRecords):
    """Records of one slot that count how often they are written."""

    def __init__(self) -> None:
        super().__init__(slot_bits=0)
        self.replace_count = 0

    async def replace(self, changes: Sequence[RecordChange]) -> list[RecordAnswer]:
        self.replace_count += 1
        return await super().replace(changes)


async def where_all_pages_have_come_and_gone() -> PageHistory:
    """Not even their stubs are left."""
    history = PageHistory(sharp_pipeline(records=CountingRecords()))
    await history.live([*map(old, PAGES), Sweep(11), Sweep(3)], batch_pages=4)
    assert await history.stored() == {}
    return history


def published(history: PageHistory) -> list[str]:
    """Return ids of the pages that events are about."""
    values = [json.loads(message.value or b"{}") for message in history.pipeline.events.messages]
    return [value["page"]["id"] for value in values]


async def test_new_pages_stay_unpublished_where_stubs_have_raised_the_version_floor() -> None:
    history = await where_all_pages_have_come_and_gone()

    await history.live([Op(10 + page, Content(20 + page, 0)) for page in PAGES], batch_pages=4)

    assert {record.version for record in (await history.stored()).values()} == {2}
    assert published(history) == []


async def test_a_page_whose_stub_was_dropped_is_published_when_it_returns() -> None:
    history = await where_all_pages_have_come_and_gone()

    await history.live([old(3), Op(13, Content(23, 0))], batch_pages=4)

    assert published(history) == [page_url(3)]


async def test_a_page_that_changes_before_its_return_was_decided_is_published() -> None:
    history = await where_all_pages_have_come_and_gone()
    (record,) = history.records([old(3)])
    (change,) = history.records([Op(3, Content(9, 0))])
    records = history.pipeline.records
    preparation = history.pipeline.preparation()
    await register(preparation.prepare([record]).arrivals, records, bytes(16), NOW)

    (page,) = await register(preparation.prepare([change]).arrivals, records, bytes(16), NOW)

    assert (page.change, page.record.is_return) == ("changed", True)
    assert page.record.maker.partition == PARTITION


async def test_registering_new_pages_takes_one_call_where_the_version_floor_is_known() -> None:
    store = CountingRecords()
    await store.replace([RecordChange(Handle(7), None, b"gone")])
    await store.drop([RecordDrop(Handle(7), b"gone", floor=3)])
    store.replace_count = 0

    registered = await register(
        [arrival(text=row, offset=row, page_id=f"page-{row}") for row in range(5)], store, KEY, NOW
    )

    assert ({each.record.version for each in registered}, store.replace_count) == ({4}, 1)
