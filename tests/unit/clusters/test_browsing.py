"""Clusters found by their ids, and their members read some at a time."""

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup_stream.clusters.browsing import cluster_key, find_cluster, read_members
from neardup_stream.clusters.cells import AbsorbedCell, ClusterCell, ClusterKey, unpack_cluster
from neardup_stream.clusters.moving import move_absorbed
from neardup_stream.page import Handle
from neardup_stream.stores.cluster_store import ABSORBED, CLUSTERS, CellAddress, Member, MemberRange
from neardup_stream.stores.memory.clusters import MemoryClusters
from tests.cluster_histories import KNOWING, History, Op, describe, walked


class MovingStore(MemoryClusters):
    """Moves all members of absorbed clusters before one of the reads to come."""

    reads_before = 0

    async def read(
        self, addresses: Sequence[CellAddress], ranges: Sequence[MemberRange] = ()
    ) -> tuple[list[bytes | None], list[list[Member]]]:
        self.reads_before -= 1
        if self.reads_before == 0:
            await move_absorbed(self, describe)
        return await super().read(addresses, ranges)


async def numbers(store: MemoryClusters, key: ClusterKey, limit: int) -> list[int]:
    """Return every member, read in parts of `limit`, of which none is empty."""
    found: list[Member] = []
    path: Sequence[Member] = ()
    while True:
        page = await read_members(store, key, limit, path)
        assert 1 <= len(page.members) <= limit
        found += page.members
        path = page.path
        if not path:
            return [member.handle for member in found]


@pytest.mark.parametrize("is_tidy", [False, True], ids=["before the members moved", "after"])
@given(limit=st.integers(1, 20), contents=st.lists(st.integers(10, 20), min_size=2, max_size=14))
async def test_members_read_in_parts_are_those_of_a_walk(
    limit: int, contents: list[int], *, is_tidy: bool
) -> None:
    store = MemoryClusters()
    history = History(store)
    for number, content in enumerate(contents):
        await history.run([Op(number, content)])
    if is_tidy:
        await history.clusters.tidy(KNOWING)

    for cluster_id, (representative, members) in (await walked(history.clusters)).items():
        key = cluster_key(cluster_id)
        assert key is not None
        found = await find_cluster(store, key)
        assert found is not None
        state = found.state
        assert (state.id, state.size, state.representative.handle) == (
            cluster_id,
            len(members),
            representative,
        )
        assert sorted(await numbers(store, found.key, limit)) == sorted(members)


@pytest.mark.parametrize("is_tidy", [False, True], ids=["before the members moved", "after"])
async def test_the_id_of_an_absorbed_cluster_leads_to_the_one_that_absorbed_it(*, is_tidy: bool) -> None:
    store = MemoryClusters()
    history = History(store)
    for number, content in enumerate([10, 12, 10, 12, 12, 11]):
        await history.run([Op(number, content)])
    if is_tidy:
        await history.clusters.tidy(KNOWING)

    states = []
    for handle in (0, 1):
        found = await find_cluster(store, ClusterKey(Handle(handle), 1))
        assert found is not None
        states.append(found.state)

    assert states[0] == states[1]
    assert (states[0].id, states[0].size) == (ClusterKey(Handle(0), 1).id, 6)


FOUNDER = ClusterKey(Handle(0), 1)
"""Of the older cluster in `younger_is_larger`."""


async def younger_is_larger(history: History) -> None:
    """Let a cluster of pages 2, 3, … absorb the older one of pages 0 and 1, and bear its id."""
    for number, content in enumerate([10, 10, 12, 12, 12, 12, 11]):
        await history.run([Op(number, content)])


@pytest.mark.parametrize("content", [30, 40], ids=["to another cluster", "to be alone"])
@pytest.mark.parametrize("is_tidy", [False, True], ids=["before the members moved", "after"])
async def test_a_cluster_is_found_by_its_id_after_the_founding_page_has_left(
    content: int, *, is_tidy: bool
) -> None:
    store = MemoryClusters()
    history = History(store)
    await history.run([Op(8, 30)])
    await history.run([Op(9, 30)])
    await younger_is_larger(history)
    if is_tidy:
        await history.clusters.tidy(KNOWING)
    await history.run([Op(0, content)])
    await history.clusters.tidy(KNOWING)

    found = await find_cluster(store, FOUNDER)

    assert found is not None
    assert (found.state.id, found.state.size) == (FOUNDER.id, 6)
    assert sorted(await numbers(store, found.key, 3)) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("reads_before", range(1, 6))
