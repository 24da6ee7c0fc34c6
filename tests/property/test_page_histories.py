"""Whatever happens to pages, the events add up to what is stored."""

import asyncio
import random
from collections.abc import Mapping
from itertools import combinations
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neardup_stream.stores.memory.clusters import MemoryClusters
from tests.crashes import Burn, Fuse, Moment
from tests.page_histories import (
    RULES,
    SHORT,
    Content,
    Op,
    PageHistory,
    Sweep,
    are_alike,
    page_url,
    sharp_pipeline,
)
from tests.pipelines import Pipeline

PAGES = range(7)
CONTENTS = st.builds(Content, st.integers(1, 2), st.integers(0, 4), st.booleans())
CRAWLS_OF_MANY = st.lists(
    st.builds(
        Op,
        st.integers(0, 19),
        st.builds(Content, st.integers(1, 4), st.integers(0, 4), st.booleans()),
    ),
    max_size=30,
)
OPS = st.builds(Op, st.sampled_from(PAGES), st.one_of(CONTENTS, CONTENTS, st.sampled_from([None, SHORT])))
STORIES = st.lists(st.one_of(OPS, OPS, OPS, st.builds(Sweep, st.sampled_from([1, 3, 6, 11]))), max_size=40)
"""Pages expire after 10 days, stubs are dropped after two more."""
BURNS = st.lists(st.builds(Burn, st.integers(0, 40), st.sampled_from(get_args(Moment))), max_size=5)
BATCHES = st.integers(1, 8)
TOMBSTONE_TTLS = st.sampled_from([0, 86_400, 10**9])


def pipeline_of(rule: str, tombstone_ttl_seconds: float = 600) -> Pipeline:
    pipeline = sharp_pipeline(rule=RULES[rule], tombstone_ttl_seconds=tombstone_ttl_seconds)
    pipeline.clusters = MemoryClusters(lambda: pipeline.now_seconds)
    return pipeline


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=40)
@given(
    story=STORIES,
    batch_pages=BATCHES,
    tombstone_ttl_seconds=TOMBSTONE_TTLS,
    dice=st.randoms(use_true_random=False),
)
def test_the_fold_of_the_events_is_what_is_stored(
    rule: str, story: list[Op | Sweep], batch_pages: int, tombstone_ttl_seconds: int, dice: random.Random
) -> None:
    async def scenario() -> None:
        history = PageHistory(pipeline_of(rule, tombstone_ttl_seconds))
        await history.live(story, batch_pages)
        await history.check(dice)

    asyncio.run(scenario())


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=60)
@given(story=STORIES, batch_pages=BATCHES, burns=BURNS, dice=st.randoms(use_true_random=False))
def test_the_same_holds_when_runs_are_cut_by_crashes(
    rule: str, story: list[Op | Sweep], batch_pages: int, burns: list[Burn], dice: random.Random
) -> None:
    async def scenario() -> None:
        history = PageHistory(pipeline_of(rule), fuse=Fuse(burns))
        await history.live(story, batch_pages)
        await history.check(dice)

    asyncio.run(scenario())


@settings(max_examples=60)
@given(crawls=CRAWLS_OF_MANY, batch_pages=BATCHES, dice=st.randoms(use_true_random=False))
def test_clusters_are_the_components_of_the_match_graph(
    crawls: list[Op], batch_pages: int, dice: random.Random
) -> None:
    """Each page comes with one content, perhaps twice; in whatever order."""
    contents = {op.page: op.content for op in reversed(crawls) if op.content is not None}
    story = [Op(op.page, contents[op.page]) for op in crawls]

    async def scenario() -> None:
        history = PageHistory(pipeline_of("components"))
        await history.live(story, batch_pages)
        await history.check(dice)
        clusters = {members for _, members in (await history.clusters()).values()}
        assert clusters == components_of(contents)

    asyncio.run(scenario())


def components_of(contents: Mapping[int, Content]) -> set[frozenset[str]]:
    """By brute force over all pairs."""
    component = {page: {page} for page in contents}
    for one, other in combinations(contents, 2):
        if are_alike(contents[one], contents[other]) and component[one] is not component[other]:
            component[one] |= component[other]
            component.update(dict.fromkeys(component[other], component[one]))
    return {frozenset(map(page_url, pages)) for pages in component.values() if len(pages) > 1}
