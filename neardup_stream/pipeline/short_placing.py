"""The short path's decide: the plan of `clusters.deciding` over a store that one process has for itself.

No other process changes what is read, so nothing is planned twice, and ranks are final before the plan.
"""

from collections.abc import Sequence
from typing import NamedTuple

from neardup_stream.clusters.overlay import Overlay
from neardup_stream.clusters.placements import Placement
from neardup_stream.clusters.planning import plan
from neardup_stream.clusters.portions import known_handles
from neardup_stream.clusters.reading import Describe, Reader
from neardup_stream.clusters.requests import PlaceRequest
from neardup_stream.clusters.rules import Rule
from neardup_stream.clusters.snapshot import page_addresses
from neardup_stream.clusters.transactions import changes_of, planned
from neardup_stream.errors import InvariantBroken
from neardup_stream.stores.memory.clusters import MemoryClusters

__all__ = ["Placing"]


class Placing(NamedTuple):
    """Places new pages in clusters.

    Attributes:
        store: keeps the clusters.
        describe: names a page that becomes a representative.
        rule: chooses what a page joins.
        pending_edges: most matches that wait for one page which is not decided yet.
    """

    store: MemoryClusters
    describe: Describe
    rule: Rule
    pending_edges: int

    async def place(self, requests: Sequence[PlaceRequest], ranks: Sequence[int]) -> list[Placement]:
        """Store the places of pages, and return them.

        Args:
            requests: about new pages, in order.
            ranks: of the pages, from `MemoryClusters.reserve_ranks`.
        """
        if not requests:
            return []

        def step(overlay: Overlay, request: PlaceRequest, number: int) -> Placement | None:
            return plan(overlay, request, self.rule, ranks[number - 1], self.pending_edges)

        reader = Reader(self.store, self.describe)
        await reader.read(page_addresses(known_handles(requests)))
        overlay, placements = await planned(reader, requests, step)
        is_stored = await self.store.commit(changes_of(reader, overlay)) is not None
        if overlay.behind or not is_stored:
            raise InvariantBroken("clusters that one process has for itself were changed by another one")
        return placements
