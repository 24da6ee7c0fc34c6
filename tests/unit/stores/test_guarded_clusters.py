"""What daemons notice of an index that lost what was decided, and that they write nothing more to it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from copy import deepcopy
from functools import partial
from typing import Any

import pytest

from neardup_stream.message import Partition
from neardup_stream.page import Handle
from neardup_stream.stores.checked_sweep_rounds import CheckedSweepRounds, check_intact
from neardup_stream.stores.cluster_store import (
    TRIMMED,
    Aged,
    CellAddress,
    Transaction,
    partition_name,
)
from neardup_stream.stores.guarded_clusters import (
    INDEX,
    GuardedClusters,
    IndexLost,
    change_layout,
    create_index,
    stored_layout,
)
from neardup_stream.stores.memory.clusters import MemoryClusters
from neardup_stream.stores.table_layouts import LayoutChanged, LayoutState, TableLayouts
from tests.contracts.clusters import CLUSTER_STORE_CLAIMS
from tests.contracts.sweep_rounds import SWEEP_ROUNDS_CLAIMS, SweepRoundsClaim
from tests.doubles.sweep_rounds import MemorySweepRounds
from tests.unit.stores.guarded_stores import (
    CEILING,
    INDEX_A,
    PARTITION,
    SOMETHING,
    created,
    decide,
    gone_back,
)

NOW = 1_790_000_000.0


@pytest.mark.parametrize("claim", CLUSTER_STORE_CLAIMS, ids=lambda claim: claim.__name__)
async def test_a_guarded_store_keeps_the_contract(
    claim: Callable[[GuardedClusters], Awaitable[None]],
) -> None:
    await claim(await created(MemoryClusters()))


async def test_an_index_keeps_the_token_that_it_was_given_first() -> None:
    store = MemoryClusters()
    await create_index(store, "first")

    await create_index(store, "second")

    assert (await store.read([INDEX]))[0] == [bytes(6) + b"first"]


WRITES: dict[str, Callable[[GuardedClusters], Awaitable[object]]] = {
    "trim": lambda store: store.trim(PARTITION, 7),
    "turn": lambda store: store.take_turn(b"turn", 1),
    "age": lambda store: store.age([Aged(1, Handle(1))]),
    "sweep": lambda store: store.sweep([Aged(1, Handle(1))]),
    "read": lambda store: store.read([SOMETHING]),
    "walk": lambda store: store.blocks(PARTITION),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
async def test_an_emptied_store_is_noticed_before_anything_is_written(
    write: Callable[[GuardedClusters], Awaitable[object]],
) -> None:
    store = MemoryClusters()
    guarded = await created(store)
    store._tables.clear()

    with pytest.raises(IndexLost, match="index 0193a0b1 is not there any more") as caught:
        await write(guarded)

    assert caught.value.reason == "index_lost"
    assert not any(store._tables.values())


async def test_an_emptied_store_is_noticed_before_slots_are_claimed() -> None:
    store = MemoryClusters()
    rounds = guarded_rounds(await created(store))
    store._tables.clear()

    with pytest.raises(IndexLost, match="index 0193a0b1 is not there any more"):
        await rounds.claim(10, 100, 60.0)


@pytest.mark.parametrize("claim", SWEEP_ROUNDS_CLAIMS, ids=lambda claim: claim.__name__)
async def test_guarded_rounds_keep_the_contract(claim: SweepRoundsClaim) -> None:
    await claim(guarded_rounds(await created(MemoryClusters())))


async def test_an_index_whose_meta_record_is_lost_is_lost_for_all() -> None:
    store = MemoryClusters()
    rounds = guarded_rounds(await created(store), is_named=False)

    with pytest.raises(IndexLost, match="index 0193a0b1 is not named by the meta record"):
        await rounds.claim(10, 100, 60.0)
    with pytest.raises(IndexLost):
        await GuardedClusters(store, INDEX_A).check()


def guarded_rounds(clusters: GuardedClusters, *, is_named: bool = True) -> CheckedSweepRounds:
    async def is_installed() -> bool:
        return is_named

    return CheckedSweepRounds(MemorySweepRounds(lambda: NOW), partial(check_intact, clusters, is_installed))


async def test_a_commit_to_an_emptied_store_changes_nothing() -> None:
    store = MemoryClusters()
    guarded = await created(store)
    store._tables.clear()

    assert await guarded.commit(Transaction(floors={}, expected={}, writes={SOMETHING: bytes(7)})) is None
    assert not any(store._tables.values())


async def test_another_index_in_its_place_is_noticed_and_named() -> None:
    store = MemoryClusters()
    guarded = await created(store, "mine")
    store._tables.clear()
    await create_index(store, "other")

    with pytest.raises(IndexLost, match="index mine is not there any more, and index other is in its place"):
        await guarded.check()


async def test_an_older_copy_is_noticed_and_every_daemon_learns_of_it() -> None:
    store = MemoryClusters()
    one, other = await created(store), GuardedClusters(store, INDEX_A)
    await decide(one, 10)
    copy = deepcopy(store._tables)
    await decide(one, 20)
    store._tables = copy

    await other.check()
    with pytest.raises(IndexLost, match=r"pages:3 it knows what was decided below 10, .* all below 20"):
        await decide(one, 21)
    with pytest.raises(IndexLost, match="index 0193a0b1 went back to an earlier state"):
        await decide(other, 11)


async def test_an_older_copy_is_noticed_where_nothing_is_read_or_decided() -> None:
    store = MemoryClusters()
    guarded = await created(store)
    rounds = guarded_rounds(guarded)
    await decide(guarded, 10)
    copy = deepcopy(store)
    await decide(guarded, 20)
    await rounds.claim(1, 4, 10)
    gone_back(store, copy)

    with pytest.raises(IndexLost, match="of all below 20"):
        await rounds.claim(1, 4, 10)


async def test_commits_that_are_answered_in_another_order_are_no_older_copy() -> None:
    class Slow(MemoryClusters):
        """Answers a commit when the test says so."""

        def __init__(self) -> None:
            super().__init__()
            self.may_answer = [asyncio.Event(), asyncio.Event()]

        async def commit(self, transaction: Transaction) -> int | None:
            base = await super().commit(transaction)
            if transaction.rank_count:
                await self.may_answer[0 if base else 1].wait()
            return base

    store = Slow()
    guarded = await created(store)
    ranks = Transaction(floors={}, expected={}, writes={}, rank_count=1)
    commits = [asyncio.create_task(guarded.commit(ranks)) for _ in range(2)]
    await asyncio.sleep(0)
    for may_answer in store.may_answer:
        may_answer.set()
        await asyncio.sleep(0)

    assert await asyncio.gather(*commits) == [0, 1]


async def test_what_was_only_read_is_remembered_too() -> None:
    store = MemoryClusters()
    one, other = await created(store), GuardedClusters(store, INDEX_A)
    copy = deepcopy(store._tables)
    await decide(one, 20)
    await other.read([CEILING])
    store._tables = copy

    with pytest.raises(IndexLost, match="earlier state"):
        await other.read([CEILING])


async def test_a_read_that_was_sent_before_a_commit_is_no_older_copy() -> None:
    class Slow(MemoryClusters):
        """A read that is answered when the test says so."""

        def __init__(self) -> None:
            super().__init__()
            self.may_answer = asyncio.Event()
            self.may_answer.set()

        async def read(self, *arguments: Any) -> Any:
            answer = await super().read(*arguments)
            await self.may_answer.wait()
            return answer

    store = Slow()
    guarded = await created(store)
    await decide(guarded, 10)
    store.may_answer.clear()
    reading = asyncio.create_task(guarded.read([CEILING]))
    await asyncio.sleep(0)
    store.may_answer.set()
    writes = {CEILING: bytes(6) + b"20"}
    assert await guarded.commit(Transaction(floors={}, expected={}, writes=writes)) is not None

    assert await reading == ([bytes(6) + b"10"], [])
    await guarded.check()


ANNOUNCED = LayoutState(1, 0, 1)
BLOCK = CellAddress("rows:pages:3", b"0")


def decision() -> Transaction:
    return Transaction(floors={}, expected={}, writes={}, appended=[(BLOCK, bytes(20))], rank_count=1)


async def test_pages_are_decided_only_by_a_daemon_that_uses_the_layout_in_force() -> None:
    store, layouts = MemoryClusters(), TableLayouts()
    await create_index(store, INDEX_A)
    daemon = GuardedClusters(store, INDEX_A, layouts)
    assert await change_layout(store, INDEX_A, LayoutState(), ANNOUNCED)

    assert await daemon.commit(decision()) is None  # it has not read of it yet
    await daemon.check()
    with pytest.raises(LayoutChanged):
        await daemon.commit(decision())
    assert (layouts.used, layouts.found) == (LayoutState(), ANNOUNCED)

    layouts.adopt()
    assert await daemon.commit(decision()) is not None


class EmptiedBeforeTheTrim(MemoryClusters):
    """Loses everything at the last moment: what a trim may read first is there still."""

    async def trim(
        self,
        partition: Partition,
        offset: int,
        cursor: int = 0,
        expected: Mapping[CellAddress, bytes] | None = None,
    ) -> int | None:
        """See the contract."""
        emptied = MemoryClusters()
        answer = await emptied.trim(partition, offset, cursor, expected)
        self.__dict__ |= emptied.__dict__
        return answer


async def test_a_trim_writes_nothing_to_a_store_that_is_emptied_before_it() -> None:
    store = EmptiedBeforeTheTrim()
    daemon = await created(store)

    with pytest.raises(IndexLost, match="is not there any more"):
        await daemon.trim(PARTITION, 7)

    assert await store.read([CellAddress(TRIMMED, partition_name(PARTITION))]) == ([None], [])


async def test_what_decides_no_page_needs_no_layout() -> None:
    store = MemoryClusters()
    daemon = await created(store)
    await change_layout(store, INDEX_A, LayoutState(), ANNOUNCED)

    await daemon.trim(PARTITION, 7)
    assert await decide(daemon, 7) is not None


async def test_a_layout_is_changed_by_one_of_two() -> None:
    store = MemoryClusters()
    await create_index(store, INDEX_A)

    assert await change_layout(store, INDEX_A, LayoutState(), ANNOUNCED)
    assert not await change_layout(store, INDEX_A, LayoutState(), LayoutState(1, 0, 2))

    assert await stored_layout(store, INDEX_A) == ANNOUNCED


async def test_a_layout_that_went_back_stops_all_daemons() -> None:
    store = MemoryClusters()
    daemon, other = await created(store), GuardedClusters(store, INDEX_A)
    await change_layout(store, INDEX_A, LayoutState(), ANNOUNCED)
    await daemon.check()
    await change_layout(store, INDEX_A, ANNOUNCED, LayoutState())

    for each in (daemon, other):
        with pytest.raises(IndexLost, match="went back to an earlier state"):
            await each.check()
