"""Cuts batches into portions, each of which one commit of bounded size decides."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, TypeGuard

from neardup_stream.clusters.requests import LoneRequest, PlaceRequest, QuietRequest, Request, UnknownRequest
from neardup_stream.page import Handle

__all__ = [
    "CELLS_AT_ONCE",
    "CHANGED_BYTES_AT_ONCE",
    "COMPARED_BYTES_AT_ONCE",
    "REQUESTS_AT_ONCE",
    "ROW_BYTES_AT_ONCE",
    "fitting_counts",
    "known_handles",
    "lone_handles",
    "new_handles",
    "portions",
    "with_lone",
    "without_matched",
]

REQUESTS_AT_ONCE: Final = 256
"""Requests that one commit decides: it holds the server for some 2 ms."""

CELLS_AT_ONCE: Final = 1500
"""Cells that one commit expects to be unchanged, except for those of a single request: some 1 ms."""

ROW_BYTES_AT_ONCE: Final = 1 << 19
"""Bytes of decision records that one commit stores, except for a single larger one: some 5 ms."""


CHANGED_BYTES_AT_ONCE: Final = 1 << 19
"""Bytes of the cells that one commit writes, before and after, except for a single request."""


COMPARED_BYTES_AT_ONCE: Final = 1 << 21
"""Bytes of the large cells of which one commit compares the heads, except for a single request: some 5 ms."""


def portions(
    requests: Sequence[Request], cells_of: Callable[[Iterable[Request]], AbstractSet[Hashable]]
) -> Iterator[list[Request]]:
    """Yield all requests in order, as many at a time as one commit decides; at least one at a time.

    Args:
        requests: to be decided.
        cells_of: what some requests read; cells that several requests read count once.
    """
    if requests and len(requests) <= REQUESTS_AT_ONCE and len(cells_of(requests)) <= CELLS_AT_ONCE:
        yield list(requests)
        return
    portion: list[Request] = []
    cells: set[Hashable] = set()
    for request in requests:
        further = cells_of([request])
        if portion and (
            len(portion) == REQUESTS_AT_ONCE or len(cells) + len(further - cells) > CELLS_AT_ONCE
        ):
            yield portion
            portion, cells = [], set()
        portion.append(request)
        cells |= further
    if portion:
        yield portion


def fitting_counts(records: Sequence[bytes]) -> list[int]:
    """Return how many decision records each of successive commits stores: what fits, and at least one."""
    if records and sum(map(len, records)) <= ROW_BYTES_AT_ONCE:
        return [len(records)]
    counts: list[int] = []
    size_bytes = 0
    for record in records:
        size_bytes += len(record)
        if size_bytes > ROW_BYTES_AT_ONCE or not counts:
            counts.append(0)
            size_bytes = len(record)
        counts[-1] += 1
    return counts


def with_lone(requests: Iterable[Request], records: Iterable[bytes]) -> list[bytes]:
    """Return the decision record of each request: lone pages have theirs, those of the others are given."""
    made = iter(records)
    return [request.record if isinstance(request, LoneRequest) else next(made) for request in requests]


def new_handles(requests: Iterable[Request]) -> set[Handle]:
    """Return the pages that come for the first time."""
    return {
        request.node.handle
        for request in requests
        if isinstance(request, PlaceRequest) and request.node.version == 1
    }


def without_matched(requests: Sequence[Request]) -> Sequence[Request]:
    """Return the requests, with a place asked for each lone page that another one of these pages matches."""
    known = known_handles(request for request in requests if not isinstance(request, LoneRequest))
    return [
        request.placed() if isinstance(request, LoneRequest) and request.handle in known else request
        for request in requests
    ]


def lone_handles(requests: Sequence[Request]) -> set[Handle]:
    """Return the other pages that come first here, match nothing, and are matched by no page of these."""
    lone: set[Handle] = set()
    others: list[Request] = []
    for request in requests:
        if _is_lone(request):
            lone.add(request.node.handle)
        elif not isinstance(request, LoneRequest):
            others.append(request)
    return lone - known_handles(others) if others else lone


def _is_lone(request: Request) -> TypeGuard[PlaceRequest]:
    return (
        isinstance(request, PlaceRequest)
        and request.node.version == 1
        and not request.matches
        and not request.claimed_from
    )


def known_handles(requests: Iterable[Request]) -> set[Handle]:
    """Return the pages that are asked about, and those they match."""
    handles: set[Handle] = set()
    for request in requests:
        if isinstance(request, LoneRequest):
            handles.add(request.handle)
        elif isinstance(request, UnknownRequest):
            handles.update(request.handles)
        elif not isinstance(request, QuietRequest):
            handles.add(request.node.handle)
        if isinstance(request, PlaceRequest):
            handles.update(match.handle for match in request.matches)
    return handles
