"""Lock pages: records of different pages pass at once, of one page only one record at a time."""

import asyncio
from collections.abc import Collection

__all__ = ["PageLocks"]


class PageLocks:
    """Holds page ids from their `enter` to their `leave`."""

    def __init__(self) -> None:
        self._inside: set[str] = set()
        self._changed = asyncio.Condition()

    async def enter(self, page_ids: Collection[str]) -> None:
        """Wait until none of these pages is inside; then all of them are."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._inside.isdisjoint(page_ids))
            self._inside.update(page_ids)

    async def leave(self, page_ids: Collection[str]) -> None:
        """Release the locks of these pages."""
        async with self._changed:
            self._inside.difference_update(page_ids)
            self._changed.notify_all()
