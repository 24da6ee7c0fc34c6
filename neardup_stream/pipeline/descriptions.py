"""How pages that come to speak for others are named: as their records say."""

from collections.abc import Mapping, Sequence

from neardup_stream.clusters.view import Description
from neardup_stream.page import Handle
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import RecordStore

__all__ = ["Descriptions"]


class Descriptions:
    """Names pages.

    Args:
        records: keeps the page records.
    """

    def __init__(self, records: RecordStore) -> None:
        self._records = records

    async def __call__(self, handles: Sequence[Handle]) -> Mapping[Handle, Description]:
        """Id and URL of each page that has a record, a stub included; others are left out. One round trip."""
        packed = await self._records.fetch(handles)
        records = {
            handle: PageRecord.unpack(value)
            for handle, value in zip(handles, packed, strict=True)
            if value is not None
        }
        return {
            handle: Description(record.id, record.url, record.fingerprint)
            for handle, record in records.items()
        }
