"""Read what a plan needs, all that is known to be missing at once."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from neardup_stream.clusters.rows import block_cells, bound_cells, continued_blocks
from neardup_stream.clusters.snapshot import (
    DescribedPage,
    Description,
    Needs,
    Snapshot,
    cluster_cells,
    page_cells,
)
from neardup_stream.message import Position
from neardup_stream.stores.cluster_store import Cell, ClusterStore, MemberRange

__all__ = ["Describe", "Reader"]

Describe = Callable[[Sequence[DescribedPage]], Awaitable[Mapping[DescribedPage, Description]]]
"""Fetches how pages are named, from their records; a page without a record is left out."""


class Reader:
    """Reads the snapshot of one attempt.

    Args:
        store: holds the cells.
        describe: returns what the page record of a new representative says.
    """

    def __init__(self, store: ClusterStore, describe: Describe) -> None:
        self.snapshot = Snapshot()
        self._store = store
        self._describe = describe

    async def read(self, cells: Sequence[Cell], ranges: Sequence[MemberRange] = ()) -> None:
        """Read some cells and members, then the clusters of the pages among them."""
        values, members = await self._store.read(cells, ranges)
        self.snapshot.add(cells, values, ranges, members)
        if keys := self.snapshot.unread_clusters():
            await self.read(cluster_cells(keys))

    async def read_rows(self, positions: Sequence[Position], others: Sequence[Cell] = ()) -> None:
        """Read the rows of some positions, if they have any, and other cells together with their bounds."""
        await self.read([*bound_cells(positions), *others])
        blocks = block_cells(self.snapshot, positions)
        while blocks:
            await self.read(blocks)
            blocks = continued_blocks(self.snapshot, blocks)

    async def fetch(self, needs: Needs) -> None:
        """Read what a plan found lacking."""
        ranges = [MemberRange(key.packed, limit) for key, limit in needs.ranges.items()]
        cells = page_cells(needs.pages) + cluster_cells(needs.clusters)
        if cells or ranges:
            await self.read(cells, ranges)
        if needs.descriptions:
            found = await self._describe(sorted(needs.descriptions))
            self.snapshot.describe({page: found.get(page) for page in needs.descriptions})
