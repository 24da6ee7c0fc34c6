"""Several daemons on one cluster: joins do not stop each other, and no daemon waits for ever."""

from collections.abc import Sequence

import msgspec
import pytest

from neardup_stream.clusters.cells import ClusterCell, ClusterKey, unpack_cluster
from neardup_stream.clusters.clusters import Clusters
from neardup_stream.clusters.optimistic_retry import ATTEMPTS
from neardup_stream.clusters.placements import Decided, Placement
from neardup_stream.clusters.portions import ROW_BYTES_AT_ONCE
from neardup_stream.clusters.requests import PlaceRequest, Request
from neardup_stream.clusters.snapshot import page_addresses
from neardup_stream.errors import CorruptData, StoreUnavailable
from neardup_stream.match import Match
from neardup_stream.message import Partition, Position
from neardup_stream.page import Handle
from neardup_stream.pipeline.decide import decide_requests
from neardup_stream.stores.cluster_store import CLUSTERS, CellAddress, Transaction
from neardup_stream.stores.memory.clusters import MemoryClusters
from tests.cluster_histories import describe, match_with, node, walked

OURS, THEIRS = Partition("pages", 0), Partition("pages", 1)
HOT = match_with(1, rank=1)


def place(partition: Partition, number: int, *matches: Match) -> PlaceRequest:
    return PlaceRequest(Position(partition, number), node(number), matches)


def row(_request: Request, placement: Placement | None) -> bytes:
    return b"" if placement is None or placement.cluster is None else placement.cluster.id.encode()


def clusters_over(store: MemoryClusters) -> Clusters:
    return Clusters(store, describe, jitter=lambda: 0.0)


async def decide(clusters: Clusters, *requests: Request) -> list[Decided]:
    return await decide_requests(clusters, requests, row, 0)


class RacedStore(MemoryClusters):
    """Before a commit, another daemon does something first, for so many times.

    Args:
        times: how often.
    """

    def __init__(self, times: int = 0) -> None:
        super().__init__()
        self.times = times
        self.refused: list[int] = []
        self._is_racing = False

    async def race(self) -> None:
        """What the other daemon does."""

    async def commit(self, transaction: Transaction) -> int | None:
        if self._is_racing:
            return await super().commit(transaction)
        if self.times:
            self.times -= 1
            self._is_racing = True
            await self.race()
            self._is_racing = False
        base = await super().commit(transaction)
        if base is None:
            self.refused.append(transaction.rank_count)
        return base


class Joining(RacedStore):
    """The other daemon adds a page to the hot cluster."""

    number = 1000

    async def race(self) -> None:
        self.number += 1
        await decide(clusters_over(self), place(THEIRS, self.number, HOT))


async def test_pages_that_join_one_cluster_at_once_do_not_stop_each_other() -> None:
    store = Joining()
    clusters = clusters_over(store)
    await decide(clusters, place(OURS, 1), place(OURS, 2, HOT))
    store.times = 20

    for number in range(3, 23):
        await decide(clusters, place(OURS, number, HOT))

    assert store.refused == []
    ((_, members),) = (await walked(clusters)).values()
    assert sorted(members) == [*range(1, 23), *range(1001, 1021)]


class Changing(RacedStore):
    """The other daemon changes the hot cluster, unless it has to wait for our turn."""

    async def race(self) -> None:
        address = CellAddress(CLUSTERS, ClusterKey(node(1).handle, 1).packed)
        (packed,), _ = await self.read([address])
        assert packed is not None
        cluster = unpack_cluster(packed)
        assert isinstance(cluster, ClusterCell)
        changed = msgspec.structs.replace(cluster, changes=cluster.changes + 1)
        await self.commit(Transaction({}, {address: packed}, {address: changed.pack()}))


