"""Clusters online: whatever order pages come in, and whatever becomes of them, the stories agree."""

import asyncio
import random
from collections.abc import Coroutine, Sequence
from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from neardup_stream.clusters.placements import Placement
from neardup_stream.clusters.requests import Request
from neardup_stream.clusters.rules import Rule, anchored, components
from neardup_stream.message import Partition
from neardup_stream.pipeline.decide import decide_requests
from neardup_stream.stores.cluster_store import CellAddress, Member, MemberRange, Transaction
from neardup_stream.stores.memory.clusters import MemoryClusters
from tests.cluster_histories import KNOWING, Crawl, History, Op, folded, neighbors, node, walked

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
        history = History(MemoryClusters(), tombstone_ttl_seconds=0)
        ops = [Op(number, content) for number, content in enumerate(contents)]
        dice.shuffle(ops)
        for at in range(0, len(ops), cut):
            await history.run(ops[at : at + cut])
            await history.trim()

        clusters = await walked(history.clusters)
        assert {frozenset(members) for _, members in clusters.values()} == connected(history.living())

    finish(story())


@given(
    batches=BATCHES,
    rule=st.sampled_from([components, anchored]),
    writes_ranks=st.booleans(),
    dice=st.randoms(),
)
@settings(max_examples=150)
def test_folding_the_answers_in_any_order_gives_the_clusters_in_the_store(
    *, batches: list[list[Op]], rule: Rule, writes_ranks: bool, dice: random.Random
) -> None:
    async def story() -> None:
        history = History(MemoryClusters(), rule, writes_ranks=writes_ranks, tombstone_ttl_seconds=0)
        for batch in batches:
            await history.run(batch)
            if writes_ranks:  # only a page with its rank may be forgotten here
                await history.trim()
            clusters = await walked(history.clusters)
            fold = folded(history.placements, dice)

            assert fold.clusters == {key: frozenset(members) for key, (_, members) in clusters.items()}
            representatives = {representative for representative, _ in clusters.values()}
            members = {number for _, each in clusters.values() for number in each}
            assert fold.deletable == members - representatives

    finish(story())


@given(batches=BATCHES, rule=st.sampled_from([components, anchored]), dice=st.randoms())
def test_in_every_cluster_the_living_member_that_was_decided_first_is_the_representative(
    batches: list[list[Op]], rule: Rule, dice: random.Random
) -> None:
    """Whether or not the members of absorbed clusters have moved by then."""

    async def story() -> None:
        history = History(MemoryClusters(), rule)
        for batch in batches:
            await history.run(batch)
            if not dice.randrange(3):
                await history.clusters.tidy(KNOWING)

            living = history.living()
            for representative, members in (await walked(history.clusters)).values():
                assert living.keys() >= set(members)
                assert representative == min(members, key=lambda number: history.crawl.records[number].rank)

    finish(story())


@given(batches=BATCHES)
def test_deciding_again_answers_the_same_rows_and_moves_nothing(batches: list[list[Op]]) -> None:
    def render(request: Request, placement: Placement | None) -> bytes:
        return repr((request, placement)).encode()

    async def story() -> None:
        history = History(MemoryClusters())
        for batch in batches:
            requests = history.registered(batch)
            first = await decide_requests(history.clusters, requests, render, 0)
            before = await walked(history.clusters)

            assert (
                await decide_requests(history.clusters, requests[::-1], lambda *_: b"late", 0) == first[::-1]
            )
            assert await walked(history.clusters) == before

    finish(story())


@given(batches=BATCHES, expired=st.lists(NUMBERS, max_size=4))
def test_expiry_takes_pages_out_and_changes_no_representative(
    batches: list[list[Op]], expired: list[int]
) -> None:
    async def story() -> None:
        history = History(MemoryClusters())
        for batch in batches:
            await history.run(batch)
        before = await walked(history.clusters)
        nodes = [
            node(each, history.crawl.records[each].version) for each in expired if each in history.living()
        ]

        gone = await history.clusters.expire(nodes)

        left = {number.handle for number, has_gone in zip(nodes, gone, strict=True) if has_gone}
        kept = {
            key: (representative, tuple(member for member in members if member not in left))
            for key, (representative, members) in before.items()
        }
        assert await walked(history.clusters) == {key: each for key, each in kept.items() if len(each[1]) > 1}

    finish(story())


class SwitchingStore(MemoryClusters):
    """Lets other daemons come first, before any call."""

    def __init__(self, dice: random.Random) -> None:
        super().__init__()
        self._dice = dice

    async def read(
        self, addresses: Sequence[CellAddress], ranges: Sequence[MemberRange] = ()
    ) -> tuple[list[bytes | None], list[list[Member]]]:
        await self._switch()
        return await super().read(addresses, ranges)

    async def commit(self, transaction: Transaction) -> int | None:
        await self._switch()
        return await super().commit(transaction)

    async def _switch(self) -> None:
        for _ in range(self._dice.randrange(4)):
            await asyncio.sleep(0)


@given(ours=BATCHES, theirs=BATCHES, dice=st.randoms(use_true_random=False))
@settings(max_examples=150)
def test_of_two_daemons_at_once_matching_pages_end_in_one_cluster_and_in_one_story(
    ours: list[list[Op]], theirs: list[list[Op]], dice: random.Random
) -> None:
    """Each crawls its own pages; which of two matching pages comes first is random."""

    async def crawl(daemon: History, batches: list[list[Op]], first_number: int) -> None:
        for batch in batches:
            await daemon.run([op._replace(number=op.number + first_number) for op in batch])
            if not dice.randrange(3):
                await daemon.clusters.tidy(KNOWING)

    async def story() -> None:
        store, shared = SwitchingStore(dice), Crawl()
        daemons = [
            History(store, crawl=shared, partition=Partition("pages", number), jitter=lambda: 0.0)
            for number in range(2)
        ]  # pauses of no length: the order of steps is that of the dice, not of a clock
        await asyncio.gather(crawl(daemons[0], ours, 0), crawl(daemons[1], theirs, 100))

        clusters = await walked(daemons[0].clusters)
        fold = folded([each for daemon in daemons for each in daemon.placements], dice)
        whole = [frozenset(members) for _, members in clusters.values()]
        # A page that left may have been a bridge: what it once joined stays together.
        for group in connected(daemons[0].living()):
            assert any(group <= members for members in whole)
        assert fold.clusters == {key: frozenset(members) for key, (_, members) in clusters.items()}
        representatives = {representative for representative, _ in clusters.values()}
        assert (
            fold.deletable == {number for _, each in clusters.values() for number in each} - representatives
        )

    finish(story())
