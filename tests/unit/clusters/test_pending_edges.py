"""Matches with pages that are not decided yet: they are kept, and used once."""

import pytest
from msgspec.structs import replace

from neardup_stream.clusters.clusters import ClusterConfig, Clusters
from neardup_stream.clusters.portions import COMPARED_BYTES_AT_ONCE
from neardup_stream.clusters.requests import ForgetRequest, PlaceRequest
from neardup_stream.page import PageId
from neardup_stream.pipeline.decide import decide_requests
from neardup_stream.stores.memory.clusters import MemoryClusters
from tests.cluster_histories import PARTITION, describe, match_with, node, walked
from tests.unit.clusters.decided_pages import at, clusters_of, decide, place, show, state, trim

LONG_URL_BYTES = 1 << 15


async def test_a_match_not_decided_yet_finds_the_page_when_it_is() -> None:
    """Two pages in flight at once: whichever is decided second uses what the first one saw."""
    clusters = clusters_of(MemoryClusters())
    (first,) = await decide(clusters, place(1, 1, match_with(2)))

    (second,) = await decide(clusters, place(2, 2))

    assert first.cluster == state(1)
    assert second.cluster == state(1, size=2)
    (evidence,) = second.matches
    assert (evidence.handle, evidence.version) == (1, 1)
    assert (evidence.containment, evidence.contained_in) == (1.0, 0.5)


async def test_evidence_that_waits_is_used_once_and_by_its_version_only() -> None:
    clusters = clusters_of(MemoryClusters())
    await decide(clusters, place(1, 1, match_with(2, version=2)))

    first, second, third = await decide(
        clusters, place(2, 2, version=1), place(3, 2, version=2), place(4, 2, version=3)
    )

    assert [placement.is_duplicate for placement in (first, second, third)] == [False, True, False]


async def test_evidence_of_a_page_that_has_gone_meanwhile_is_dropped() -> None:
    clusters = clusters_of(MemoryClusters())
    await decide(clusters, place(1, 1, match_with(3)), place(2, 2, match_with(3)))
    await decide(clusters, ForgetRequest(at(3), node(1, 2)))

    (placement,) = await decide(clusters, place(4, 3))

    assert [match.handle for match in placement.matches] == [2]


async def test_a_marked_match_counts_although_nothing_is_kept_of_it_here() -> None:
    clusters = clusters_of(MemoryClusters(), tombstone_ttl_seconds=0)
    await decide(clusters, place(1, 1))
    await trim(clusters, {PARTITION: 2})

    (placement,) = await decide(clusters, place(2, 2, match_with(1, rank=1)))

    assert placement.cluster == state(1, size=2)
    assert await walked(clusters) == {state(1).id: (1, (1, 2))}


async def test_of_many_copies_of_an_undecided_page_few_wait_for_it_and_the_others_are_counted() -> None:
    store = MemoryClusters()
    clusters = Clusters(store, describe, config=ClusterConfig(pending_edges=3))
    copies = [place(number, number, match_with(99)) for number in range(1, 6)]

    decided = await decide_requests(clusters, copies, show, 0)
    (last,) = await decide(clusters, place(99, 99))

    assert [each.dropped_edges for each in decided] == [0, 0, 0, 1, 1]
    assert [match.handle for match in last.matches] == [1, 2, 3]


async def test_a_match_that_nothing_waits_for_is_counted_in_whatever_commit_it_is_decided() -> None:
    """Matches that fill a cell each are too many bytes for one commit."""
    clusters = Clusters(MemoryClusters(), describe, config=ClusterConfig(pending_edges=1))
    pages = range(1000, 1000 + 2 * COMPARED_BYTES_AT_ONCE // LONG_URL_BYTES)
    first = place(1, 1, *map(match_with, pages))
    await decide(clusters, with_names(first, url_bytes=LONG_URL_BYTES))

    copies = [place(number, number, *map(match_with, pages[number - 2 :: 4])) for number in range(2, 6)]
    decided = await decide_requests(clusters, copies, show, 0)

    assert sum(each.dropped_edges for each in decided) == len(pages)


def with_names(request: PlaceRequest, *, url_bytes: int = 0, id_bytes: int = 0) -> PlaceRequest:
    """Return the request of a page whose URL and id have as many bytes, or more."""
    node = request.node
    url, page_id = node.url.ljust(url_bytes, "u"), PageId(node.id.ljust(id_bytes, "i"))
    return replace(request, node=node._replace(url=url, id=page_id))


@pytest.mark.parametrize(
    ("long", "waiting"), [({"url_bytes": 200}, 2), ({"id_bytes": 200}, 2), ({"url_bytes": 4000}, 1)]
)
async def test_of_copies_with_long_names_as_many_wait_as_have_room_and_one_at_least(
    long: dict[str, int], waiting: int
) -> None:
    """Room for three usual ones: two of 200 bytes, or one of any size."""
    clusters = Clusters(MemoryClusters(), describe, config=ClusterConfig(pending_edges=3))
    copies = [with_names(place(number, number, match_with(99)), **long) for number in range(1, 5)]

    decided = await decide_requests(clusters, copies, show, 0)
    (last,) = await decide(clusters, place(99, 99))

    assert [match.handle for match in last.matches] == list(range(1, 1 + waiting))
    assert sum(each.dropped_edges for each in decided) == 4 - waiting


async def test_one_page_leaves_matches_beside_others_in_cells_of_so_many_bytes_at_most() -> None:
    """With a match that takes 64 KiB in each cell, three cells have room for another one, of 256 KiB."""
    clusters = Clusters(MemoryClusters(), describe, config=ClusterConfig(pending_edges=1000))
    waiting = list(map(match_with, range(50, 58)))
    await decide(clusters, with_names(place(1, 1, *waiting), url_bytes=1 << 16))

    (placed,) = await decide(clusters, place(2, 2, *waiting))

    assert placed.dropped_edges == len(waiting) - 3


async def test_a_copy_that_waits_already_may_wait_again_when_no_more_may() -> None:
    clusters = Clusters(MemoryClusters(), describe, config=ClusterConfig(pending_edges=1))
    await decide(clusters, place(1, 1, match_with(99)))

    (again,) = await decide(clusters, place(2, 1, match_with(99), version=2))
    (last,) = await decide(clusters, place(3, 99))

    assert again.dropped_edges == 0
    assert [(match.handle, match.version) for match in last.matches] == [(1, 2)]
