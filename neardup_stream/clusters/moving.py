"""Moves the members of absorbed clusters, some at a time, into the cluster that absorbed them.

A merge of any size is one small commit: it notes in the absorbed cluster where its members belong. They move
afterwards, so that few steps lead from a page to its cluster.
"""

import msgspec

from neardup_stream.clusters.cells import ClusterKey, inner_key
from neardup_stream.clusters.overlay import Overlay
from neardup_stream.clusters.reading import Describe, Reader
from neardup_stream.clusters.snapshot import StaleSnapshot, cluster_addresses
from neardup_stream.clusters.transactions import changes_of, planned
from neardup_stream.errors import CorruptData
from neardup_stream.stores.cluster_store import ClusterStore, Member, MemberRange

__all__ = ["MOVED_AT_ONCE", "move_absorbed"]

MOVED_AT_ONCE = 100
"""Members that one commit moves: some 1 ms of the server, and 5 ms of this process."""


async def move_absorbed(store: ClusterStore, describe: Describe) -> None:
    """Move the members of absorbed clusters until none are left, or until other daemons move the same ones.

    Raises:
        StoreUnavailable: call again; what was moved is moved.
        CorruptData: what is stored is not what this program writes.
    Cost: four round trips for `MOVED_AT_ONCE` members; one more where their cluster bears another's id.
    """
    has_moved = True
    while has_moved:
        has_moved = False
        for packed in await store.absorbed():
            has_moved |= await _move_some(store, Reader(store, describe), ClusterKey.unpack(packed))


async def _move_some(store: ClusterStore, reader: Reader, source: ClusterKey) -> bool:
    """Move the first members of one cluster; False on a conflict."""
    await reader.read(cluster_addresses([source]), [MemberRange(source.packed, MOVED_AT_ONCE)])
    members = reader.snapshot.members[source]
    is_last = len(members) < MOVED_AT_ONCE

    def step(overlay: Overlay, key: ClusterKey, _number: int) -> None:
        if overlay.absorbed(key) is not None:
            _move(overlay, key, members)
        elif members:
            raise CorruptData(
                f"cluster {key.id} was absorbed and has members, and no cell says by which: run recover"
            )
        if is_last:
            overlay.end_absorbed(key)
        else:
            overlay.raise_absorbed(key, members[-1].rank)

    try:
        overlay, _ = await planned(reader, [source], step)
    except StaleSnapshot:
        return False
    return await store.commit(changes_of(reader, overlay)) is not None


def _move(overlay: Overlay, source: ClusterKey, members: tuple[Member, ...]) -> None:
    """Let these members of an absorbed cluster be members of the one that absorbed it."""
    root = overlay.root(source)
    overlay.know(
        [member.handle for member in members if not member.founded],
        [inner_key(member) for member in members if member.founded],
    )
    for member in members:
        overlay.leave(source, member.rank, member.handle, member.founded)
        if member.founded:
            overlay.absorb(overlay.inner(member), root, member.rank)
            continue
        cell = overlay.page(member.handle)
        if cell.is_living and cell.cluster(member.handle) == source:
            overlay.put_page(member.handle, msgspec.structs.replace(cell, founder=root))
            overlay.join(root, member.rank, member.handle)
