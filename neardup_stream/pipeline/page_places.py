"""Find the record of a page by the page's id."""

from collections.abc import Iterable
from typing import NamedTuple

from neardup_stream.hashing.handles import handle_of, next_handle
from neardup_stream.page import Handle, PageId
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import RecordStore

__all__ = ["PagePlace", "find_places"]


class PagePlace(NamedTuple):
    """Where a page is, or would be.

    Attributes:
        handle: of the page.
        packed: what is stored there; None for nothing.
        record: the same, read.
    """

    handle: Handle
    packed: bytes | None
    record: PageRecord | None


async def find_places(
    page_ids: Iterable[PageId], store: RecordStore, handle_key: bytes
) -> dict[PageId, PagePlace]:
    """Return the place of each page: where a handle is taken by another page, the next one counts.

    Raises:
        StoreUnavailable: the store is unavailable.
        CorruptData: a stored record cannot be read.
    Cost: one round trip, one more for each clash in a row.
    """
    places: dict[PageId, PagePlace] = {}
    pending = {page_id: handle_of(page_id, handle_key) for page_id in page_ids}
    while pending:
        values = await store.fetch(list(pending.values()))
        clashing: dict[PageId, Handle] = {}
        for (page_id, handle), packed in zip(pending.items(), values, strict=True):
            record = None if packed is None else PageRecord.unpack(packed)
            if record is None or record.id == page_id:
                places[page_id] = PagePlace(handle, packed, record)
            else:
                clashing[page_id] = next_handle(handle)
        pending = clashing
    return places
