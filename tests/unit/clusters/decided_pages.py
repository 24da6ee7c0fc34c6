"""Pages that clusters decide, batch by batch."""

from collections.abc import Mapping

from neardup_stream.clusters.clusters import ClusterConfig, Clusters
from neardup_stream.clusters.placements import ClusterState, Placement
from neardup_stream.clusters.requests import PlaceRequest, Request
from neardup_stream.match import Match
from neardup_stream.message import Partition, Position
from neardup_stream.pipeline.decide import decide_requests
from neardup_stream.stores.memory.clusters import MemoryClusters
from tests.cluster_histories import KNOWING, PARTITION, describe, node

__all__ = ["at", "clusters_of", "decide", "place", "show", "state", "trim"]


def at(offset: int) -> Position:
    return Position(PARTITION, offset)


def place(offset: int, number: int, *matches: Match, version: int = 1) -> PlaceRequest:
    return PlaceRequest(at(offset), node(number, version), matches)


def state(number: int, *, epoch: int = 1, size: int = 1, representative: int | None = None) -> ClusterState:
    """Return the cluster that version 1 of page `number` founded."""
    return ClusterState(
        f"{number:016x}.1", epoch, size, node(number if representative is None else representative)
    )


def clusters_of(store: MemoryClusters, tombstone_ttl_seconds: float = 600.0) -> Clusters:
    return Clusters(store, describe, config=ClusterConfig(tombstone_ttl_seconds))


async def trim(clusters: Clusters, offsets: Mapping[Partition, int]) -> None:
    """Remove rows, and the tombstones that are due."""
    await clusters.trim(offsets)
    await clusters.tidy(KNOWING)


async def decide(clusters: Clusters, *requests: Request) -> list[Placement]:
    """Return the placements of requests that were never decided before."""
    found: dict[Position, Placement] = {}

    def render(request: Request, placement: Placement | None) -> bytes:
        assert placement is not None
        found[request.position] = placement
        return b""

    await decide_requests(clusters, requests, render, (await clusters.already_decided(())).aged_count)
    return [found[request.position] for request in requests]


def show(request: Request, placement: Placement | None) -> bytes:
    return repr((request.position.offset, placement)).encode()
