from collections.abc import Mapping, Sequence

import pytest

from neardup_stream.clusters.clusters import ClusterConfig, Clusters
from neardup_stream.clusters.optimistic_retry import ATTEMPTS
from neardup_stream.clusters.placements import ClusterState, Decided, Merge, Placement
from neardup_stream.clusters.protocol import KnownVersion, RecordsBehind, StaleRead
from neardup_stream.clusters.requests import ForgetRequest, PlaceRequest, QuietRequest, Request
from neardup_stream.clusters.rules import Choice, Support, anchored
from neardup_stream.clusters.snapshot import Description, page_cells
from neardup_stream.errors import ConfigError, InvariantBroken, StoreUnavailable
from neardup_stream.match import Match
from neardup_stream.message import Partition, Position
from neardup_stream.page import Handle
from neardup_stream.pipeline.decide import decide_requests
from neardup_stream.stores.cluster_store import Aged, Cell, Member, MemberRange, Transaction
from neardup_stream.stores.memory.clusters import MemoryClusters
from tests.cluster_histories import KNOWING, PARTITION, History, Op, describe, match_with, node, walked


def at(offset: int) -> Position:
    return Position(PARTITION, offset)


def place(offset: int, number: int, *matches: Match, version: int = 1) -> PlaceRequest:
    return PlaceRequest(at(offset), node(number, version), matches)


def state(number: int, *, epoch: int = 1, size: int = 1, speaker: int | None = None) -> ClusterState:
    """The cluster that version 1 of page `number` founded."""
    return ClusterState(f"{number:016x}.1", epoch, size, node(number if speaker is None else speaker))


def clusters_of(store: MemoryClusters, tombstone_ttl_seconds: float = 600.0) -> Clusters:
    return Clusters(store, describe, config=ClusterConfig(tombstone_ttl_seconds))


async def trim(clusters: Clusters, offsets: Mapping[Partition, int]) -> None:
    """Remove rows, and the tombstones that are due."""
    await clusters.trim(offsets)
    await clusters.tidy(KNOWING)


async def decide(clusters: Clusters, *requests: Request) -> list[Placement]:
    """The placements of requests that were never decided before."""
    found: dict[Position, Placement] = {}

    def render(request: Request, placement: Placement | None) -> bytes:
        assert placement is not None
        found[request.position] = placement
        return b""

    await decide_requests(clusters, requests, render, (await clusters.settled(())).aged_count)
    return [found[request.position] for request in requests]


def show(request: Request, placement: Placement | None) -> bytes:
    return repr((request.position.offset, placement)).encode()


async def test_a_page_learns_of_its_match_when_only_the_later_page_of_its_batch_found_it_and_is_decided() -> (
    None
):
    clusters = clusters_of(MemoryClusters())
    await decide(clusters, place(1, 1))

    aged_count = (await clusters.settled(())).aged_count
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
    assert departure.is_handover
    assert departure.former == node(1)
    assert departure.remaining == state(1, epoch=2, size=2, speaker=2)
    assert (departure.version, departure.epoch) == (1, 2)


async def test_when_another_member_leaves_no_member_takes_over() -> None:
    history = History(MemoryClusters())
    await history.run([Op(1, 10), Op(2, 10), Op(3, 10)])

    (placement,) = await history.run([Op(2, None)])

    assert placement.departure is not None
    assert not placement.departure.is_handover
    assert placement.departure.former == node(2)
    assert placement.departure.remaining == state(1, size=2)


async def test_the_page_left_alone_keeps_the_cluster_that_subscribers_know() -> None:
    history = History(MemoryClusters())
    await history.run([Op(1, 10), Op(2, 10)])
    await history.run([Op(1, None)])
    assert await walked(history.clusters) == {}

    (placement,) = await history.run([Op(3, 10)])

    assert placement.cluster == state(1, epoch=2, size=2, speaker=2)


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

    told = [(await history.run([Op(2, content)]))[0].was_linked for content in (20, 30, 40)]

    assert told == [True, True, True]


async def test_a_changed_page_that_matches_its_old_cluster_joins_it_anew_as_the_last() -> None:
    history = History(MemoryClusters())
    await history.run([Op(1, 10), Op(2, 10), Op(3, 10)])

    (placement,) = await history.run([Op(1, 11)])

    assert placement.departure is not None
    assert placement.departure.is_handover
    assert placement.is_duplicate
    assert await walked(history.clusters) == {state(1).id: (2, (2, 3, 1))}


async def test_several_representatives_may_leave_in_one_batch() -> None:
    history = History(MemoryClusters())
    await history.run([Op(number, 10) for number in range(1, 7)])

    placements = await history.run([Op(number, None) for number in (1, 3, 2)])

    speakers = [
        placement.departure.remaining.representative.handle
        for placement in placements
        if placement.departure is not None and placement.departure.remaining is not None
    ]
    assert speakers == [2, 2, 4]


