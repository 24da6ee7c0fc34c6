"""How a page's living version goes out of its cluster, and who represents the others then."""

import msgspec

from neardup_stream.clusters.cells import ClusterCell, ClusterKey, PageCell
from neardup_stream.clusters.overlay import Overlay
from neardup_stream.clusters.placements import Departure
from neardup_stream.clusters.requests import PageVersion
from neardup_stream.clusters.snapshot import StaleSnapshot
from neardup_stream.page import Handle

__all__ = ["leave"]


def leave(overlay: Overlay, node: PageVersion) -> Departure | None:
    """Take the living version of a page out of its cluster; its own cell is left to the caller.

    A cluster of which one page is left stays what it is: subscribers know that page by this cluster, so it
    keeps the id and the epoch. One of which nobody is left ends.

    Args:
        overlay: changed.
        node: names the page; its version is not looked at.

    Returns:
        None when no living version is known.
    """
    cell = overlay.page(node.handle)
    if not cell.is_living:
        return None
    own_set = cell.cluster(node.handle)
    former = node._replace(version=cell.version)
    key = overlay.root(own_set) if cell.is_linked else own_set
    cluster = overlay.cluster(key) if cell.is_linked else None
    if cluster is None:
        return Departure(key.id, 1, cell.version, former, remaining=None, is_handover=False)
    overlay.leave(own_set, cell.rank, node.handle)
    cluster_id = cluster.id(key)
    if cluster.size == 1:
        overlay.put_cluster(key, None)
        former = cluster.representative
        return Departure(cluster_id, cluster.epoch, cell.version, former, remaining=None, is_handover=False)
    is_handover = cluster.representative.handle == node.handle
    smaller = _without(overlay, key, cluster, cell, is_handover=is_handover)
    overlay.put_cluster(key, smaller)
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
    overlay: Overlay, key: ClusterKey, cluster: ClusterCell, gone: PageCell, *, is_handover: bool
) -> ClusterCell | None:
    rest = msgspec.structs.replace(
        cluster, size=cluster.size - 1, anchor_count=cluster.anchor_count - gone.is_anchor
    )
    smaller = _handed_over(overlay, key, rest) if is_handover else rest
    return _anchored_anew(overlay, key, smaller) if smaller and not smaller.anchor_count else smaller


def _handed_over(overlay: Overlay, key: ClusterKey, cluster: ClusterCell) -> ClusterCell | None:
    """The member that was decided first among those left represents the cluster now; None if none is left.

    A member whose page record Redis lost has no name to be published under, and is taken out: should its
    page come again, it gets a version above this one.
    """
    while cluster.size:
        member = overlay.first_member(key)
        heir = _cell_of_member(overlay, key, member.handle)
        description = overlay.description(member.handle)
        if description is not None:
            return msgspec.structs.replace(
                cluster,
                epoch=cluster.epoch + 1,
                representative_rank=heir.rank,
                representative=PageVersion(member.handle, heir.version, *description),
            )
        overlay.leave(heir.cluster(member.handle), heir.rank, member.handle)
        overlay.put_page(member.handle, PageCell(rank=heir.rank, version=heir.version, edges=heir.edges))
        cluster = msgspec.structs.replace(
            cluster, size=cluster.size - 1, anchor_count=cluster.anchor_count - heir.is_anchor
        )
    return None


def _anchored_anew(overlay: Overlay, key: ClusterKey, cluster: ClusterCell) -> ClusterCell:
    """No cluster is without an anchor: its representative becomes one."""
    handle = cluster.representative.handle
    cell = _cell_of_member(overlay, key, handle)
    overlay.put_page(handle, msgspec.structs.replace(cell, is_anchor=True))
    return msgspec.structs.replace(cluster, anchor_count=1)


def _cell_of_member(overlay: Overlay, key: ClusterKey, handle: Handle) -> PageCell:
    cell = overlay.page(handle)
    if not cell.is_living or overlay.root(cell.cluster(handle)) != key:
        raise StaleSnapshot(f"page {handle:016x} is not in cluster {key.id}")
    return cell
