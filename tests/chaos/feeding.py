"""Publishes pages in portions, so that there is work at every fault of a daemon."""

from collections.abc import Sequence

from neardup_stream.message import Message
from tests.chaos.arena import Arena

__all__ = ["Feed"]


class Feed:
    """Publishes so many pages in so many portions, the first one now.

    Args:
        arena: where to.
        pages: in order.
        portion_count: at least 1.
    """

    def __init__(self, arena: Arena, pages: Sequence[Message], portion_count: int) -> None:
        self._arena = arena
        self._pages = pages
        self._size = -(-len(pages) // portion_count)
        self._next = 0
        self.more()

    def more(self) -> None:
        """The next portion, if there is one left."""
        self._publish(self._next + self._size)

    def rest(self) -> None:
        """All that is left."""
        self._publish(len(self._pages))

    def _publish(self, end: int) -> None:
        portion = self._pages[self._next : end]
        if portion:
            self._arena.publish(portion)
        self._next = end