async def test_a_version_that_was_decided_before_keeps_its_rank() -> None:
    clusters = clusters_of(MemoryClusters())
    await decide(clusters, place(5, 1, version=3))

    again, match = await decide(clusters, place(2, 1, version=3), place(4, 2, match_with(1, version=2)))

    assert (again.is_superseded, again.known_rank) == (True, 1)
    assert match.matches == ()


@pytest.mark.parametrize(
    "late", [place(1, 1, version=2), ForgetRequest(at(1), node(1, 3))], ids=["page", "forget"]
)
async def test_a_request_below_what_was_decided_is_refused_for_its_record_to_be_read_again(
    late: Request,
) -> None:
    clusters = clusters_of(MemoryClusters())
    await decide(clusters, place(5, 1, version=3))

    with pytest.raises(RecordsBehind) as caught:
        await decide(clusters, late)

    assert caught.value.known == {at(1): KnownVersion(node(1).handle, 3)}


async def test_a_forget_buries_its_own_version_too() -> None:
    clusters = clusters_of(MemoryClusters())
    await decide(clusters, place(1, 1), ForgetRequest(at(2), node(1, 2)))

    with pytest.raises(RecordsBehind):
        await decide(clusters, place(3, 1, version=2))
    match, returned = await decide(
        clusters,
        place(4, 2, match_with(1, rank=1)),
        place(5, 1, match_with(2, rank=2), version=3),
    )

    assert match.matches == ()
    assert returned.is_duplicate


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


async def test_an_outcome_is_set_once() -> None:
    clusters = clusters_of(MemoryClusters())
    requests: list[Request] = [place(1, 1), place(2, 2, match_with(1)), QuietRequest(at(3))]
    first = await decide_requests(clusters, requests, show, 0)

    others: list[Request] = [place(1, 1, match_with(2)), place(2, 2), QuietRequest(at(3)), place(4, 3)]
    again = await decide_requests(clusters, others, lambda _request, _placement: b"new", 0)

    assert again[:3] == first
    assert again[3].row == b"new"
    assert [outcome.rank for outcome in again] == [1, 2, 0, 4]
    settled = await clusters.settled([at(1), at(2), at(3), at(9)])
    assert (settled.rows, settled.finished) == (
        {at(1): first[0], at(2): first[1], at(3): first[2]},
        frozenset(),
    )


async def test_a_quiet_outcome_is_rendered_without_a_placement() -> None:
    clusters = clusters_of(MemoryClusters())

    assert await decide_requests(clusters, [QuietRequest(at(1))], show, 0) == [Decided(0, b"(1, None)")]
    assert await decide_requests(clusters, [], show, 0) == []


async def test_what_is_trimmed_is_finished_for_ever() -> None:
    clusters = clusters_of(MemoryClusters())
    await decide_requests(clusters, [place(1, 1), place(2, 2)], show, 0)
    await trim(clusters, {PARTITION: 2})

    late = await decide_requests(clusters, [place(1, 1, match_with(2)), place(2, 2)], show, 0)

    assert [(outcome.is_finished, bool(outcome.row)) for outcome in late] == [(True, False), (False, True)]
    assert (await clusters.settled([at(1), at(2)])).finished == {at(1)}


async def test_nothing_is_kept_of_a_lone_page_once_its_tombstone_is_old() -> None:
    now = [100.0]
    store = MemoryClusters(lambda: now[0])
    clusters = clusters_of(store, tombstone_ttl_seconds=50)
    await decide(clusters, place(1, 1), place(2, 2), place(3, 3, match_with(2)), place(4, 4))
    await decide(clusters, ForgetRequest(at(5), node(4, 2)))
    await trim(clusters, {PARTITION: 6})

    kept = []
    for moment in (149.0, 150.0):
        now[0] = moment
        await trim(clusters, {PARTITION: 6})
        kept.append(sorted(int.from_bytes(handle, "big") for handle in store._tables["pages"]))

    assert kept == [[1, 2, 3, 4], [2, 3]]


async def test_a_request_that_rests_on_what_is_forgotten_is_refused() -> None:
    """Page 1 was read as living; then it went, and its tombstone with it: nothing here says so any more."""
    clusters = clusters_of(MemoryClusters(), tombstone_ttl_seconds=0)
    await decide(clusters, place(1, 1))
    await trim(clusters, {PARTITION: 2})
    read_before = (await clusters.settled(())).aged_count
    await decide(clusters, ForgetRequest(at(2), node(1, 2)))
    await trim(clusters, {PARTITION: 3})

    with pytest.raises(StaleRead, match=r"clusters\.tombstone_ttl_seconds"):
        await decide_requests(clusters, [place(3, 2, match_with(1, rank=1))], show, read_before)

    assert (await clusters.settled([at(3)])).rows == {}
    assert await decide(clusters, place(3, 2))


