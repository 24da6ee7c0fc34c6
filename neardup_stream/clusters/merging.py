"""Let a page join a cluster, and merge clusters: which members move, which representative stays. Pure."""

from collections.abc import Sequence

import msgspec

from neardup_stream.clusters.cells import ClusterCell, ClusterKey, PageCell
from neardup_stream.clusters.matched_clusters import MatchedPage, cluster_of
from neardup_stream.clusters.overlay import Overlay
from neardup_stream.clusters.placements import ClusterState, Merge
from neardup_stream.clusters.requests import (
    PageVersion,
)
from neardup_stream.errors import InvariantBroken

__all__ = ["absorb", "join", "joined_cluster"]


def _lone_cluster(standing: MatchedPage) -> ClusterCell:
    match, cell = standing.match, standing.cell
    node = PageVersion(match.handle, match.version, match.id, match.url, match.fingerprint)
    return ClusterCell(cell.rank, 1, 1, changes=0, anchor_count=1, representative=node)


def joined_cluster(overlay: Overlay, standing: MatchedPage) -> tuple[ClusterKey, ClusterCell]:
    """Return the cluster that takes pages in; create it if its page stood alone."""
    cluster = cluster_of(overlay, standing)
    if cluster is None:
        cluster = _lone_cluster(standing)
        _relabel(overlay, standing, standing.key)
        overlay.join(standing.key, standing.cell.rank, standing.match.handle)
    return standing.key, cluster


def _relabel(overlay: Overlay, standing: MatchedPage, key: ClusterKey) -> None:
    """Mark a page that stood alone as a linked member, and an anchor."""
    handle = standing.match.handle
    founder = None if key == ClusterKey(handle, standing.cell.version) else key
    cell = msgspec.structs.replace(standing.cell, is_linked=True, is_anchor=True, founder=founder)
    overlay.put_page(handle, cell)


def absorb(
    overlay: Overlay, key: ClusterKey, survivor: ClusterCell, absorbed: Sequence[MatchedPage]
) -> tuple[ClusterKey, ClusterCell, tuple[Merge, ...]]:
    """Merge clusters into one; the larger set of members stays where it is, under the older id."""
    clusters = [cluster_of(overlay, each) for each in absorbed]
    merges = []
    for each, cluster in zip(absorbed, clusters, strict=True):
        gone = cluster or _lone_cluster(each)
        if gone.representative_rank < survivor.representative_rank:
            raise InvariantBroken(
                f"the rule lets cluster {survivor.id(key)} absorb {gone.id(each.key)},"
                " whose representative is older"
            )
        founder, former = survivor.founder or key, survivor
        survivor = msgspec.structs.replace(
            survivor,
            epoch=max(survivor.epoch, gone.epoch) + 1,
            size=survivor.size + gone.size,
            anchor_count=survivor.anchor_count + gone.anchor_count,
        )
        merges.append(Merge(survivor.state(key), gone.state(each.key)))
        overlay.release_id(gone)
        if cluster is None:
            _relabel(overlay, each, key)
            overlay.join(key, each.cell.rank, each.match.handle)
        elif gone.size <= former.size:
            overlay.absorb(each.key, key, gone.representative_rank)
        else:
            overlay.absorb(key, each.key, former.representative_rank)
            key = each.key
            survivor = msgspec.structs.replace(survivor, founder=founder)
    return key, survivor, tuple(merges)


def join(
    overlay: Overlay,
    key: ClusterKey,
    cluster: ClusterCell,
    node: PageVersion,
    own: PageCell,
    *,
    is_anchor: bool,
) -> ClusterState:
    """Add a page to a cluster, and return the cluster as it is now."""
    cluster = msgspec.structs.replace(
        cluster, size=cluster.size + 1, anchor_count=cluster.anchor_count + is_anchor
    )
    overlay.grow(key, cluster)
    overlay.put_page(
        node.handle, msgspec.structs.replace(own, is_linked=True, is_anchor=is_anchor, founder=key)
    )
    overlay.join(key, own.rank, node.handle)
    return cluster.state(key)
