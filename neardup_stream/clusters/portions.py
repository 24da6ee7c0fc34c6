"""Cuts batches into portions, each of which one commit of bounded size decides."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from neardup_stream.clusters.requests import PlaceRequest, QuietRequest, Request, UnknownRequest
from neardup_stream.page import Handle

__all__ = ["CELLS_AT_ONCE", "REQUESTS_AT_ONCE", "known_handles", "new_handles", "portions"]

REQUESTS_AT_ONCE: Final = 256
"""Requests that one commit decides: it holds the server for some 2 ms."""

CELLS_AT_ONCE: Final = 1500
"""Page cells that one commit expects to be unmoved, but for those of a single request: some 1 ms."""


def portions(requests: Sequence[Request]) -> Iterator[list[Request]]:
    """All requests in order, so many at a time that they name few pages; at least one at a time."""
    portion: list[Request] = []
    handles: set[Handle] = set()
    for request in requests:
        further = known_handles([request])
        if portion and (
            len(portion) == REQUESTS_AT_ONCE or len(handles) + len(further - handles) > CELLS_AT_ONCE
        ):
            yield portion
            portion, handles = [], set()
        portion.append(request)
        handles |= further
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
