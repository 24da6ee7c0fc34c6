"""Clusters online: whatever order pages come in, and whatever becomes of them, the stories agree."""

import asyncio
import random
from collections.abc import Coroutine
from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from neardup_stream.clusters.rules import Rule, anchored, components
from neardup_stream.stores.memory_clusters import MemoryClusters
from tests.cluster_histories import History, Op, folded, neighbors, walked

NUMBERS = st.integers(0, 7)
BATCHES = st.lists(
    st.lists(
        st.builds(Op, NUMBERS, st.one_of(st.none(), st.integers(0, 9))),
        min_size=1,
        max_size=5,
        unique_by=lambda op: op.number,
    ),
    max_size=14,
)


def connected(contents: dict[int, int]) -> set[frozenset[int]]:
    """Components of two or more, the slow and obvious way."""
    groups = [{number} for number in contents]
    for a, b in combinations(contents, 2):
        if neighbors(contents[a], contents[b]):
            left = next(group for group in groups if a in group)
            right = next(group for group in groups if b in group)
            if left is not right:
                groups.remove(right)
                left |= right
    return {frozenset(group) for group in groups if len(group) > 1}


def finish(history: Coroutine[object, object, None]) -> None:
    asyncio.run(history)


@given(contents=st.lists(st.integers(0, 30), max_size=16), cut=st.integers(1, 6), dice=st.randoms())
def test_online_clusters_are_the_components_of_the_match_graph_in_any_order(
    contents: list[int], cut: int, dice: random.Random
) -> None:
    async def story() -> None:
        history = History(MemoryClusters())
        ops = [Op(number, content) for number, content in enumerate(contents)]
        dice.shuffle(ops)
        for at in range(0, len(ops), cut):
            await history.run(ops[at : at + cut])

        clusters = await walked(history.clusters)
        assert {frozenset(members) for _, members in clusters.values()} == connected(history.living())

    finish(story())


@given(batches=BATCHES, rule=st.sampled_from([components, anchored]), marks=st.booleans(), dice=st.randoms())
@settings(max_examples=150)
def test_folding_the_answers_in_any_order_gives_the_clusters_in_the_store(
    *, batches: list[list[Op]], rule: Rule, marks: bool, dice: random.Random
) -> None:
    async def story() -> None:
        history = History(MemoryClusters(), rule, marks=marks)
        for batch in batches:
            await history.run(batch)
            clusters = await walked(history.clusters)
            told = folded(history.placements, dice)

            assert told.clusters == {key: frozenset(members) for key, (_, members) in clusters.items()}
            silent = {speaker for speaker, _ in clusters.values()}
            members = {number for _, each in clusters.values() for number in each}
            assert told.deletable == members - silent

    finish(story())


@given(batches=BATCHES, rule=st.sampled_from([components, anchored]))
def test_in_every_cluster_the_living_member_that_was_decided_first_speaks(
    batches: list[list[Op]], rule: Rule
) -> None:
    async def story() -> None:
        history = History(MemoryClusters(), rule)
        for batch in batches:
            await history.run(batch)

            living = history.living()
            for speaker, members in (await walked(history.clusters)).values():
                assert living.keys() >= set(members)
                assert speaker == min(members, key=lambda number: history.records[number].rank)

    finish(story())
