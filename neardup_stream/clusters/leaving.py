"""Removes a page's living version from its cluster, and chooses the new representative of the others."""

import msgspec

from neardup_stream.clusters.cells import ClusterCell, ClusterKey, PageCell
from neardup_stream.clusters.overlay import Overlay
from neardup_stream.clusters.placements import Departure
from neardup_stream.clusters.requests import PageVersion
from neardup_stream.clusters.snapshot import Description, StaleSnapshot
from neardup_stream.page import Handle

__all__ = ["leave"]


def leave(overlay: Overlay, node: PageVersion) -> Departure | None:
    """Remove the living version of a page from its cluster; the caller writes its own cell.

    A cluster of which one page is left stays what it is: subscribers know that page by this cluster, so it
    keeps the id and the epoch. A cluster without members ends.

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
        return Departure(key.id, 1, cell.version, former, remaining=None, is_representative_change=False)
    overlay.leave(own_set, cell.rank, node.handle)
    cluster_id = cluster.id(key)
    if cluster.size == 1:
        overlay.release_id(cluster)
        overlay.put_cluster(key, None)
        former = cluster.representative
        return Departure(
            cluster_id, cluster.epoch, cell.version, former, remaining=None, is_representative_change=False
        )
    is_representative_change = cluster.representative.handle == node.handle
    smaller = _without(overlay, key, cluster, cell, is_representative_change=is_representative_change)
    overlay.put_cluster(key, smaller)
    if smaller is None:
        overlay.release_id(cluster)
        former = cluster.representative
        return Departure(
            cluster_id, cluster.epoch, cell.version, former, remaining=None, is_representative_change=False
        )
    return Departure(
        cluster_id=cluster_id,
        epoch=smaller.epoch,
        version=cell.version,
        former=cluster.representative if is_representative_change else former,
        remaining=smaller.state(key),
        is_representative_change=is_representative_change,
    )


def _without(
    overlay: Overlay, key: ClusterKey, cluster: ClusterCell, gone: PageCell, *, is_representative_change: bool
) -> ClusterCell | None:
    rest = msgspec.structs.replace(
        cluster, size=cluster.size - 1, anchor_count=cluster.anchor_count - gone.is_anchor
    )
    smaller = _with_next_representative(overlay, key, rest) if is_representative_change else rest
    return _anchored_anew(overlay, key, smaller) if smaller and not smaller.anchor_count else smaller


def _with_next_representative(overlay: Overlay, key: ClusterKey, cluster: ClusterCell) -> ClusterCell | None:
    """Make the member that was decided first the representative; return None if no member is left.

    A member whose page record Redis lost has no id and URL to be published, and is removed: should its page
    come again, it gets a version above this one.
    """
    while cluster.size:
        member = overlay.first_member(key)
        successor = _cell_of_member(overlay, key, member.handle)
        description = overlay.description(member.handle, successor.version)
        if description is not None:
            return msgspec.structs.replace(
                cluster,
                epoch=cluster.epoch + 1,
                representative_rank=successor.rank,
                representative=_decided_version(member.handle, successor, description),
            )
        overlay.leave(successor.cluster(member.handle), successor.rank, member.handle)
        overlay.put_page(
            member.handle, PageCell(rank=successor.rank, version=successor.version, edges=successor.edges)
        )
        cluster = msgspec.structs.replace(
            cluster, size=cluster.size - 1, anchor_count=cluster.anchor_count - successor.is_anchor
        )
    return None


def _decided_version(handle: Handle, cell: PageCell, described: Description) -> PageVersion:
    """Name the version that was decided; a record that has a later one does not know its fingerprint."""
    is_of_record = cell.is_decided_as(described.version, described.content)
    fingerprint = described.fingerprint if is_of_record else 0
    return PageVersion(handle, cell.version, described.id, described.url, fingerprint)


def _anchored_anew(overlay: Overlay, key: ClusterKey, cluster: ClusterCell) -> ClusterCell:
    """Make the representative an anchor: no cluster is without one."""
    handle = cluster.representative.handle
    cell = _cell_of_member(overlay, key, handle)
    overlay.put_page(handle, msgspec.structs.replace(cell, is_anchor=True))
    return msgspec.structs.replace(cluster, anchor_count=1)


def _cell_of_member(overlay: Overlay, key: ClusterKey, handle: Handle) -> PageCell:
    cell = overlay.page(handle)
    if not cell.is_living or overlay.root(cell.cluster(handle)) != key:
        raise StaleSnapshot(f"page {handle:016x} is not in cluster {key.id}")
    return cell
