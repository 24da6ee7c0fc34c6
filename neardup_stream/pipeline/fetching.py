"""Fetch page records by handle."""

from collections.abc import Sequence

from neardup_stream.page import Handle
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import RecordStore

__all__ = ["fetch_records"]


async def fetch_records(handles: Sequence[Handle], store: RecordStore) -> dict[Handle, PageRecord]:
    """Return the records of those handles that have one, stubs included. One round trip.

    Raises:
        StoreUnavailable: the store is unavailable.
        CorruptData: a stored record cannot be read.
    """
    packed = await store.fetch(handles)
    return {
        handle: PageRecord.unpack(value)
        for handle, value in zip(handles, packed, strict=True)
        if value is not None
    }
