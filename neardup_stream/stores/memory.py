"""The reference stores: the simplest correct thing, for tests."""

from collections.abc import Sequence

from neardup_stream.page import Handle
from neardup_stream.stores.memory_tables import MemoryTables
from neardup_stream.stores.protocol import RecordChange

__all__ = ["MemoryRecords", "MemoryTables"]


class MemoryRecords:
    """A RecordStore in a dict."""

    def __init__(self) -> None:
        self._values: dict[Handle, bytes] = {}

    async def fetch(self, handles: Sequence[Handle]) -> list[bytes | None]:
        """See the contract."""
        return [self._values.get(handle) for handle in handles]

    async def replace(self, changes: Sequence[RecordChange]) -> list[bytes | None]:
        """See the contract."""
        for change in changes:
            if self._values.get(change.handle) == change.expected:
                self._values[change.handle] = change.new
        return await self.fetch([change.handle for change in changes])
