from collections.abc import Sequence

import pytest

from neardup_stream.clusters.clusters import ClusterConfig, Clusters
from neardup_stream.clusters.placements import ClusterState, Merge, Placement
from neardup_stream.clusters.requests import ForgetRequest
from neardup_stream.clusters.rules import Choice, Support, anchored
from neardup_stream.clusters.snapshot import DescribedPage, Description
from neardup_stream.errors import ConfigError, InvariantBroken
from neardup_stream.page import Handle
from neardup_stream.pipeline.decide import decide_requests
from neardup_stream.stores.memory.clusters import MemoryClusters
from tests.cluster_histories import History, Op, match_with, node, walked
from tests.unit.clusters.decided_pages import at, clusters_of, decide, place, show, state


async def test_a_page_learns_of_its_match_when_only_the_later_page_of_its_batch_found_it_and_is_decided() -> (
    None
):
    clusters = clusters_of(MemoryClusters())
    await decide(clusters, place(1, 1))

    aged_count = (await clusters.already_decided(())).aged_count
    _, decided = await decide_requests(clusters, [place(0, 2), place(1, 1, match_with(2))], show, aged_count)
    standing = await clusters.standing([Handle(1), Handle(2)])

    assert decided.rank == 1
    assert standing == dict.fromkeys([Handle(1), Handle(2)], state(1, size=2))


async def test_a_page_learns_of_its_match_when_another_position_has_decided_the_later_page_of_its_batch() -> (
    None
):
    clusters = clusters_of(MemoryClusters())
    await decide(clusters, place(7, 1, version=2))

    joined, known = await decide(clusters, place(0, 2), place(1, 1, match_with(2), version=2))

    assert joined.cluster == ClusterState(f"{1:016x}.2", 1, 2, node(1, 2))
    assert (known.is_superseded, known.known_rank) == (True, 1)


async def test_a_page_that_matches_nothing_stands_alone() -> None:
    history = History(MemoryClusters())

    (placement,) = await history.run([Op(1, 10)])

    assert placement == Placement(
        matches=(),
        cluster=state(1),
        is_duplicate=False,
        merges=(),
        departure=None,
        was_linked=False,
        is_superseded=False,
    )


async def test_a_page_that_matches_a_lone_one_makes_a_cluster_under_that_ones_id() -> None:
    history = History(MemoryClusters())
    await history.run([Op(1, 10)])

    (placement,) = await history.run([Op(2, 10)])

    assert placement.cluster == state(1, size=2)
    assert placement.is_duplicate
    assert not placement.merges


async def test_a_page_between_two_clusters_merges_them_and_the_one_decided_first_survives() -> None:
    history = History(MemoryClusters())
    await history.run([Op(1, 10), Op(2, 10), Op(3, 12), Op(4, 12), Op(5, 12)])

    (placement,) = await history.run([Op(6, 11)])

    assert placement.merges == (Merge(state(1, epoch=2, size=5), state(3, size=3)),)
    assert placement.cluster == state(1, epoch=2, size=6)
    assert await walked(history.clusters) == {state(1).id: (1, (1, 2, 3, 4, 5, 6))}


async def test_each_absorbed_cluster_is_one_merge() -> None:
    everything = History(MemoryClusters(), matching=lambda a, b: 0 in {a, b})
    await everything.run([Op(number, number) for number in (1, 2, 3)])

    (placement,) = await everything.run([Op(9, 0)])

    assert placement.merges == (
        Merge(state(1, epoch=2, size=2), state(2)),
        Merge(state(1, epoch=3, size=3), state(3)),
    )
    assert placement.cluster == state(1, epoch=3, size=4)


@pytest.mark.parametrize("content", [99, None], ids=["changed", "forgotten"])
async def test_when_the_representative_leaves_the_next_one_is_the_representative(content: int | None) -> None:
    history = History(MemoryClusters())
    await history.run([Op(1, 10), Op(2, 10), Op(3, 10)])

    (placement,) = await history.run([Op(1, content)])

    departure = placement.departure
    assert departure is not None
    assert departure.is_representative_change
    assert departure.former == node(1)
    assert departure.remaining == state(1, epoch=2, size=2, representative=2)
    assert (departure.version, departure.epoch) == (1, 2)


async def test_when_another_member_leaves_no_member_takes_over() -> None:
    history = History(MemoryClusters())
    await history.run([Op(1, 10), Op(2, 10), Op(3, 10)])

    (placement,) = await history.run([Op(2, None)])

    assert placement.departure is not None
    assert not placement.departure.is_representative_change
    assert placement.departure.former == node(2)
    assert placement.departure.remaining == state(1, size=2)


async def test_the_page_left_alone_keeps_the_cluster_that_subscribers_know() -> None:
    history = History(MemoryClusters())
    await history.run([Op(1, 10), Op(2, 10)])
    await history.run([Op(1, None)])
    assert await walked(history.clusters) == {}

    (placement,) = await history.run([Op(3, 10)])

    assert placement.cluster == state(1, epoch=2, size=2, representative=2)


async def test_a_cluster_ends_with_its_last_member() -> None:
    store = MemoryClusters()
    history = History(store)
    await history.run([Op(1, 10), Op(2, 10)])
    await history.run([Op(1, None)])

    (placement,) = await history.run([Op(2, 99)])

    assert placement.departure is not None
    assert placement.departure.remaining is None
    assert placement.cluster is not None
    assert placement.cluster.id == "0000000000000002.2"
    assert (await store.walk(0)).cells == []


