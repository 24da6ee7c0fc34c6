"""Merges of clusters, whatever their size: one small commit, after which members move some at a time."""

import random
from collections.abc import Mapping, Sequence
from contextlib import suppress

import msgspec
import pytest

from neardup_stream.clusters.cells import AbsorbedCell, ClusterKey
from neardup_stream.clusters.moving import MOVED_AT_ONCE, move_absorbed
from neardup_stream.clusters.requests import PlaceRequest
from neardup_stream.errors import CorruptData, StoreUnavailable
from neardup_stream.page import Handle
from neardup_stream.stores.cluster_store import (
    ABSORBED,
    CLUSTERS,
    RANK_BYTES,
    CellAddress,
    Member,
    MemberRange,
    Transaction,
)
from neardup_stream.stores.memory.clusters import MemoryClusters
from tests.cluster_histories import KNOWING, History, Op, describe, folded, walked

BIG = 2 * MOVED_AT_ONCE + 50


class MeasuredStore(MemoryClusters):
    """Notes how many cells and members travelled in each call."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []

    async def read(
        self, addresses: Sequence[CellAddress], ranges: Sequence[MemberRange] = ()
    ) -> tuple[list[bytes | None], list[list[Member]]]:
        values, members = await super().read(addresses, ranges)
        self.sizes.append(len(addresses) + sum(map(len, members)))
        return values, members

    async def commit(self, transaction: Transaction) -> int | None:
        changes: list[Mapping[CellAddress, object] | Sequence[Member]] = [
            transaction.expected,
            transaction.writes,
            transaction.counted,
            transaction.joined,
            transaction.left,
        ]
        self.sizes.append(sum(map(len, changes)))
        return await super().commit(transaction)


class MovingStore(MemoryClusters):
    """Moves members of absorbed clusters before one of the reads to come, in so many commits at most."""

    reads_before = 0
    commits_left = 0

    async def read(
        self, addresses: Sequence[CellAddress], ranges: Sequence[MemberRange] = ()
    ) -> tuple[list[bytes | None], list[list[Member]]]:
        self.reads_before -= 1
        if self.reads_before == 0:
            with suppress(StoreUnavailable):
                await move_absorbed(self, describe)
            self.commits_left = 1_000
        return await super().read(addresses, ranges)

    async def commit(self, transaction: Transaction) -> int | None:
        self.commits_left -= 1
        if self.commits_left < 0:
            raise StoreUnavailable("it moved enough")
        return await super().commit(transaction)


async def two_clusters(history: History, older: int, younger: int) -> None:
    """Pages 0 … with content 10, then pages 10,000 … with content 12."""
    for first, count, content in ((0, older, 10), (10_000, younger, 12)):
        for number in range(count):
            await history.run([Op(first + number, content)])


def near_some(a: int, b: int) -> bool:
    return abs(a - b) <= 1


class Sparse(History):
    """Each page finds three others at most, as oversized buckets are sampled."""

    def _probed(self, request: object) -> object:  # type: ignore[override]
        probed = super()._probed(request)  # type: ignore[arg-type]
        if not isinstance(probed, PlaceRequest):
            return probed
        by_content = {self.crawl.records[match.handle].content: match for match in probed.matches}
        return msgspec.structs.replace(probed, matches=tuple(by_content.values()))


@pytest.mark.parametrize(("older", "younger"), [(BIG, 3), (3, BIG), (BIG, BIG)], ids=["old", "young", "both"])
async def test_a_merge_moves_as_much_however_many_pages_become_one_cluster(older: int, younger: int) -> None:
    sizes = []
    for counts in ((3, 3), (older, younger)):
        store = MeasuredStore()
        history = Sparse(store)
        await two_clusters(history, *counts)
        store.sizes.clear()
        (placement,) = await history.run([Op(9_000, 11)])
        (merge,) = placement.merges
        sizes.append(sum(store.sizes))

        assert (merge.survivor.id, merge.absorbed.id) == (f"{0:016x}.1", f"{10_000:016x}.1")
        assert placement.cluster is not None
        assert placement.cluster.size == sum(counts) + 1

    assert sizes[0] == sizes[1]


@pytest.mark.parametrize(("older", "younger"), [(BIG, 3), (3, BIG), (BIG, BIG)], ids=["old", "young", "both"])
async def test_after_a_merge_members_move_in_bounded_steps_and_only_the_forwarding_cell_stays(
    older: int, younger: int
) -> None:
    store = MeasuredStore()
    history = Sparse(store)
    await two_clusters(history, older, younger)
    await history.run([Op(9_000, 11)])
    before = await walked(history.clusters)
    store.sizes.clear()

    await history.clusters.tidy(KNOWING)

    assert max(store.sizes) < 6 * MOVED_AT_ONCE
    assert await walked(history.clusters) == before
    assert store._tables[ABSORBED] == {}
    keys = {ClusterKey(Handle(0), 1), ClusterKey(Handle(10_000 if older < younger else 0), 1)}
    assert store._tables[CLUSTERS].keys() == {key.packed for key in keys}
    assert [len(members) for members in store._members.values() if members] == [older + younger + 1]


@pytest.mark.parametrize("is_tidy", [False, True], ids=["before the members moved", "after"])
async def test_who_represents_a_merged_cluster_is_the_member_decided_first_of_all(*, is_tidy: bool) -> None:
    """Clusters absorb clusters that absorbed others; then their representatives leave one by one."""
    dice, history = random.Random(3), History(MemoryClusters())
    for number, content in enumerate([10, 14, 12, 18, 16, 12, 14, 10, 18, 16, 11, 17, 13, 15]):
        await history.run([Op(number, content)])
    for number in range(13):
        if is_tidy:
            await history.clusters.tidy(KNOWING)
        clusters = await walked(history.clusters)
        assert [representative for representative, _ in clusters.values()] == [number]
        assert folded(history.placements, dice).clusters == {
            key: frozenset(members) for key, (_, members) in clusters.items()
        }
        await history.run([Op(number, None)])

    assert await walked(history.clusters) == {}


@pytest.mark.parametrize("commits", [1, 1_000], ids=["some of its members", "all of them"])
@pytest.mark.parametrize("reads", range(1, 8))
async def test_the_first_member_is_found_while_an_absorbed_cluster_moves(reads: int, commits: int) -> None:
    store = MovingStore()
    store.commits_left = 1_000_000
    history = Sparse(store)
    await history.run([Op(number, 10 + number % 2 * 2) for number in range(2 * BIG)])  # two clusters
    await history.run([Op(9_000, 11)])  # merges them

    store.reads_before, store.commits_left = reads, commits
    others = [Op(20_000 + number, 100 + 10 * number) for number in range(5)]
    await history.run([Op(0, None), *others])  # a larger batch reads more members of a cluster at once

    (representative, _) = (await walked(history.clusters)).popitem()[1]
    assert representative == 1


async def test_nothing_is_left_of_a_merged_cluster_whose_pages_are_all_gone() -> None:
    store = MemoryClusters()
    history = History(store, tombstone_ttl_seconds=0)
    for number, content in enumerate([10, 12, 10, 12, 11]):
        await history.run([Op(number, content)])
    for number in range(5):
        await history.run([Op(number, None)])
    await history.trim()

    kept = {table: rows for table, rows in store._tables.items() if rows}
    assert kept.keys() == {"trimmed", "decided"}
    assert not any(store._members.values())


async def test_a_page_of_an_absorbed_cluster_leads_to_the_one_that_absorbed_it() -> None:
    history = History(MemoryClusters())
    for number, content in enumerate([10, 12, 10, 12, 11]):
        await history.run([Op(number, content)])

    (placement,) = await history.run([Op(9, 13)])
    standing = await history.clusters.standing([Handle(1), Handle(3)])

    assert [match.handle for match in placement.matches] == [1, 3]
    assert placement.cluster is not None
    assert placement.cluster.id == f"{0:016x}.1"
    assert {state.id for state in standing.values()} == {f"{0:016x}.1"}


@pytest.mark.parametrize("size", [2, MOVED_AT_ONCE + 1])
async def test_members_of_an_absorbed_cluster_without_a_cell_are_corrupt(size: int) -> None:
    store, key = MemoryClusters(), ClusterKey(Handle(1), 1)
    members = [Member(key.packed, rank, Handle(rank), 0) for rank in range(1, size + 1)]
    await write(store, {CellAddress(ABSORBED, key.packed): bytes(RANK_BYTES)}, members)

    with pytest.raises(CorruptData, match=f"cluster {key.id} was absorbed and has members"):
        await move_absorbed(store, describe)


@pytest.mark.parametrize("length", [1, 3])
async def test_clusters_that_absorbed_each_other_in_a_circle_are_corrupt(length: int) -> None:
    store = MemoryClusters()
    keys = [ClusterKey(Handle(number), 1) for number in range(1, length + 1)]
    cells: dict[CellAddress, bytes | None] = {
        CellAddress(CLUSTERS, key.packed): AbsorbedCell(target, 1).pack()
        for key, target in zip(keys, [*keys[1:], keys[0]], strict=True)
    }
    absorbed = {CellAddress(ABSORBED, key.packed): bytes(RANK_BYTES) for key in keys}
    await write(store, cells | absorbed, [Member(key.packed, 1, Handle(10), 0) for key in keys])

    with pytest.raises(CorruptData, match="was absorbed by itself"):
        await move_absorbed(store, describe)


async def write(
    store: MemoryClusters, cells: Mapping[CellAddress, bytes | None], members: Sequence[Member]
) -> None:
    assert await store.commit(Transaction({}, {}, cells, members)) is not None
