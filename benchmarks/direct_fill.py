"""Fill an index with pages that match nothing, past the pipeline: a third of what a decision takes.

A page has the record, the table entries and the rank that the daemon gives a page that stands alone, once
its tombstone is gone. So nothing may be a near copy of a page of an index, or of another one of these pages.
"""

import asyncio
from collections.abc import Sequence

import msgspec
from neardup_daemon.wiring import Stores

from neardup_stream.chunks import in_chunks
from neardup_stream.hashing.handles import handle_of
from neardup_stream.message import Record
from neardup_stream.page import Handle
from neardup_stream.pipeline.arrival import Arrival, Prepared
from neardup_stream.pipeline.first_record import first_record
from neardup_stream.pipeline.indexed import indexed_pages
from neardup_stream.pipeline.preparation import Prepares
from neardup_stream.stores.cluster_store import Transaction
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import RecordChange

__all__ = ["fill_with_lone_pages"]

BATCH_PAGES = 1024


async def fill_with_lone_pages(
    stores: Stores, preparation: Prepares, records: Sequence[Record], now_seconds: int
) -> None:
    """Store pages as if they were decided, one batch while the worker process prepares the next one.

    Raises:
        AssertionError: a page has a record already, or nothing to be found by.
    """
    if not records:
        return
    batches = list(in_chunks(records, BATCH_PAGES))
    first_rank = await _take_ranks(stores, len(records))
    preparing = asyncio.create_task(asyncio.to_thread(preparation.prepare, batches[0]))
    for number, following in enumerate([*batches[1:], []]):
        prepared = await preparing
        if following:
            preparing = asyncio.create_task(asyncio.to_thread(preparation.prepare, following))
        await _store(stores, _decided(stores, prepared, first_rank + number * BATCH_PAGES, now_seconds))


async def _take_ranks(stores: Stores, count: int) -> int:
    """Return the first of so many ranks, which no other page gets."""
    base = await stores.cluster_store.commit(Transaction(floors={}, expected={}, writes={}, rank_count=count))
    assert base is not None
    return base + 1


def _decided(
    stores: Stores, prepared: Prepared, first_rank: int, now_seconds: int
) -> list[tuple[Handle, PageRecord]]:
    """Return the pages as they are registered, with their ranks."""
    pages = []
    for rank, item in enumerate(prepared.items, start=first_rank):
        assert isinstance(item, Arrival), item
        record = first_record(item, now_seconds, stores.pages.version_floor, was_dropped=False)
        handle = handle_of(item.page.id, stores.pages.handle_key)
        pages.append((handle, msgspec.structs.replace(record, rank=rank)))
    return pages


async def _store(stores: Stores, pages: Sequence[tuple[Handle, PageRecord]]) -> None:
    packed = [record.pack() for _, record in pages]
    changes = [RecordChange(handle, None, value) for (handle, _), value in zip(pages, packed, strict=True)]
    answers = await stores.pages.records.replace(changes)
    assert [answer.value for answer in answers] == packed
    entries = [entry for handle, record in pages for entry in indexed_pages(handle, record)]
    assert len(entries) >= len(pages), "a page is not indexed"
    await stores.pages.index.probe_and_insert(entries)
