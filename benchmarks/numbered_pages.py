"""Pages that are numbers and whose matches are given, so that nothing but the clusters works; and daemons."""

import asyncio
import multiprocessing
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from neardup_stream.clusters.clusters import Clusters
from neardup_stream.clusters.placements import Placement
from neardup_stream.clusters.requests import PageVersion, PlaceRequest, Request
from neardup_stream.clusters.snapshot import DescribedPage, Description
from neardup_stream.match import Match
from neardup_stream.message import Partition, Position
from neardup_stream.page import Handle, PageId
from neardup_stream.pipeline.decide import decide_requests
from neardup_stream.pipeline.in_flight import InFlightLimits

__all__ = ["BATCH_PAGES", "HOT", "decide", "describe", "place", "results_of_daemons", "spread"]

BATCH_PAGES = InFlightLimits().max_batch_pages

HOT = 1
"""Number of the page that founds the cluster."""

ROW = bytes(300)

Result = TypeVar("Result")


async def describe(pages: Sequence[DescribedPage]) -> dict[DescribedPage, Description]:
    """Return the id and URL of every page."""
    named = {page: _node(page[0]) for page in pages}
    return {page: Description(found.id, found.url) for page, found in named.items()}


def spread(number: int) -> Handle:
    """Return a handle for a number, as evenly spread as hashes are."""
    return Handle(number * 0x9E3779B97F4A7C15 % 2**64)


def _node(handle: Handle) -> PageVersion:
    """Return the first version of a page."""
    return PageVersion(handle, 1, PageId(f"https://example.com/{handle}"), f"https://example.com/{handle}")


def place(partition: Partition, offset: int, number: int, *matched: int, rank: int = 1) -> PlaceRequest:
    """Decide a page that matches some others."""
    own = _node(spread(number))
    matches = tuple(
        Match(each.handle, each.id, each.url, 1, 0, "exact", rank=rank)
        for each in map(_node, map(spread, matched))
    )
    return PlaceRequest(Position(partition, offset), own, matches)


async def decide(clusters: Clusters, requests: Sequence[Request]) -> None:
    """Decide a batch of one partition, with decision records of a usual size."""
    aged_count = (await clusters.already_decided([requests[0].position])).aged_count
    await decide_requests(clusters, requests, _render, aged_count)


def _render(_request: Request, _placement: Placement | None) -> bytes:
    return ROW


async def results_of_daemons(
    count: int, work: Callable[..., Coroutine[Any, Any, Result]], *arguments: object
) -> list[Result]:
    """Run so many processes at once, and return what each one's work comes to.

    Args:
        count: of the processes.
        work: called with the number of the process, from 0, the arguments, and a barrier for all processes.
        arguments: for each.
    """
    context = multiprocessing.get_context("spawn")
    barrier, done = context.Barrier(count), context.Queue()
    processes = [
        context.Process(target=_run, args=(done, work, number, *arguments, barrier))
        for number in range(count)
    ]
    for process in processes:
        process.start()
    results = [await asyncio.to_thread(done.get) for _ in processes]
    for process in processes:
        await asyncio.to_thread(process.join)
    return results


def _run(done: Any, work: Callable[..., Coroutine[Any, Any, object]], *arguments: object) -> None:
    done.put(asyncio.run(work(*arguments)))
