"""Cuts batches into portions, each of which one commit of bounded size decides."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from neardup_stream.clusters.requests import PlaceRequest, QuietRequest, Request, UnknownRequest
from neardup_stream.page import Handle

__all__ = ["CELLS_AT_ONCE", "REQUESTS_AT_ONCE", "known_handles", "new_handles", "portions"]

REQUESTS_AT_ONCE: Final = 256
"""Requests that one commit decides: it holds the server for some 2 ms."""

CELLS_AT_ONCE: Final = 1500
"""Cells that one commit expects to be unchanged, except for those of a single request: some 1 ms."""


def portions(
    requests: Sequence[Request], cells_of: Callable[[Request], AbstractSet[Hashable]]
) -> Iterator[list[Request]]:
    """Yield all requests in order, as many at a time as one commit decides; at least one at a time.

    Args:
        requests: to be decided.
        cells_of: what a request reads; cells that several requests read count once.
    """
    portion: list[Request] = []
    cells: set[Hashable] = set()
    for request in requests:
        further = cells_of(request)
        if portion and (
            len(portion) == REQUESTS_AT_ONCE or len(cells) + len(further - cells) > CELLS_AT_ONCE
        ):
            yield portion
            portion, cells = [], set()
        portion.append(request)
        cells |= further
    if portion:
        yield portion


def new_handles(requests: Iterable[Request]) -> set[Handle]:
    """Return the pages that come for the first time."""
    return {
        request.node.handle
        for request in requests
        if isinstance(request, PlaceRequest) and request.node.version == 1
    }


def known_handles(requests: Iterable[Request]) -> set[Handle]:
    """Return the pages that are asked about, and those they match."""
    handles: set[Handle] = set()
    for request in requests:
        if isinstance(request, UnknownRequest):
            handles.update(request.handles)
        elif not isinstance(request, QuietRequest):
            handles.add(request.node.handle)
        if isinstance(request, PlaceRequest):
            handles.update(match.handle for match in request.matches)
    return handles
