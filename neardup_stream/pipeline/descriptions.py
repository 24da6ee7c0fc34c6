"""Reads what events say of new representatives from their page records."""

from collections.abc import Mapping, Sequence

from neardup_stream.clusters.snapshot import Description
from neardup_stream.page import Handle
from neardup_stream.pipeline.fetching import fetch_records
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
        """Describe each page that has a record, a stub included; others are left out. One round trip."""
        records = await fetch_records(handles, self._records)
        return {
            handle: Description(record.id, record.url, record.version, record.content, record.fingerprint)
            for handle, record in records.items()
        }
