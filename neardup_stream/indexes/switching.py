"""Probe and insert where the state of the tables' layout says, while the layout changes."""

from collections.abc import Awaitable, Callable, Collection, Sequence

from neardup_stream.indexes.protocol import Index, IndexedPage, Probed
from neardup_stream.page import Handle
from neardup_stream.stores.table_layouts import TableLayouts

__all__ = ["OpenIndex", "SwitchingIndex"]

OpenIndex = Callable[[int], Awaitable[Index]]
"""Returns the index over the tables of a layout, by its number."""


class SwitchingIndex:
    """An Index over the layout in force; while another one is filled, pages are inserted there too.

    Args:
        layouts: which layout is in use.
        open_index: opens each layout once.
    """

    def __init__(self, layouts: TableLayouts, open_index: OpenIndex) -> None:
        self._layouts = layouts
        self._open_index = open_index
        self._opened: dict[int, Index] = {}

    async def probe_and_insert(self, pages: Sequence[IndexedPage]) -> Probed:
        """See the protocol. Cost: twice while a layout is filled."""
        state = self._layouts.used
        if state.filling is not None:
            await (await self._of(state.filling)).probe_and_insert(pages)
        probed = await (await self._of(state.current)).probe_and_insert(pages)
        return probed._replace(layout_change=state.change)

    async def probe(self, pages: Sequence[IndexedPage]) -> Probed:
        """See the protocol. The latest layout that is known is probed: it has all that a former one has."""
        state = self._layouts.found
        probed = await (await self._of(state.current)).probe(pages)
        return probed._replace(layout_change=state.change)

    async def remove(self, pages: Sequence[IndexedPage]) -> None:
        """See the protocol."""
        states = {self._layouts.used, self._layouts.found}
        numbers = {number for state in states for number in (state.current, state.filling)}
        for number in numbers:
            if number is not None:
                await (await self._of(number)).remove(pages)

    async def remove_stale(self, probed: Probed, stale_candidates: Collection[tuple[Handle, int]]) -> None:
        """See the protocol. What was seen in a former layout is left: its tables are removed as a whole."""
        state = self._layouts.found
        if probed.layout_change == state.change:
            await (await self._of(state.current)).remove_stale(probed, stale_candidates)

    async def _of(self, number: int) -> Index:
        if number not in self._opened:
            self._opened[number] = await self._open_index(number)
        return self._opened[number]
