"""Reads what events say of new representatives from their page records."""

from collections.abc import Mapping, Sequence

from neardup_stream.clusters.snapshot import DescribedPage, Description
from neardup_stream.pipeline.fetching import fetch_records
from neardup_stream.pipeline.former_versions import FormerVersions
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import RecordStore

__all__ = ["Descriptions"]


class Descriptions:
    """Names pages.

    Args:
        records: keeps the page records.
        former: the versions that clusters hold of pages in flight.
    """

    def __init__(self, records: RecordStore, former: FormerVersions) -> None:
        self._records = records
        self._former = former

    async def __call__(self, pages: Sequence[DescribedPage]) -> Mapping[DescribedPage, Description]:
        """Describe each page that has a record, a stub included; others are left out. One round trip."""
        former = self._former_versions(pages)
        handles = sorted({handle for handle, version in pages if (handle, version) not in former})
        records = await fetch_records(handles, self._records)
        former |= self._former_versions(pages)  # a later run may have replaced records before they were read
        known = {page: record for page in pages if (record := former.get(page) or records.get(page[0]))}
        return {
            page: Description(record.id, record.url, record.version, record.content, record.fingerprint)
            for page, record in known.items()
        }

    def _former_versions(self, pages: Sequence[DescribedPage]) -> dict[DescribedPage, PageRecord]:
        return {page: record for page in pages if (record := self._former.version(*page))}