@pytest.mark.parametrize("asked", [FOUNDER, ClusterKey(Handle(7), 1)], ids=["its own id", "an absorbed id"])
async def test_a_cluster_is_found_while_members_move(asked: ClusterKey, reads_before: int) -> None:
    """The move removes a set that the cell of the id, or of the founding page, named before."""
    store = MovingStore()
    history = History(store)
    await younger_is_larger(history)
    for number, content in [(7, 8), (8, 8), (9, 9)]:
        await history.run([Op(number, content)])
    await history.clusters.tidy(KNOWING)
    await history.run([Op(0, 40)])
    for number in range(20, 32):
        await history.run([Op(number, 14)])
    await history.run([Op(32, 13)])

    store.reads_before = reads_before
    found = await find_cluster(store, asked)

    assert found is not None
    assert (found.state.id, found.state.size) == (FOUNDER.id, 22)


@pytest.mark.parametrize("content", [30, 40, None], ids=["is in another cluster", "is alone", "is gone"])
async def test_no_cluster_is_found_by_the_id_of_an_absorbed_one_whose_founding_page_has_left(
    content: int | None,
) -> None:
    store = MemoryClusters()
    history = History(store)
    await history.run([Op(8, 30)])
    await history.run([Op(9, 30)])
    for number, place in enumerate([10, 10, 12, 12, 11]):
        await history.run([Op(number, place)])
    await history.clusters.tidy(KNOWING)
    await history.run([Op(2, content)])

    assert await find_cluster(store, ClusterKey(Handle(2), 1)) is None


async def test_an_index_that_lacks_the_forwarding_cell_of_an_id_finds_no_other_cluster() -> None:
    """As former releases left it: the cell went with its last member."""
    store = MemoryClusters()
    history = History(store)
    await history.run([Op(8, 30)])
    await history.run([Op(9, 30)])
    await younger_is_larger(history)
    await history.clusters.tidy(KNOWING)
    del store._tables[CLUSTERS][FOUNDER.packed]

    found = await find_cluster(store, FOUNDER)
    assert found is not None
    assert found.state.id == FOUNDER.id
    await history.run([Op(0, 30)])
    assert await find_cluster(store, FOUNDER) is None


@pytest.mark.parametrize("number", [20, 30], ids=["in the same set", "in a larger set"])
@pytest.mark.parametrize(
    "is_there", [False, True], ids=["without a cell", "with one to a set that was removed"]
)
async def test_the_next_merge_writes_the_forwarding_cell_that_a_former_release_left_out(
    number: int, *, is_there: bool
) -> None:
    store = MemoryClusters()
    history = History(store)
    await younger_is_larger(history)
    await history.clusters.tidy(KNOWING)
    del store._tables[CLUSTERS][FOUNDER.packed]
    if is_there:
        store._tables[CLUSTERS][FOUNDER.packed] = AbsorbedCell(ClusterKey(Handle(60), 1), 1).pack()
    await history.run([Op(0, 40)])
    assert await find_cluster(store, FOUNDER) is None

    for place in range(20, number + 2):
        await history.run([Op(place, 14)])
    await history.run([Op(50, 13)])
    await history.clusters.tidy(KNOWING)

    found = await find_cluster(store, FOUNDER)
    assert found is not None
    assert found.state.id == FOUNDER.id
    assert _forwarding_cells(store) == _borne_ids(store)


