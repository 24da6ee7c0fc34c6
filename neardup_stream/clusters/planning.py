"""From requests and a view of the clusters to placements and changes: pure, in order within the batch.

Nothing here waits or writes. A request that cannot be planned for want of something leaves no trace but the
need; a later request sees what the earlier ones of its batch have changed.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from neardup_stream.clusters.cells import NO_PAGE, ClusterCell, ClusterKey, Edge, PageCell
from neardup_stream.clusters.leaving import leave
from neardup_stream.clusters.mirroring import mirrored
from neardup_stream.clusters.overlay import Overlay
from neardup_stream.clusters.placements import ClusterState, Merge, Placement
from neardup_stream.clusters.protocol import KnownVersion
from neardup_stream.clusters.requests import (
    ConfirmRequest,
    ForgetRequest,
    PageVersion,
    PlaceRequest,
    Request,
    UnknownRequest,
)
from neardup_stream.clusters.rules import Rule, Support
from neardup_stream.errors import InvariantBroken
from neardup_stream.match import Match
from neardup_stream.page import Handle

__all__ = ["PENDING_EDGES", "expire", "plan"]

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


class _Standing(NamedTuple):
    """A match and where its page stands."""

    match: Match
    cell: PageCell
    key: ClusterKey


def plan(
    overlay: Overlay, request: Request, rule: Rule, rank: int, pending_edges: int = PENDING_EDGES
) -> Placement | None:
    """What a request brings about; None for one that touches no cluster.

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
    elif cell.version < node.version and not request.is_marked:
        overlay.behind[request.position] = KnownVersion(node.handle, node.version - 1)


def _confirm_unknown(overlay: Overlay, request: UnknownRequest) -> None:
    """Find out whether a page without a record stands in a cluster."""
    overlay.know(request.handles)
    for handle in request.handles:
        cell = overlay.page(handle)
        if cell.is_living:
            overlay.behind[request.position] = _known(handle, cell)


def _known(handle: Handle, cell: PageCell) -> KnownVersion:
    return KnownVersion(handle, cell.version, cell.content if cell.is_living else 0)


def _place(overlay: Overlay, request: PlaceRequest, rule: Rule, rank: int, pending_edges: int) -> Placement:
    """Take the page's earlier version out of its cluster, then put this one where the rule says."""
    node = request.node
    cell = overlay.page(node.handle)
    if cell.is_decided_as(node.version, request.content):
        return _SUPERSEDED._replace(known_rank=cell.rank)
    if cell.version >= node.version:
        overlay.behind[request.position] = _known(node.handle, cell)
        return _SUPERSEDED
    if not request.matches and cell == NO_PAGE:
        return _alone(overlay, request, rank)
    departure = leave(overlay, node)
    standing, dropped = _standing(overlay, request, cell.edges, pending_edges)
    found = _supports(overlay, standing)
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
        key, cluster = _joined_cluster(overlay, found[choice.join][1])
        key, cluster, merges = _absorb(overlay, key, cluster, [found[each][1] for each in choice.absorbed])
        state = _join(overlay, key, cluster, node, own, is_anchor=choice.becomes_anchor)
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
    """Place a new page that matches nothing, as most do: what `_place` comes to, at a fifth of the cost."""
    node = request.node
    cell = PageCell(rank=rank, version=node.version, is_living=True, content=request.content)
    overlay.put_page(node.handle, cell)
    state = ClusterState(ClusterKey(node.handle, node.version).id, 1, 1, node)
    return Placement((), state, False, (), None, False, False)  # noqa: FBT003 - named fields cost as much again


