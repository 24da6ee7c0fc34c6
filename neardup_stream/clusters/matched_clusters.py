"""Find the clusters of a page's matches: which count, which wait, how each cluster is matched. Pure."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from neardup_stream.clusters.cells import ClusterCell, ClusterKey, Edge, PageCell
from neardup_stream.clusters.mirroring import mirrored
from neardup_stream.clusters.overlay import Overlay
from neardup_stream.clusters.requests import (
    PlaceRequest,
)
from neardup_stream.clusters.rules import Support
from neardup_stream.match import Match
from neardup_stream.page import Handle

__all__ = ["MatchedPage", "cluster_of", "matched_clusters", "matched_pages"]


_ROOM_BYTES: Final = 256
"""Of each match that may wait for a page, about; where URLs are longer, fewer wait."""

_LEFT_BYTES: Final = 1 << 18
"""Of the cells in which one page leaves a match beside others: a commit writes them in some 5 ms."""

_EDGE_BYTES: Final = 100


class MatchedPage(NamedTuple):
    """A match, and the cell and cluster of its page."""

    match: Match
    cell: PageCell
    key: ClusterKey


def matched_pages(
    overlay: Overlay, request: PlaceRequest, edges: Sequence[Edge], pending_edges: int
) -> tuple[list[MatchedPage], int]:
    """Return the matches that live and are decided, and how many pending edges could not be stored."""
    waiting = [edge.match for edge in edges if edge.version == request.node.version]
    overlay.know(match.handle for match in (*request.matches, *waiting))
    found: dict[Handle, MatchedPage] = {}
    waiting_room = _WaitingRoom(pending_edges)
    dropped = 0
    for match in request.matches:
        cell = overlay.page(match.handle)
        if match.handle == request.node.handle or _is_stale(cell, match):
            continue
        if cell.version < match.version:
            if not match.rank or cell.is_living:
                dropped += not waiting_room.leave(overlay, cell, match, request)
                continue
            # Its record has a rank, and it is gone from here since: it stands alone.
            cell = msgspec.structs.replace(
                cell, rank=match.rank, version=match.version, is_living=True, content=match.content
            )
        found.setdefault(match.handle, _matched(overlay, match, cell))
    for match in waiting:
        cell = overlay.page(match.handle)
        if cell.is_decided_as(match.version, match.content):  # else it has gone, or left here long ago
            found.setdefault(match.handle, _matched(overlay, match, cell))
    return list(found.values()), dropped


def _matched(overlay: Overlay, match: Match, cell: PageCell) -> MatchedPage:
    key = cell.cluster(match.handle)
    return MatchedPage(match, cell, overlay.root(key) if cell.is_linked else key)


def _is_stale(cell: PageCell, match: Match) -> bool:
    """Return whether the verified version has gone, or another one was decided under its number."""
    return cell.version >= match.version and not cell.is_decided_as(match.version, match.content)


class _WaitingRoom:
    """Leaves matches of one page for pages that are not decided yet, as far as there is room.

    Args:
        pending_edges: most matches that wait for one page.
    """

    def __init__(self, pending_edges: int) -> None:
        self._pending_edges = pending_edges
        self._bytes = _LEFT_BYTES

    def leave(self, overlay: Overlay, cell: PageCell, match: Match, request: PlaceRequest) -> bool:
        """Leave the match, as the other page will see it, for the other page's own decision.

        Returns:
            False where enough matches wait: of many copies of one page, any leads to their cluster.
        """
        others = tuple(edge for edge in cell.edges if edge.match.handle != request.node.handle)
        edge = Edge(match.version, mirrored(match, request))
        if others:
            size_bytes = sum(map(_size_bytes, (*others, edge)))
            room_bytes = min(self._pending_edges * _ROOM_BYTES, self._bytes)
            if len(others) >= self._pending_edges or size_bytes > room_bytes:
                return False
            self._bytes -= size_bytes
        overlay.put_page(match.handle, msgspec.structs.replace(cell, edges=(*others, edge)))
        return True


def _size_bytes(edge: Edge) -> int:
    """Return about how many bytes of its cell an edge takes."""
    return _EDGE_BYTES + len(edge.match.id.encode()) + len(edge.match.url.encode())


def matched_clusters(
    overlay: Overlay, pages: Iterable[MatchedPage]
) -> dict[str, tuple[Support, MatchedPage]]:
    """By cluster id, the cluster decided first in front: how it is matched, and by whom for example."""
    by_cluster: dict[ClusterKey, list[MatchedPage]] = {}
    for each in pages:
        by_cluster.setdefault(each.key, []).append(each)
    found = [
        (_support(key, cluster_of(overlay, group[0]), group), group[0]) for key, group in by_cluster.items()
    ]
    found.sort(key=lambda pair: pair[0].representative_rank)
    return {support.cluster_id: (support, example) for support, example in found}


def _support(key: ClusterKey, cluster: ClusterCell | None, group: Sequence[MatchedPage]) -> Support:
    matches = tuple(each.match for each in group)
    if cluster is None:
        return Support(key.id, 1, group[0].cell.rank, matches, matches, 1, is_representative_matched=True)
    representative = cluster.representative.handle
    return Support(
        cluster_id=cluster.id(key),
        size=cluster.size,
        representative_rank=cluster.representative_rank,
        matches=matches,
        anchor_matches=tuple(each.match for each in group if each.cell.is_anchor),
        anchor_count=cluster.anchor_count,
        is_representative_matched=any(match.handle == representative for match in matches),
    )


def cluster_of(overlay: Overlay, standing: MatchedPage) -> ClusterCell | None:
    """Return the cluster of a matched page; None for one that stands alone."""
    return overlay.cluster(standing.key) if standing.cell.is_linked else None