async def test_a_batch_that_others_always_come_before_shrinks_and_takes_turns() -> None:
    store = Changing()
    clusters = clusters_over(store)
    await decide(clusters, place(OURS, 1), place(OURS, 2, HOT))
    store.times = 10**6

    rows = await decide(clusters, *(place(OURS, number, HOT) for number in range(3, 19)))

    assert len({each.rank for each in rows}) == 16
    assert store.refused[:6] == [16, 16, 16, 4, 4, 4]


class Refusing(MemoryClusters):
    """Refuses so many commits."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times

    async def commit(self, transaction: Transaction) -> int | None:
        self.times -= 1
        return None if self.times >= 0 else await super().commit(transaction)


@pytest.mark.parametrize("count", [1, 5])
async def test_a_batch_is_decided_whole_and_in_order_however_it_shrinks(count: int) -> None:
    requests: Sequence[Request] = [place(OURS, number, match_with(number - 1)) for number in range(1, 41)]
    clusters = clusters_over(Refusing(count))

    decided = await decide(clusters, *requests)

    ranks = [each.rank for each in decided]
    assert ranks == sorted(ranks)
    assert {each.record for each in decided} == {b"0000000000000001.1"}


async def test_pages_expire_in_shares_and_all_are_answered() -> None:
    store = Refusing(0)
    clusters = clusters_over(store)
    await decide(clusters, *(place(OURS, number) for number in range(1, 601)))
    store.times = 5

    assert await clusters.expire([node(number) for number in range(1, 601)]) == [True] * 600


async def test_expiry_waits_when_others_are_always_first() -> None:
    with pytest.raises(StoreUnavailable, match=f"{ATTEMPTS} times"):
        await clusters_over(Refusing(ATTEMPTS)).expire([node(1)])


async def test_a_page_joins_one_behind_it_that_another_daemon_decides_while_the_portion_is_cut() -> None:
    """The page behind it found the match, and the commit that decides the first one does not have it."""
    clusters = clusters_over(MemoryClusters())
    waiting = range(50, 54)  # so many matches that the page's cell is not compared as a whole
    for number in waiting:
        await decide(clusters, place(OURS, number, match_with(2)))
    (portion,) = clusters.portions([place(OURS, 1), place(OURS, 2, match_with(1))], 0)
    record = bytes(ROW_BYTES_AT_ONCE)
    plans = []
    decided = None
    while decided is None:
        planned = await portion.plan()
        plans.append(len(planned))
        if plans == [2, 1, 1]:  # the second found that page 2 is known
            await decide(clusters, place(THEIRS, 2))  # which probed before page 1 was registered
        decided = await portion.commit([record] * len(planned))

    assert plans == [2, 1, 1, 1, 1]
    assert [set(members) for _, members in (await walked(clusters)).values()] == [{1, 2, *waiting}]


async def test_cells_that_contradict_each_other_are_no_conflict_with_other_daemons() -> None:
    """As after an eviction, or a deletion by hand."""
    store = MemoryClusters()
    clusters = clusters_over(store)
    await decide(clusters, place(OURS, 1), place(OURS, 2, match_with(1)))
    (lost,) = page_addresses([Handle(2)])
    await store.commit(Transaction(floors={}, expected={}, writes={lost: None}))
    leaving = PlaceRequest(Position(OURS, 3), node(1, version=2), ())

    with pytest.raises(CorruptData, match=r"page 0{15}2 is not in cluster 0{15}1\.1, .*: run recover"):
        await decide(clusters, leaving)


async def test_a_cluster_that_is_gone_while_its_pages_are_there_is_no_conflict_either() -> None:
    store = MemoryClusters()
    clusters = clusters_over(store)
    await decide(clusters, place(OURS, 1), place(OURS, 2, match_with(1)))
    lost = CellAddress(CLUSTERS, ClusterKey(Handle(1), 1).packed)
    await store.commit(Transaction(floors={}, expected={}, writes={lost: None}))

    with pytest.raises(CorruptData, match=r"cluster 0{15}1\.1, that of page 0{15}2, is gone.*run recover"):
        await clusters.standing([Handle(2)])
