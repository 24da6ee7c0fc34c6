"""Reads whole clusters, a bounded number of members at a time."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from neardup_stream.chunks import in_chunks
from neardup_stream.clusters.cells import ClusterCell, ClusterKey, inner_key, unpack_cluster
from neardup_stream.clusters.requests import PageVersion
from neardup_stream.page import Handle
from neardup_stream.stores.cluster_store import (
    CLUSTERS,
    CellAddress,
    ClusterStore,
    Member,
    MemberRange,
    WalkedClusters,
)
from neardup_stream.stores.protocol import Retry, once

__all__ = ["WalkedCluster", "walk_clusters"]

_CLUSTERS_AT_ONCE = 64
_MEMBERS_AT_ONCE = 100
"""Of one set: most are smaller."""

_LATER_MEMBERS_AT_ONCE = 1000

_READS = 3
"""How often a cluster is read whose members change meanwhile."""


class WalkedCluster(NamedTuple):
    """A cluster of two or more.

    Attributes:
        id: as in events.
        representative: of the cluster.
        members: in order of rank.
    """

    id: str
    representative: PageVersion
    members: list[Handle]


@dataclass(frozen=True, slots=True)
class _Reads:
    """Reads of a store."""

    store: ClusterStore
    retry: Retry

    async def walk(self, slot: int) -> WalkedClusters:
        return await self.retry(partial(self.store.walk, slot))

    async def read(
        self, addresses: Sequence[CellAddress], ranges: Sequence[MemberRange] = ()
    ) -> tuple[list[bytes | None], list[list[Member]]]:
        return await self.retry(partial(self.store.read, addresses, ranges))


async def walk_clusters(store: ClusterStore, retry: Retry = once) -> AsyncIterator[WalkedCluster]:
    """Yield every cluster of two or more; no snapshot: what is decided meanwhile may be in it or not.

    Args:
        store: has the clusters.
        retry: runs each read of the store.

    Raises:
        StoreUnavailable: the store is unavailable.
        CorruptData: what is stored is not what this program writes.
    Cost: a round trip for some thousand clusters, or hashes without any; and one for 64 clusters, more where
        they are large.
    """
    slot, reads = 0, _Reads(store, retry)
    while slot < store.slot_count:
        cells, slot = await reads.walk(slot)
        found = [(ClusterKey.unpack(key), unpack_cluster(value)) for key, value in cells]
        linked = [(key, cell) for key, cell in found if isinstance(cell, ClusterCell) and cell.size > 1]
        for some in in_chunks(linked, _CLUSTERS_AT_ONCE):
            async for cluster in _walked(reads, some):
                yield cluster


async def _walked(
    reads: _Reads, found: Sequence[tuple[ClusterKey, ClusterCell]]
) -> AsyncIterator[WalkedCluster]:
    lists = await _members(reads, [key for key, _ in found])
    for (key, cell), members in zip(found, lists, strict=True):
        cluster = await _settled(reads, key, cell, members)
        if cluster is not None:
            yield cluster


async def _settled(
    reads: _Reads, key: ClusterKey, cell: ClusterCell, members: list[Handle]
) -> WalkedCluster | None:
    """Read a cluster again while the number of its members differs from its size."""
    for _ in range(_READS):
        if len(members) == cell.size:
            break
        (value,), _ = await reads.read([CellAddress(CLUSTERS, key.packed)])
        now = None if value is None else unpack_cluster(value)
        if not isinstance(now, ClusterCell) or now.size == 1:
            return None  # absorbed, or alone again; a cluster that absorbed it has or had its own turn
        cell = now
        (members,) = await _members(reads, [key])
    return WalkedCluster(cell.id(key), cell.representative, members)


async def _members(reads: _Reads, keys: Sequence[ClusterKey]) -> list[list[Handle]]:
    """Return all pages of some clusters and of the sets that belong to them, in order of rank."""
    ranks: list[dict[Handle, int]] = [{} for _ in keys]
    ranges = [(at, MemberRange(key.packed, _MEMBERS_AT_ONCE)) for at, key in enumerate(keys)]
    while ranges:
        _, lists = await reads.read([], [wanted for _, wanted in ranges])
        following = []
        for (at, wanted), found in zip(ranges, lists, strict=True):
            if len(found) == wanted.limit:
                following.append((at, wanted._replace(after=found[-1], limit=_LATER_MEMBERS_AT_ONCE)))
            for member in found:
                if member.founded:
                    following.append((at, MemberRange(inner_key(member).packed, _MEMBERS_AT_ONCE)))
                else:
                    ranks[at][member.handle] = member.rank
        ranges = following
    return [sorted(each, key=each.__getitem__) for each in ranks]
