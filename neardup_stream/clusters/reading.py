"""Read what a plan needs, all that is known to be missing at once."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from neardup_stream.clusters.rows import block_addresses, bound_addresses, continued_blocks
from neardup_stream.clusters.snapshot import (
    DescribedPage,
    Description,
    Needs,
    Snapshot,
    cluster_addresses,
    page_addresses,
)
from neardup_stream.message import Position
from neardup_stream.stores.cluster_store import CellAddress, ClusterStore, MemberRange

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

    async def read(self, addresses: Sequence[CellAddress], ranges: Sequence[MemberRange] = ()) -> None:
        """Read some cells and members, then the clusters of the pages among them."""
        values, members = await self._store.read(addresses, ranges)
        self.snapshot.add(addresses, values, ranges, members)
        if keys := self.snapshot.unread_clusters():
            await self.read(cluster_addresses(keys))

    async def read_rows(self, positions: Sequence[Position], others: Sequence[CellAddress] = ()) -> None:
        """Read the rows of some positions, if they have any, and other cells together with their bounds."""
        await self.read([*bound_addresses(positions), *others])
        blocks = block_addresses(self.snapshot, positions)
        while blocks:
            await self.read(blocks)
            blocks = continued_blocks(self.snapshot, blocks)

    async def fetch(self, needs: Needs) -> None:
        """Read what a plan found lacking."""
        ranges = [MemberRange(key.packed, limit) for key, limit in needs.ranges.items()]
        addresses = page_addresses(needs.pages) + cluster_addresses(needs.clusters)
        if addresses or ranges:
            await self.read(addresses, ranges)
        if needs.descriptions:
            found = await self._describe(sorted(needs.descriptions))
            self.snapshot.describe({page: found.get(page) for page in needs.descriptions})
