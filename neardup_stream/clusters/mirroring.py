"""Mirror matches within a batch: a match as its other page has it.

Of two pages in one batch that match, the later one alone has found the other. That is enough while both are
decided together; but the later one may have been decided already, by another daemon that had it in another
batch, or had the same version at another position. Then the earlier one would miss the match.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import msgspec

from neardup_stream.clusters.cells import PageCell
from neardup_stream.clusters.placements import AlreadyDecided
from neardup_stream.clusters.requests import PlaceRequest, Request
from neardup_stream.match import Match
from neardup_stream.page import Handle

__all__ = ["mirrored", "mirrored_pages", "still_to_decide"]


def mirrored(match: Match, request: PlaceRequest, rank: int = 0) -> Match:
    """Return the match as the matched page has it, with the page that `request` places as the other one.

    Args:
        match: that the placed page found.
        request: places it.
        rank: when it was decided; 0 while it was not.
    """
    node = request.node
    return msgspec.structs.replace(
        match,
        handle=node.handle,
        id=node.id,
        url=node.url,
        version=node.version,
        fingerprint=node.fingerprint,
        rank=rank,
        containment=match.contained_in,
        contained_in=match.containment,
        content=request.content,
    )


def still_to_decide(
    requests: Sequence[Request], already_decided: AlreadyDecided, pages: Mapping[Handle, PageCell]
) -> list[Request]:
    """Return the undecided requests, each with the matches that only a page decided before has found.

    Args:
        requests: of one batch.
        already_decided: what was decided at their positions.
        pages: what the clusters know of their pages.
    """
    found: defaultdict[tuple[int, int], list[Match]] = defaultdict(list)
    for request in requests:
        if not isinstance(request, PlaceRequest) or not request.matches:
            continue
        rank = _known_rank(request, already_decided, pages[request.node.handle])
        if rank is not None:
            for match in request.matches:
                found[match.handle, match.version].append(mirrored(match, request, rank))
    todo = [request for request in requests if not already_decided.knows(request.position)]
    if not found:
        return todo
    return [
        _with_matches(request, found.get((request.node.handle, request.node.version), ()))
        if isinstance(request, PlaceRequest)
        else request
        for request in todo
    ]


def mirrored_pages(planned: Sequence[Request], later: Sequence[Request]) -> set[Handle]:
    """Return the pages of later requests that match planned ones: `still_to_decide` rests on their cells."""
    own = {request.node.handle for request in planned if isinstance(request, PlaceRequest)}
    return {
        request.node.handle
        for request in later
        if isinstance(request, PlaceRequest) and any(match.handle in own for match in request.matches)
    }


def _known_rank(request: PlaceRequest, already_decided: AlreadyDecided, cell: PageCell) -> int | None:
    """Return the rank of the version; 0 where that is forgotten, None where it was not decided."""
    if already_decided.knows(request.position):
        found = already_decided.outcomes.get(request.position)
        return found.rank if found else 0
    is_decided = cell.is_decided_as(request.node.version, request.content)
    return cell.rank if is_decided else None


def _with_matches(request: PlaceRequest, more: Sequence[Match]) -> PlaceRequest:
    own = {match.handle for match in request.matches}
    added = tuple(match for match in more if match.handle not in own)
    return msgspec.structs.replace(request, matches=(*request.matches, *added)) if added else request
