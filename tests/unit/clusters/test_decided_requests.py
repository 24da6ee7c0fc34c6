"""Requests that were decided before, or that rest on what is trimmed."""

from collections.abc import Mapping
from types import MappingProxyType

import pytest

from neardup_stream.clusters.placements import Decided
from neardup_stream.clusters.protocol import KnownVersion, RecordsBehind, StaleRead
from neardup_stream.clusters.requests import ForgetRequest, QuietRequest, Request
from neardup_stream.message import Partition
from neardup_stream.page import Handle
from neardup_stream.pipeline.decide import decide_requests
from neardup_stream.stores.cluster_store import Aged, Transaction
from neardup_stream.stores.memory.clusters import MemoryClusters
from tests.cluster_histories import PARTITION, match_with, node
from tests.unit.clusters.decided_pages import at, clusters_of, decide, place, show, trim


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


async def test_an_outcome_is_set_once() -> None:
    clusters = clusters_of(MemoryClusters())
    requests: list[Request] = [place(1, 1), place(2, 2, match_with(1)), QuietRequest(at(3))]
    first = await decide_requests(clusters, requests, show, 0)

    others: list[Request] = [place(1, 1, match_with(2)), place(2, 2), QuietRequest(at(3)), place(4, 3)]
    again = await decide_requests(clusters, others, lambda _request, _placement: b"new", 0)

    assert again[:3] == first
    assert again[3].record == b"new"
    assert [outcome.rank for outcome in again] == [1, 2, 0, 4]
    already_decided = await clusters.already_decided([at(1), at(2), at(3), at(9)])
    assert (already_decided.outcomes, already_decided.finished) == (
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

    assert [(outcome.is_finished, bool(outcome.record)) for outcome in late] == [(True, False), (False, True)]
    assert (await clusters.already_decided([at(1), at(2)])).finished == {at(1)}


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
    read_before = (await clusters.already_decided(())).aged_count
    await decide(clusters, ForgetRequest(at(2), node(1, 2)))
    await trim(clusters, {PARTITION: 3})

    with pytest.raises(StaleRead, match=r"clusters\.tombstone_ttl_seconds"):
        await decide_requests(clusters, [place(3, 2, match_with(1, rank=1))], show, read_before)

    assert (await clusters.already_decided([at(3)])).outcomes == {}
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


class OvertakenStore(MemoryClusters):
    """Before the first commit, another daemon has committed these offsets, and what it decided is swept."""

    offsets: Mapping[Partition, int] = MappingProxyType({PARTITION: 4})

    async def commit(self, transaction: Transaction) -> int | None:
        offsets, self.offsets = self.offsets, {}
        for partition, offset in offsets.items():
            await self.trim(partition, offset)
        return await super().commit(transaction)


async def test_what_was_finished_since_the_plan_is_not_decided_again() -> None:
    clusters = clusters_of(OvertakenStore())

    first, second = await decide_requests(clusters, [place(3, 1), place(7, 2)], show, 0)

    assert (first.is_finished, second.is_finished) == (True, False)
    assert list(await clusters.stored_records(PARTITION)) == [at(7)]