async def test_a_forwarding_cell_names_the_set_that_has_it_as_a_member_until_that_has_moved() -> None:
    """Of sets inside each other the outer one absorbed another, whose members have moved before."""
    store = MemoryClusters()
    history = History(store)
    for first, count, content in [(0, 101, 10), (1_000, 103, 12), (2_000, 230, 14), (3_000, 2, 16)]:
        await history.run([Op(number, content) for number in range(first, first + count)])
    for number, content in [(4_000, 15), (4_001, 11), (4_002, 13)]:
        await history.run([Op(number, content)])
    before = await walked(history.clusters)

    await history.clusters.tidy(KNOWING)

    assert await walked(history.clusters) == before
    assert not store._tables[ABSORBED]
    assert _forwarding_cells(store) == _borne_ids(store) == {(FOUNDER, ClusterKey(Handle(2_000), 1))}


@pytest.mark.parametrize("seed", range(25))
async def test_every_cluster_is_found_by_its_id_and_no_forwarding_cell_outlasts_the_id(seed: int) -> None:
    """Clusters of any sizes merge in any order, and their pages leave in any order, while members move."""
    dice, store = random.Random(seed), MemoryClusters()
    history = History(store, tombstone_ttl_seconds=0)
    copied = [text for text in range(10, 22, 2) for _ in range(dice.choice([1, 2, 3, 5, 8]))]
    linking = dice.sample(range(11, 21, 2), 5)
    numbers = range(len(copied + linking))
    crawled = [Op(number, content) for number, content in zip(numbers, copied + linking, strict=True)]
    for op in [*crawled, *(Op(number, None) for number in dice.sample(numbers, len(numbers)))]:
        await history.run([op])
        if dice.random() < 0.3:
            await history.clusters.tidy(KNOWING)
            assert _forwarding_cells(store) == _borne_ids(store)
        for cluster_id, (representative, _) in (await walked(history.clusters)).items():
            key = cluster_key(cluster_id)
            assert key is not None
            found = await find_cluster(store, key)
            assert found is not None
            assert (found.state.id, found.state.representative.handle) == (cluster_id, representative)
    await history.trim()

    assert not store._tables[CLUSTERS]
    assert not store._tables[ABSORBED]


def _clusters(store: MemoryClusters) -> dict[ClusterKey, ClusterCell | AbsorbedCell]:
    packed = store._tables.get(CLUSTERS, {})
    return {ClusterKey.unpack(key): unpack_cluster(value) for key, value in packed.items()}


def _forwarding_cells(store: MemoryClusters) -> set[tuple[ClusterKey, ClusterKey]]:
    return {(key, cell.target) for key, cell in _clusters(store).items() if isinstance(cell, AbsorbedCell)}


def _borne_ids(store: MemoryClusters) -> set[tuple[ClusterKey, ClusterKey]]:
    cells = _clusters(store).items()
    return {(cell.founder, key) for key, cell in cells if isinstance(cell, ClusterCell) and cell.founder}


async def test_no_cluster_is_found_where_none_ever_was() -> None:
    store = MemoryClusters()
    await History(store).run([Op(1, 10)])

    for handle in (1, 2):
        assert await find_cluster(store, ClusterKey(Handle(handle), 1)) is None


async def test_a_path_through_another_cluster_is_refused() -> None:
    store = MemoryClusters()
    history = History(store)
    for number, content in enumerate([10, 10, 30, 30]):
        await history.run([Op(number, content)])
    page = await read_members(store, ClusterKey(Handle(0), 1), 1)

    with pytest.raises(ValueError, match="another cluster"):
        await read_members(store, ClusterKey(Handle(2), 1), 1, page.path)


@given(handle=st.integers(0, (1 << 64) - 1), version=st.integers(0, (1 << 32) - 1))
def test_an_id_says_which_key_it_is_of(handle: int, version: int) -> None:
    key = ClusterKey(Handle(handle), version)

    assert cluster_key(key.id) == key


NO_IDS = (
    *("", ".", "ff.1", "0" * 16, "00000000000000FF.1", "00000000000000zz.1"),
    *("00000000000000ff.01", "00000000000000ff.-1", "00000000000000ff.1.1"),
    *("00000000000000ff.4294967296", "00000000000000ff.\N{ARABIC-INDIC DIGIT THREE}"),
)


@pytest.mark.parametrize("text", NO_IDS)
def test_what_spells_no_key_is_no_id(text: str) -> None:
    assert cluster_key(text) is None
