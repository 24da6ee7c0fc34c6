"""How a page's living version goes out of its cluster, and who speaks for the others then."""

import msgspec

from neardup_stream.clusters.cells import ClusterCell, ClusterKey, PageCell
from neardup_stream.clusters.overlay import World
from neardup_stream.clusters.placements import Departure
from neardup_stream.clusters.requests import ClusterNode
from neardup_stream.clusters.snapshot import StaleView
from neardup_stream.page import Handle

__all__ = ["leave"]


def leave(world: World, node: ClusterNode) -> Departure | None:
    """Take the living version of a page out of its cluster; its own cell is left to the caller.

    A cluster of which one page is left stays what it is: subscribers know that page by this cluster, so it
    keeps the id and the epoch. One of which nobody is left ends.

    Args:
        world: changed.
        node: names the page; its version is not looked at.

    Returns:
        None when no living version is known.
    """
    cell = world.page(node.handle)
    if not cell.is_living:
        return None
    own_set = cell.cluster(node.handle)
    former = node._replace(version=cell.version)
    key = world.root(own_set) if cell.is_linked else own_set
    cluster = world.cluster(key) if cell.is_linked else None
    if cluster is None:
        return Departure(key.id, 1, cell.version, former, remaining=None, is_handover=False)
    world.leave(own_set, cell.rank, node.handle)
    cluster_id = cluster.id(key)
    if cluster.size == 1:
        world.put_cluster(key, None)
        former = cluster.representative
        return Departure(cluster_id, cluster.epoch, cell.version, former, remaining=None, is_handover=False)
    is_handover = cluster.representative.handle == node.handle
    smaller = _without(world, key, cluster, cell, is_handover=is_handover)
    world.put_cluster(key, smaller)
    if smaller is None:
        former = cluster.representative
        return Departure(cluster_id, cluster.epoch, cell.version, former, remaining=None, is_handover=False)
    return Departure(
        cluster_id=cluster_id,
        epoch=smaller.epoch,
        version=cell.version,
        former=cluster.representative if is_handover else former,
        remaining=smaller.state(key),
        is_handover=is_handover,
    )


def _without(
    world: World, key: ClusterKey, cluster: ClusterCell, gone: PageCell, *, is_handover: bool
) -> ClusterCell | None:
    rest = msgspec.structs.replace(
        cluster, size=cluster.size - 1, anchor_count=cluster.anchor_count - gone.is_anchor
    )
    smaller = _handed_over(world, key, rest) if is_handover else rest
    return _anchored_anew(world, key, smaller) if smaller and not smaller.anchor_count else smaller


def _handed_over(world: World, key: ClusterKey, cluster: ClusterCell) -> ClusterCell | None:
    """The member that was decided first among those left represents the cluster now; None if none is left.

    A member whose page record Redis lost has no name to be published under, and is taken out: should its
    page come again, it gets a version above this one.
    """
    while cluster.size:
        member = world.first_member(key)
        heir = _cell_of_member(world, key, member.handle)
        description = world.description(member.handle)
        if description is not None:
            return msgspec.structs.replace(
                cluster,
                epoch=cluster.epoch + 1,
                representative_rank=heir.rank,
                representative=ClusterNode(member.handle, heir.version, *description),
            )
        world.leave(heir.cluster(member.handle), heir.rank, member.handle)
        world.put_page(member.handle, PageCell(rank=heir.rank, version=heir.version, edges=heir.edges))
        cluster = msgspec.structs.replace(
            cluster, size=cluster.size - 1, anchor_count=cluster.anchor_count - heir.is_anchor
        )
    return None


def _anchored_anew(world: World, key: ClusterKey, cluster: ClusterCell) -> ClusterCell:
    """No cluster is without an anchor: its representative becomes one."""
    handle = cluster.representative.handle
    cell = _cell_of_member(world, key, handle)
    world.put_page(handle, msgspec.structs.replace(cell, is_anchor=True))
    return msgspec.structs.replace(cluster, anchor_count=1)


def _cell_of_member(world: World, key: ClusterKey, handle: Handle) -> PageCell:
    cell = world.page(handle)
    if not cell.is_living or world.root(cell.cluster(handle)) != key:
        raise StaleView(f"page {handle:016x} is not in cluster {key.id}")
    return cell
