"""Clusters found by their ids, and their members read some at a time."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup_stream.clusters.browsing import cluster_key, find_cluster, read_members
from neardup_stream.clusters.cells import ClusterKey
from neardup_stream.page import Handle
from neardup_stream.stores.cluster_store import Member
from neardup_stream.stores.memory.clusters import MemoryClusters
from tests.cluster_histories import KNOWING, History, Op, walked


async def numbers(store: MemoryClusters, key: ClusterKey, limit: int) -> list[int]:
    """Return every member, read in parts of `limit`."""
    found: list[Member] = []
    path: Sequence[Member] = ()
    while True:
        page = await read_members(store, key, limit, path)
        assert len(page.members) <= limit
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
