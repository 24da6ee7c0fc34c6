"""Stores of clusters whose tombstones are swept before a batch is decided."""

from neardup_stream.errors import StoreUnavailable
from neardup_stream.page import Handle
from neardup_stream.stores.cluster_store import Aged, Transaction
from neardup_stream.stores.memory.clusters import MemoryClusters

__all__ = ["SweptStore"]


class SweptStore(MemoryClusters):
    """Before so many commits, tombstones are written, age and are swept; the store may be unavailable once.

    Args:
        times: how many.
        is_unavailable: whether the first one raises StoreUnavailable.
    """

    def __init__(self, times: float, *, is_unavailable: bool = False) -> None:
        super().__init__()
        self.times = times
        self.is_unavailable = is_unavailable

    async def meanwhile(self) -> None:
        """What happens before they are swept."""

    async def commit(self, transaction: Transaction) -> int | None:
        if self.times > 0:
            self.times -= 1
            await self.meanwhile()
            await self.age([Aged(1, Handle(77))])
            await self.sweep(await self.due(0, 10))
        if self.is_unavailable:
            self.is_unavailable = False
            raise StoreUnavailable("for minutes")
        return await super().commit(transaction)
