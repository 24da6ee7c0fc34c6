"""Finds a cluster by its id, and reads its members some at a time."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from neardup_stream.clusters.cells import (
    ClusterCell,
    ClusterKey,
    PageCell,
    inner_key,
    unpack_cluster,
)
from neardup_stream.clusters.placements import ClusterState
from neardup_stream.clusters.snapshot import page_addresses
from neardup_stream.stores.cluster_store import CLUSTERS, CellAddress, ClusterStore, Member, MemberRange

__all__ = ["MOST_LEVELS", "FoundCluster", "MemberPage", "cluster_key", "find_cluster", "read_members"]

MOST_LEVELS: Final = 64
"""Sets of members inside each other that are followed; a few are usual, and only until members have moved."""

_MOST_TRIES: Final = 4
"""Times a cluster is looked for while members move: one commit removes a set and changes what named it."""


class FoundCluster(NamedTuple):
    """A cluster that is stored.

    Attributes:
        key: of its set of members.
        state: as events show it.
    """

    key: ClusterKey
    state: ClusterState


class MemberPage(NamedTuple):
    """Some members of a cluster.

    Attributes:
        members: pages, by rank within each set of members.
        path: the last one read of each set on the way to the next member; empty where all are read.
    """

    members: list[Member]
    path: tuple[Member, ...]


def cluster_key(cluster_id: str) -> ClusterKey | None:
    """Return the key that a cluster's id spells; None for what is no id.

    >>> cluster_key("00000000000000ff.3")
    ClusterKey(handle=255, version=3)
    """
    handle, _, version = cluster_id.partition(".")
    if len(handle) != 16 or not version.isascii() or not version.isdecimal() or len(version) > 10:
        return None
    try:
        key = ClusterKey.unpack(bytes.fromhex(handle) + int(version).to_bytes(4, "big"))
    except (ValueError, OverflowError):
        return None
    return key if key.id == cluster_id else None


async def find_cluster(store: ClusterStore, key: ClusterKey) -> FoundCluster | None:
    """Return the cluster with this id; the one that absorbed it, where one did; None where neither is known.

    A cluster that bears the id of one that it absorbed is found over the forwarding cell. Another one that
    was absorbed is found, once its members have moved, through the page that founded it, as long as that has
    not left: else it may be in any cluster.

    Raises:
        StoreUnavailable: the store is unavailable.
        CorruptData: what is stored is not what this program writes.
    Cost: one round trip; two more, and one for each absorbed cluster on the way, where it was absorbed. The
        same again, some times at most, where members are moved meanwhile.
    """
    for _ in range(_MOST_TRIES):
        found = await _followed(store, key)
        if isinstance(found, FoundCluster):
            return found
        if found == key:
            break
    for _ in range(_MOST_TRIES):
        (packed,), _ = await store.read(page_addresses([key.handle]))
        cell = PageCell.unpack(packed)
        if not (cell.is_living and cell.is_linked):
            return None
        found = await _followed(store, cell.cluster(key.handle))
        if isinstance(found, FoundCluster):
            has_stayed = cell.version == key.version
            return found if has_stayed or found.state.id == key.id else None
    return None


async def read_members(
    store: ClusterStore, key: ClusterKey, limit: int, path: Sequence[Member] = ()
) -> MemberPage:
    """Read the next members of a cluster.

    No snapshot: a page that joins, leaves or moves to another set meanwhile may be missing, or come twice.

    Args:
        store: that has them.
        key: of the cluster's set of members.
        limit: most members, at least 1.
        path: of the page before; empty for the first.

    Raises:
        StoreUnavailable: the store is unavailable.
        ValueError: the path does not lead through this cluster.
    Cost: one round trip, and one for each set inside the cluster's own.
    """
    levels: list[tuple[bytes, Member | None]] = [(each.cluster, each) for each in path] or [
        (key.packed, None)
    ]
    _require_path(key, path)
    members: list[Member] = []
    path_to_last: tuple[Member, ...] = ()
    while levels:
        cluster, after = levels[-1]
        wanted = limit + 1 - len(members)  # one that follows says that these are not the last
        _, (found,) = await store.read([], [MemberRange(cluster, wanted, after)])
        inner: list[tuple[bytes, Member | None]] = []
        for member in found:
            if not member.founded and len(members) == limit:
                return MemberPage(members, path_to_last)
            levels[-1] = (cluster, member)
            if member.founded:
                inner = [(inner_key(member).packed, None)]
                break
            members.append(member)
            if len(members) == limit:
                path_to_last = tuple(after for _, after in levels if after is not None)
        if inner and len(levels) < MOST_LEVELS:
            levels += inner
        elif len(found) < wanted and not inner:
            levels.pop()
    return MemberPage(members, ())


async def _followed(store: ClusterStore, key: ClusterKey) -> FoundCluster | ClusterKey:
    """Return the cluster to which the members of `key` belong; a key on the way of which nothing is stored.

    Each cell is read on its own: a set that one named may be removed before it is read.
    """
    for _ in range(MOST_LEVELS):
        (value,), _ = await store.read([CellAddress(CLUSTERS, key.packed)])
        cell = None if value is None else unpack_cluster(value)
        if isinstance(cell, ClusterCell):
            return FoundCluster(key, cell.state(key))
        if cell is None:
            break
        key = cell.target
    return key


def _require_path(key: ClusterKey, path: Sequence[Member]) -> None:
    inner = key.packed
    for member in path:
        if member.cluster != inner:
            raise ValueError("the path leads through another cluster")
        inner = inner_key(member).packed
