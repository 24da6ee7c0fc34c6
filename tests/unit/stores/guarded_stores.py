"""Guarded stores of clusters in memory, what is decided in them, and how they lose it."""

from copy import deepcopy

from neardup_stream.message import Partition
from neardup_stream.stores.cluster_store import DECIDED, CellAddress, Transaction, partition_name
from neardup_stream.stores.guarded_clusters import GuardedClusters, create_index
from neardup_stream.stores.memory.clusters import MemoryClusters

__all__ = ["CEILING", "INDEX_A", "PARTITION", "SOMETHING", "created", "decide", "gone_back"]

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


def gone_back(store: MemoryClusters, copy: MemoryClusters) -> None:
    vars(store).update(vars(deepcopy(copy)))