async def test_a_page_that_was_once_linked_stays_so_through_every_change() -> None:
    history = History(MemoryClusters())
    await history.run([Op(1, 10), Op(2, 10)])

    were_linked = [(await history.run([Op(2, content)]))[0].was_linked for content in (20, 30, 40)]

    assert were_linked == [True, True, True]


async def test_a_changed_page_that_matches_its_old_cluster_joins_it_anew_as_the_last() -> None:
    history = History(MemoryClusters())
    await history.run([Op(1, 10), Op(2, 10), Op(3, 10)])

    (placement,) = await history.run([Op(1, 11)])

    assert placement.departure is not None
    assert placement.departure.is_representative_change
    assert placement.is_duplicate
    assert await walked(history.clusters) == {state(1).id: (2, (2, 3, 1))}


async def test_several_representatives_may_leave_in_one_batch() -> None:
    history = History(MemoryClusters())
    await history.run([Op(number, 10) for number in range(1, 7)])

    placements = await history.run([Op(number, None) for number in (1, 3, 2)])

    representatives = [
        placement.departure.remaining.representative.handle
        for placement in placements
        if placement.departure is not None and placement.departure.remaining is not None
    ]
    assert representatives == [2, 2, 4]


async def test_where_a_page_stands_can_be_asked() -> None:
    history = History(MemoryClusters())
    await history.run([Op(1, 10), Op(2, 20), Op(3, 21), Op(4, 30), Op(5, 31)])
    await history.run([Op(5, None), Op(6, 22), Op(7, 11), Op(8, 10)])

    standing = await history.clusters.standing([Handle(number) for number in range(1, 10)])

    first, second = state(1, size=3), state(2, size=3)
    assert standing == {1: first, 2: second, 3: second, 4: state(4), 6: second, 7: first, 8: first}


async def test_a_page_that_was_linked_and_stands_alone_again_is_left_out() -> None:
    history = History(MemoryClusters())
    await history.run([Op(1, 10), Op(2, 11)])
    await history.run([Op(2, 20)])

    assert await history.clusters.standing([Handle(1), Handle(2)]) == {1: state(1)}


async def test_with_anchored_a_page_that_matches_no_anchor_stands_alone() -> None:
    history = History(MemoryClusters(), anchored)
    await history.run([Op(1, 10), Op(2, 11)])

    (placement,) = await history.run([Op(3, 12)])

    assert [match.handle for match in placement.matches] == [2]
    assert not placement.is_duplicate


async def test_with_anchored_the_representative_is_the_anchor_once_the_anchor_has_left() -> None:
    history = History(MemoryClusters(), anchored)
    await history.run([Op(1, 10), Op(2, 11), Op(3, 10)])
    await history.run([Op(1, None)])

    (placement,) = await history.run([Op(4, 12)])

    assert placement.cluster == state(1, epoch=2, size=3, representative=2)


async def test_a_rule_may_make_further_anchors_and_sees_how_many_are_matched() -> None:
    seen: list[Support] = []

    def every_page_is_an_anchor(supports: Sequence[Support]) -> Choice:
        seen.extend(supports)
        return Choice(supports[0].cluster_id, becomes_anchor=True) if supports else Choice(None)

    history = History(MemoryClusters(), every_page_is_an_anchor)
    for number, content in enumerate([10, 11, 12, 12]):
        await history.run([Op(number, content)])

    counts = [(each.size, len(each.matches), len(each.anchor_matches), each.anchor_count) for each in seen]
    assert counts == [(1, 1, 1, 1), (2, 1, 1, 2), (3, 2, 2, 3)]
    assert [each.is_representative_matched for each in seen] == [True, False, False]


async def test_a_rule_must_let_the_older_cluster_survive() -> None:
    def youngest_first(supports: Sequence[Support]) -> Choice:
        ids = [support.cluster_id for support in reversed(supports)]
        return Choice(ids[0], tuple(ids[1:])) if ids else Choice(None)

    history = History(MemoryClusters(), youngest_first)
    await history.run([Op(1, 10), Op(2, 12)])

    with pytest.raises(InvariantBroken, match="whose representative is older"):
        await history.run([Op(3, 11)])


async def test_a_cluster_ends_where_no_member_that_is_left_has_a_page_record() -> None:
    async def describe_none(_pages: Sequence[DescribedPage]) -> dict[DescribedPage, Description]:
        return {}

    store = MemoryClusters()
    await History(store).run([Op(1, 10), Op(2, 10)])

    clusters = Clusters(store, describe_none)
    (placement,) = await decide(clusters, ForgetRequest(at(9), node(1, 2)))

    assert placement.departure is not None
    assert (placement.departure.remaining, placement.departure.is_representative_change) == (None, False)
    assert [cluster async for cluster in clusters.walk()] == []


@pytest.mark.parametrize("limits", [(-0.1, 1), (0, 0)], ids=["negative-time", "no-edges"])
def test_limits_that_cannot_work_are_refused(limits: tuple[float, int]) -> None:
    ClusterConfig(tombstone_ttl_seconds=0, pending_edges=1)
    with pytest.raises(ConfigError, match=r"clusters\.tombstone_ttl_seconds"):
        ClusterConfig(*limits)
