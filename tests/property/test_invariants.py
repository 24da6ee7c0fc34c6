"""Whatever happens to pages, and wherever runs are cut: the judges find nothing to blame."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neardup_stream.clusters.requests import PageVersion
from neardup_stream.clusters.unclustered import Unclustered
from neardup_stream.invariants.judging import judge
from neardup_stream.page import Handle
from neardup_stream.pipeline.event_config import EventConfig
from neardup_stream.stores.memory.clusters import MemoryClusters
from tests.crashes import Burn, Fuse
from tests.histories_read import expectations_of, read_pipeline
from tests.page_histories import (
    PARTITION,
    RULES,
    SHORT,
    SKETCH,
    Content,
    Op,
    PageHistory,
    Sweep,
    sharp_pipeline,
)
from tests.pipelines import Pipeline

PAGES = st.integers(0, 6)
CONTENTS = st.builds(Content, st.integers(1, 2), st.integers(0, 4), st.booleans())
OPS = st.builds(Op, PAGES, st.one_of(CONTENTS, CONTENTS, st.sampled_from([None, SHORT])))
CRAWLS = st.lists(OPS, max_size=40)
STORIES = st.lists(st.one_of(OPS, OPS, OPS, st.builds(Sweep, st.sampled_from([1, 3, 6, 11]))), max_size=40)
BURNS = st.lists(
    st.builds(Burn, st.integers(0, 40), st.sampled_from(["before", "after", "cancelled"])), max_size=5
)
EVENT_CONFIGS = st.builds(EventConfig, unique=st.booleans(), contained=st.booleans(), undecided=st.booleans())


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=50)
@given(story=CRAWLS, batch_pages=st.integers(1, 8), burns=BURNS, event_config=EVENT_CONFIGS)
def test_no_invariant_is_broken_by_crawls_cut_by_crashes(
    rule: str, story: list[Op | Sweep], batch_pages: int, burns: list[Burn], event_config: EventConfig
) -> None:
    check(rule, story, batch_pages, burns, event_config, may_expire=False)


@settings(max_examples=60)
@given(story=STORIES, batch_pages=st.integers(1, 8), burns=BURNS, event_config=EVENT_CONFIGS)
def test_no_invariant_is_broken_where_pages_expire(
    story: list[Op | Sweep], batch_pages: int, burns: list[Burn], event_config: EventConfig
) -> None:
    check("components", story, batch_pages, burns, event_config, may_expire=True)


@settings(max_examples=40)
@given(story=CRAWLS, batch_pages=st.integers(1, 8), burns=BURNS, event_config=EVENT_CONFIGS)
def test_no_invariant_is_broken_without_clusters(
    story: list[Op | Sweep], batch_pages: int, burns: list[Burn], event_config: EventConfig
) -> None:
    async def scenario() -> None:
        pipeline = UnclusteredPipeline(sketch=SKETCH, event_config=event_config)
        history = PageHistory(pipeline, fuse=Fuse(burns))
        await history.live(story, batch_pages)
        read = await read_pipeline(pipeline, history.crawled, {PARTITION: len(history.crawled)})
        expectations = dataclasses.replace(expectations_of(pipeline), keeps_clusters=False)
        assert judge(read, expectations) == []

    asyncio.run(scenario())


class NoClusters(Unclustered):
    async def walk(self) -> AsyncIterator[tuple[str, PageVersion, list[Handle]]]:
        nothing: tuple[tuple[str, PageVersion, list[Handle]], ...] = ()
        for each in nothing:
            yield each


class UnclusteredPipeline(Pipeline):
    def decider(self, _former: object = None) -> NoClusters:  # type: ignore[override] # it decides, and stands in no cluster
        return NoClusters(self.clusters)


def check(
    rule: str,
    story: list[Op | Sweep],
    batch_pages: int,
    burns: list[Burn],
    event_config: EventConfig,
    *,
    may_expire: bool,
) -> None:
    async def scenario() -> None:
        pipeline = sharp_pipeline(rule=RULES[rule], event_config=event_config)
        pipeline.clusters = MemoryClusters(lambda: pipeline.now_seconds)
        history = PageHistory(pipeline, fuse=Fuse(burns))
        await history.live(story, batch_pages)
        read = await read_pipeline(pipeline, history.crawled, {PARTITION: len(history.crawled)})
        assert judge(read, expectations_of(pipeline, may_expire=may_expire)) == []

    asyncio.run(scenario())