async def test_what_is_decided_already_is_published_however_old_the_reads_are() -> None:
    clusters = clusters_of(MemoryClusters(), tombstone_ttl_seconds=0)
    first = await decide_requests(clusters, [place(1, 1), place(9, 9)], show, 0)
    await trim(clusters, {PARTITION: 2})

    assert await decide_requests(clusters, [place(9, 9)], show, 0) == first[1:]


class SweptStore(MemoryClusters):
    """All tombstones age and go before each commit."""

    async def commit(self, transaction: Transaction) -> int | None:
        await self.age([Aged(1, Handle(77))])
        await self.sweep(await self.due(0, 10))
        return await super().commit(transaction)


async def test_a_request_is_refused_when_its_reads_become_too_old_at_the_last_moment() -> None:
    with pytest.raises(StaleRead):
        await decide_requests(clusters_of(SweptStore()), [place(1, 1)], show, 0)


async def test_the_tombstone_of_an_expired_page_stays_until_it_is_released() -> None:
    clusters = clusters_of(MemoryClusters(), tombstone_ttl_seconds=0)
    await decide(clusters, place(1, 1))
    await trim(clusters, {PARTITION: 2})
    await clusters.expire([node(1)])
    await clusters.tidy(KNOWING)
    (early,) = await decide(clusters, place(3, 3, match_with(1, rank=1)))
    await clusters.release([node(1), node(1), node(2)])
    await clusters.tidy(KNOWING)
    (late,) = await decide(clusters, place(4, 4, match_with(1, rank=1)))

    assert (early.matches, [match.handle for match in late.matches]) == ((), [1])


async def test_expiring_and_releasing_an_earlier_version_lets_nothing_age() -> None:
    """The cell of a version whose row is not trimmed is needed: its record may not be marked yet."""
    store = MemoryClusters()
    clusters = clusters_of(store, tombstone_ttl_seconds=0)
    await decide(clusters, place(1, 1, version=2))
    await clusters.expire([node(1, 1)])
    await clusters.release([node(1, 1)])

    assert await store.due(0, 10) == []


async def test_a_page_expires_silently_unless_it_is_a_representative() -> None:
    history = History(MemoryClusters())
    await history.run([Op(1, 10), Op(2, 10), Op(3, 10), Op(4, 50)])

    assert await history.clusters.expire([node(1), node(2), node(4)]) == [False, True, True]
    assert await walked(history.clusters) == {state(1).id: (1, (1, 3))}
    assert await history.clusters.expire([node(3), node(1)]) == [True, True]
    assert await walked(history.clusters) == {}
    assert await history.clusters.expire([node(1), node(3), node(9)]) == [True, True, True]
    assert await history.clusters.expire([]) == []


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


async def test_a_page_that_expired_is_no_match_and_can_come_back() -> None:
    clusters = clusters_of(MemoryClusters())
    await decide(clusters, place(1, 1))
    await clusters.expire([node(1)])

    other, back = await decide(
        clusters, place(2, 2, match_with(1, rank=1)), place(3, 1, match_with(2), version=2)
    )

    assert other.matches == ()
    assert back.is_duplicate


async def test_expiring_an_earlier_version_leaves_the_living_one() -> None:
    clusters = clusters_of(MemoryClusters())
    await decide(clusters, place(1, 1, version=2), place(2, 2, match_with(1, version=2)))

    assert await clusters.expire([node(1, 1)]) == [True]
    assert len(await walked(clusters)) == 1


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

    assert placement.cluster == state(1, epoch=2, size=3, speaker=2)


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
    async def nobody(_handles: Sequence[Handle]) -> dict[Handle, Description]:
        return {}

    store = MemoryClusters()
    await History(store).run([Op(1, 10), Op(2, 10)])

    clusters = Clusters(store, nobody)
    (placement,) = await decide(clusters, ForgetRequest(at(9), node(1, 2)))

    assert placement.departure is not None
    assert (placement.departure.remaining, placement.departure.is_handover) == (None, False)
    assert [cluster async for cluster in clusters.walk()] == []


