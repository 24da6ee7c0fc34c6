"""Guarded stores of clusters in memory, what is decided in them, and how they lose it."""

from copy import deepcopy

from neardup_stream.message import Partition
from neardup_stream.stores.cluster_store import DECIDED, CellAddress, Transaction, partition_name
from neardup_stream.stores.guarded_clusters import GuardedClusters, create_index
from neardup_stream.stores.memory.clusters import MemoryClusters

__all__ = ["CEILING", "INDEX_A", "PARTITION", "SOMETHING", "created", "decide", "gone_back", "gone_back_from"]

PARTITION = Partition("pages", 3)
INDEX_A = "0193a0b1"
CEILING = CellAddress(DECIDED, partition_name(PARTITION))
SOMETHING = CellAddress("pages", b"12345678")


async def created(store: MemoryClusters, token: str = INDEX_A) -> GuardedClusters:
    await create_index(store, token)
    return GuardedClusters(store, token)


async def decide(store: GuardedClusters, below: int) -> int | None:
    """Commit as a batch does that decides everything below an offset."""
    ((before,), _) = await store.read([CEILING])
    writes = {CEILING: bytes(6) + b"%d" % below}
    return await store.commit(Transaction(floors={}, expected={CEILING: before}, writes=writes, rank_count=1))


async def gone_back_from(store: MemoryClusters) -> GuardedClusters:
    """Return a store that has decided twice over one that knows of the first time alone."""
    guarded = await created(store)
    await decide(guarded, 10)
    copy = deepcopy(store)
    await decide(guarded, 20)
    gone_back(store, copy)
    return guarded


def gone_back(store: MemoryClusters, copy: MemoryClusters) -> None:
    vars(store).update(vars(deepcopy(copy)))
