"""Requests to the store: few for huge clusters, repeated after conflicts and lost answers."""

from collections.abc import Mapping, Sequence

import pytest

from neardup_stream.clusters.optimistic_retry import ATTEMPTS
from neardup_stream.clusters.requests import ForgetRequest
from neardup_stream.errors import StoreUnavailable
from neardup_stream.pipeline.decide import decide_requests
from neardup_stream.stores.cluster_store import CellAddress, Member, MemberRange, Transaction
from neardup_stream.stores.memory.clusters import MemoryClusters
from tests.cluster_histories import match_with, node, walked
from tests.unit.clusters.decided_pages import at, clusters_of, decide, place, show, state


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
    assert all(outcome.record.startswith(b"(") for outcome in decided)
    assert await walked(clusters) == {state(1).id: (1, (1, 2))}


class CountingStore(MemoryClusters):
    """Counts the cells and members that travel."""

    count = 0

    async def read(
        self, addresses: Sequence[CellAddress], ranges: Sequence[MemberRange] = ()
    ) -> tuple[list[bytes | None], list[list[Member]]]:
        values, members = await super().read(addresses, ranges)
        self.count += len(addresses) + sum(map(len, members))
        return values, members

    async def commit(self, transaction: Transaction) -> int | None:
        changes: list[Mapping[CellAddress, bytes | None] | Sequence[Member]] = [
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
    assert placement.departure.is_representative_change
    assert store.count < 30
