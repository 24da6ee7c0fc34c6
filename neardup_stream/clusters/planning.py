"""Plan requests on a snapshot of the clusters: placements and changes. Pure, in order within the batch.

Nothing here waits or writes. A request that cannot be planned for want of something leaves no trace but the
need; a later request sees what the earlier ones of its batch have changed.
"""

from collections.abc import Iterable

import msgspec

from neardup_stream.clusters.cells import NO_PAGE, ClusterKey, Edge, PageCell
from neardup_stream.clusters.leaving import leave
from neardup_stream.clusters.matched_clusters import matched_clusters, matched_pages
from neardup_stream.clusters.merging import absorb, join, joined_cluster
from neardup_stream.clusters.overlay import Overlay
from neardup_stream.clusters.placements import ClusterState, Merge, Placement, lone_cluster_id
from neardup_stream.clusters.protocol import KnownVersion
from neardup_stream.clusters.requests import (
    ConfirmRequest,
    ForgetRequest,
    PageVersion,
    PlaceRequest,
    Request,
    UnknownRequest,
)
from neardup_stream.clusters.rules import Rule
from neardup_stream.page import Handle

__all__ = ["PENDING_EDGES", "expire", "plan", "stands_alone"]

PENDING_EDGES = 64
"""Most matches that wait for a page which is not decided yet, unless a setting says otherwise."""

_SUPERSEDED = Placement(
    matches=(),
    cluster=None,
    is_duplicate=False,
    merges=(),
    departure=None,
    was_linked=False,
    is_superseded=True,
)


def plan(overlay: Overlay, request: Request, rule: Rule, rank: int, pending_edges: int) -> Placement | None:
    """Return the result of a request; None for one that touches no cluster.

    Args:
        overlay: changed.
        request: what is asked.
        rule: chooses among the matched clusters.
        rank: the page's own, perhaps provisional; higher than any other's.
        pending_edges: most matches that wait for one page.
    """
    if isinstance(request, PlaceRequest):
        return _place(overlay, request, rule, rank, pending_edges)
    if isinstance(request, ForgetRequest):
        return _forget(overlay, request, rank)
    if isinstance(request, ConfirmRequest):
        _confirm(overlay, request)
    elif isinstance(request, UnknownRequest):
        _confirm_unknown(overlay, request)
    return None


def _confirm(overlay: Overlay, request: ConfirmRequest) -> None:
    """Find out whether the version of an unchanged page was decided, and is the last one that was."""
    node, cell = request.node, overlay.page(request.node.handle)
    if cell.version > node.version or (
        cell.version == node.version and not cell.is_decided_as(node.version, request.content)
    ):
        overlay.behind[request.position] = _known(node.handle, cell)
    elif cell.version < node.version and not request.is_ranked:
        overlay.behind[request.position] = KnownVersion(node.handle, node.version - 1)


def _confirm_unknown(overlay: Overlay, request: UnknownRequest) -> None:
    """Find out whether a page without a record is in a cluster."""
    overlay.know(request.handles)
    for handle in request.handles:
        cell = overlay.page(handle)
        if cell.is_living:
            overlay.behind[request.position] = _known(handle, cell)


def _known(handle: Handle, cell: PageCell) -> KnownVersion:
    return KnownVersion(handle, cell.version, cell.content)


def _place(overlay: Overlay, request: PlaceRequest, rule: Rule, rank: int, pending_edges: int) -> Placement:
    """Take the page's earlier version out of its cluster, then put this one where the rule says."""
    node = request.node
    cell = overlay.page(node.handle)
    if cell.is_decided_as(node.version, request.content):
        return msgspec.structs.replace(_SUPERSEDED, known_rank=cell.rank)
    if cell.version >= node.version:
        overlay.behind[request.position] = _known(node.handle, cell)
        return _SUPERSEDED
    if not request.matches and cell == NO_PAGE:
        return _alone(overlay, request, rank)
    departure = leave(overlay, node)
    standing, dropped = matched_pages(overlay, request, cell.edges, pending_edges)
    found = matched_clusters(overlay, standing)
    choice = rule([support for support, _ in found.values()])
    own = PageCell(
        rank=rank,
        version=node.version,
        is_living=True,
        is_linked=cell.is_linked,
        edges=_edges_above(cell.edges, node.version),
        content=request.content,
    )
    merges: tuple[Merge, ...] = ()
    if choice.join is None:
        state = ClusterState(ClusterKey(node.handle, node.version).id, 1, 1, node)
        overlay.put_page(node.handle, own)
    else:
        key, cluster = joined_cluster(overlay, found[choice.join][1])
        key, cluster, merges = absorb(overlay, key, cluster, [found[each][1] for each in choice.absorbed])
        state = join(overlay, key, cluster, node, own, is_anchor=choice.becomes_anchor)
    return Placement(
        matches=tuple(each.match for each in standing),
        cluster=state,
        is_duplicate=state.representative.handle != node.handle,
        merges=merges,
        departure=departure,
        was_linked=cell.is_linked,
        is_superseded=False,
        dropped_edges=dropped,
    )


def _alone(overlay: Overlay, request: PlaceRequest, rank: int) -> Placement:
    """Place a new page that matches nothing, as most do: the result of `_place`, at a fifth of the cost."""
    node = request.node
    cell = PageCell(rank=rank, version=node.version, is_living=True, content=request.content)
    overlay.put_page(node.handle, cell)
    return stands_alone(node)


def stands_alone(node: PageVersion) -> Placement:
    """Return the placement of a page that the clusters do not know, and that matches nothing."""
    state = ClusterState(lone_cluster_id(node.handle, node.version), 1, 1, node)
    return Placement((), state, False, (), None, False, False)  # noqa: FBT003 - named fields cost as much again


def _forget(overlay: Overlay, request: ForgetRequest, rank: int) -> Placement:
    """Remove the page from its cluster; write a tombstone for every version up to the stub's own."""
    node = request.node
    cell = overlay.page(node.handle)
    if cell.version >= node.version:
        overlay.behind[request.position] = _known(node.handle, cell)
        return _SUPERSEDED
    departure = leave(overlay, node)
    overlay.put_page(node.handle, _gone(cell, rank, node.version))
    return Placement(
        matches=(),
        cluster=None,
        is_duplicate=False,
        merges=(),
        departure=departure,
        was_linked=cell.is_linked,
        is_superseded=False,
    )


def expire(overlay: Overlay, node: PageVersion, rank: int) -> bool:
    """Remove the page without events and write a tombstone for this version, unless it represents others.

    Args:
        overlay: changed.
        node: the version that expires.
        rank: of the tombstone, perhaps provisional: no tombstone is taken for another one.
    """
    cell = overlay.page(node.handle)
    if cell.version > node.version or (cell.version == node.version and not cell.is_living):
        return True
    if cell.is_living and cell.is_linked:
        cluster = overlay.cluster(overlay.root(cell.cluster(node.handle)))
        if cluster is not None and cluster.size > 1 and cluster.representative.handle == node.handle:
            return False
    leave(overlay, node)
    overlay.put_page(node.handle, _gone(cell, rank, node.version))
    return True


def _gone(cell: PageCell, rank: int, version: int) -> PageCell:
    return PageCell(rank=rank, version=version, edges=_edges_above(cell.edges, version))


def _edges_above(edges: Iterable[Edge], version: int) -> tuple[Edge, ...]:
    return tuple(edge for edge in edges if edge.version > version)
