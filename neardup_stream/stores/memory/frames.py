"""Implement the store of frame tables in the memory of one process: the simplest correct thing."""

from collections.abc import Sequence

from neardup_stream.frames.table import STAMP_BYTES
from neardup_stream.stores.frame_store import FrameChange

__all__ = ["MemoryFrames"]


class MemoryFrames:
    """A FrameStore in a dict."""

    def __init__(self) -> None:
        self._tables: dict[int, bytes] = {}

    async def fetch(self, sites: Sequence[int]) -> list[bytes | None]:
        """See the contract."""
        return [self._tables.get(site) for site in sites]

    async def replace(self, changes: Sequence[FrameChange]) -> list[bytes | None]:
        """See the contract."""
        return [self._replace(change) for change in changes]

    async def remove(self, site: int) -> bool:
        """See the contract."""
        return self._tables.pop(site, None) is not None

    def _replace(self, change: FrameChange) -> bytes | None:
        stored = self._tables.get(change.site, b"")
        stamp = stored[:STAMP_BYTES]
        if stamp == change.expected:
            self._tables[change.site] = change.new
            return None
        return None if stamp == change.new[:STAMP_BYTES] else stored