def _forget(overlay: Overlay, request: ForgetRequest, rank: int) -> Placement:
    """Take the page out of its cluster and bury every version up to the stub's own."""
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
    """Take the page out silently and bury this version, unless it represents others.

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


def _standing(
    overlay: Overlay, request: PlaceRequest, edges: Sequence[Edge], pending_edges: int
) -> tuple[list[_Standing], int]:
    """The matches that live and are decided; how many others could not be left with their pages."""
    waiting = [edge.match for edge in edges if edge.version == request.node.version]
    overlay.know(match.handle for match in (*request.matches, *waiting))
    found: dict[Handle, _Standing] = {}
    dropped = 0
    for match in request.matches:
        cell = overlay.page(match.handle)
        if match.handle == request.node.handle or _is_stale(cell, match):
            continue
        if cell.version < match.version:
            if not match.rank or cell.is_living:
                dropped += not _wait(overlay, cell, match, request, pending_edges)
                continue
            # Marked in its record, and gone from here since: it stands alone.
            cell = msgspec.structs.replace(
                cell, rank=match.rank, version=match.version, is_living=True, content=match.content
            )
        found.setdefault(match.handle, _stands(overlay, match, cell))
    for match in waiting:
        cell = overlay.page(match.handle)
        if cell.is_decided_as(match.version, match.content):  # else it has gone, or left here long ago
            found.setdefault(match.handle, _stands(overlay, match, cell))
    return list(found.values()), dropped


def _stands(overlay: Overlay, match: Match, cell: PageCell) -> _Standing:
    key = cell.cluster(match.handle)
    return _Standing(match, cell, overlay.root(key) if cell.is_linked else key)


def _is_stale(cell: PageCell, match: Match) -> bool:
    """Whether the version that was compared has gone, or is not the one that was decided under its number."""
    return cell.version >= match.version and not cell.is_decided_as(match.version, match.content)


def _wait(overlay: Overlay, cell: PageCell, match: Match, request: PlaceRequest, pending_edges: int) -> bool:
    """Leave the match, as the other page will see it, for the other page's own decision.

    Returns:
        False where enough matches wait there: of many copies of one page, any leads to their cluster.
    """
    others = tuple(edge for edge in cell.edges if edge.match.handle != request.node.handle)
    if len(others) >= pending_edges:
        return False
    edges = (*others, Edge(match.version, mirrored(match, request)))
    overlay.put_page(match.handle, msgspec.structs.replace(cell, edges=edges))
    return True


def _supports(overlay: Overlay, standing: Iterable[_Standing]) -> dict[str, tuple[Support, _Standing]]:
    """By cluster id, the cluster decided first in front: how it is matched, and by whom for example."""
    by_cluster: dict[ClusterKey, list[_Standing]] = {}
    for each in standing:
        by_cluster.setdefault(each.key, []).append(each)
    found = [
        (_support(key, _cluster_of(overlay, group[0]), group), group[0]) for key, group in by_cluster.items()
    ]
    found.sort(key=lambda pair: pair[0].representative_rank)
    return {support.cluster_id: (support, example) for support, example in found}


def _support(key: ClusterKey, cluster: ClusterCell | None, group: Sequence[_Standing]) -> Support:
    matches = tuple(each.match for each in group)
    if cluster is None:
        return Support(key.id, 1, group[0].cell.rank, matches, matches, 1, is_representative_matched=True)
    speaker = cluster.representative.handle
    return Support(
        cluster_id=cluster.id(key),
        size=cluster.size,
        representative_rank=cluster.representative_rank,
        matches=matches,
        anchor_matches=tuple(each.match for each in group if each.cell.is_anchor),
        anchor_count=cluster.anchor_count,
        is_representative_matched=any(match.handle == speaker for match in matches),
    )


def _cluster_of(overlay: Overlay, standing: _Standing) -> ClusterCell | None:
    return overlay.cluster(standing.key) if standing.cell.is_linked else None


def _lone_cluster(standing: _Standing) -> ClusterCell:
    match, cell = standing.match, standing.cell
    node = PageVersion(match.handle, match.version, match.id, match.url, match.fingerprint)
    return ClusterCell(cell.rank, 1, 1, changes=0, anchor_count=1, representative=node)


def _joined_cluster(overlay: Overlay, standing: _Standing) -> tuple[ClusterKey, ClusterCell]:
    """The cluster that takes pages in; founded now if its page stood alone."""
    cluster = _cluster_of(overlay, standing)
    if cluster is None:
        cluster = _lone_cluster(standing)
        _relabel(overlay, standing, standing.key)
        overlay.join(standing.key, standing.cell.rank, standing.match.handle)
    return standing.key, cluster


def _relabel(overlay: Overlay, standing: _Standing, key: ClusterKey) -> None:
    """A page that stood alone is from now on a linked member, and an anchor."""
    handle = standing.match.handle
    founder = None if key == ClusterKey(handle, standing.cell.version) else key
    cell = msgspec.structs.replace(standing.cell, is_linked=True, is_anchor=True, founder=founder)
    overlay.put_page(handle, cell)


def _absorb(
    overlay: Overlay, key: ClusterKey, survivor: ClusterCell, absorbed: Sequence[_Standing]
) -> tuple[ClusterKey, ClusterCell, tuple[Merge, ...]]:
    """The one cluster that these become; the larger set of members stays where it is, under the older id."""
    clusters = [_cluster_of(overlay, each) for each in absorbed]
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


def _join(
    overlay: Overlay,
    key: ClusterKey,
    cluster: ClusterCell,
    node: PageVersion,
    own: PageCell,
    *,
    is_anchor: bool,
) -> ClusterState:
    cluster = msgspec.structs.replace(
        cluster, size=cluster.size + 1, anchor_count=cluster.anchor_count + is_anchor
    )
    overlay.grow(key, cluster)
    overlay.put_page(
        node.handle, msgspec.structs.replace(own, is_linked=True, is_anchor=is_anchor, founder=key)
    )
    overlay.join(key, own.rank, node.handle)
    return cluster.state(key)