class MovedStore(MemoryClusters):
    """Others come first, so many times."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times

    async def commit(self, transaction: Transaction) -> int | None:
        self.times -= 1
        return None if self.times >= 0 else await super().commit(transaction)


async def test_a_batch_waits_when_others_are_always_first() -> None:
    assert await decide_requests(clusters_of(MovedStore(ATTEMPTS - 1)), [place(1, 1)], show, 0)
    with pytest.raises(StoreUnavailable, match=f"{ATTEMPTS} times"):
        await decide_requests(clusters_of(MovedStore(ATTEMPTS)), [place(1, 1)], show, 0)


class DeafClient(MemoryClusters):
    """The first commit is done, and its answer lost."""

    has_lost = False

    async def commit(self, transaction: Transaction) -> int | None:
        answer = await super().commit(transaction)
        if not self.has_lost:
            self.has_lost = True
            raise StoreUnavailable("the answer was lost")
        return answer


async def test_a_decision_whose_answer_was_lost_is_found_when_it_is_asked_again() -> None:
    clusters = clusters_of(DeafClient())
    requests = [place(1, 1), place(2, 2, match_with(1))]
    with pytest.raises(StoreUnavailable):
        await decide_requests(clusters, requests, show, 0)

    decided = await decide_requests(clusters, requests, lambda _request, _placement: b"never", 0)

    assert [outcome.rank for outcome in decided] == [1, 2]
    assert all(outcome.row.startswith(b"(") for outcome in decided)
    assert await walked(clusters) == {state(1).id: (1, (1, 2))}


class CountingStore(MemoryClusters):
    """Counts the cells and members that travel."""

    count = 0

    async def read(
        self, cells: Sequence[Cell], ranges: Sequence[MemberRange] = ()
    ) -> tuple[list[bytes | None], list[list[Member]]]:
        values, members = await super().read(cells, ranges)
        self.count += len(cells) + sum(map(len, members))
        return values, members

    async def commit(self, transaction: Transaction) -> int | None:
        changes: list[Mapping[Cell, bytes | None] | Sequence[Member]] = [
            transaction.expected,
            transaction.writes,
            transaction.joined,
            transaction.left,
        ]
        self.count += sum(map(len, changes))
        return await super().commit(transaction)


async def test_joining_a_huge_cluster_costs_no_more_than_joining_a_small_one() -> None:
    store = CountingStore()
    clusters = clusters_of(store)
    await decide(clusters, place(0, 0))
    costs = []
    for number in range(1, 2001):
        store.count = 0
        await decide(clusters, place(number, number, match_with(0, rank=1)))
        costs.append(store.count)

    assert costs[-1] == costs[1]


@pytest.mark.parametrize("count", [2, 2000], ids=["small", "huge"])
async def test_handing_over_reads_the_first_members_only(count: int) -> None:
    store = CountingStore()
    clusters = clusters_of(store)
    await decide(clusters, place(0, 0), *(place(i, i, match_with(0)) for i in range(1, count + 1)))
    store.count = 0

    (placement,) = await decide(clusters, ForgetRequest(at(count + 1), node(0, 2)))

    assert placement.departure is not None
    assert placement.departure.is_handover
    assert store.count < 30


@pytest.mark.parametrize(
    "limits", [(-0.1, 1, 1), (0, 0, 1), (0, 1, 0)], ids=["negative-time", "no-sweep", "no-edges"]
)
def test_limits_that_cannot_work_are_refused(limits: tuple[float, int, int]) -> None:
    ClusterConfig(tombstone_ttl_seconds=0, sweep_limit=1, pending_edges=1)
    with pytest.raises(ConfigError, match=r"clusters\.tombstone_ttl_seconds"):
        ClusterConfig(*limits)


async def test_of_many_copies_of_an_undecided_page_few_wait_for_it_and_the_others_are_counted() -> None:
    store = MemoryClusters()
    clusters = Clusters(store, describe, config=ClusterConfig(pending_edges=3))
    copies = [place(number, number, match_with(99)) for number in range(1, 6)]

    decided = await decide_requests(clusters, copies, show, 0)
    (last,) = await decide(clusters, place(99, 99))

    assert [each.dropped_edges for each in decided] == [0, 0, 0, 1, 1]
    assert [match.handle for match in last.matches] == [1, 2, 3]


async def test_a_copy_that_waits_already_may_wait_again_when_no_more_may() -> None:
    clusters = Clusters(MemoryClusters(), describe, config=ClusterConfig(pending_edges=1))
    await decide(clusters, place(1, 1, match_with(99)))

    (again,) = await decide(clusters, place(2, 1, match_with(99), version=2))
    (last,) = await decide(clusters, place(3, 99))

    assert again.dropped_edges == 0
    assert [(match.handle, match.version) for match in last.matches] == [(1, 2)]


async def test_a_trim_releases_every_page_that_is_due_however_many() -> None:
    store = MemoryClusters()
    clusters = Clusters(store, describe, config=ClusterConfig(tombstone_ttl_seconds=0, sweep_limit=3))
    await decide(clusters, *(place(number, number) for number in range(1, 11)))

    await trim(clusters, {PARTITION: 100})

    values, _ = await store.read(page_cells([node(number).handle for number in range(1, 11)]))
    assert values == [None] * 10
