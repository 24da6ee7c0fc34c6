"""Any process may be paused, anywhere and for any time: the events add up to what is stored."""

import asyncio
import random
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neardup_stream.pipeline.retention import RetentionConfig
from neardup_stream.stores.memory.clusters import MemoryClusters
from tests.crashes import Stall
from tests.page_histories import DAY, RULES, SHORT, Content, Op, PageHistory, Sweep, sharp_pipeline
from tests.paused_processes import (
    live_beside_a_paused_process,
    live_beside_a_sleeper,
    live_beside_a_sleeping_sweeper,
)

CONTENTS = st.builds(Content, st.integers(1, 2), st.integers(0, 3), st.booleans())
OPS = st.builds(Op, st.integers(0, 5), st.one_of(CONTENTS, CONTENTS, st.sampled_from([None, SHORT])))
CRAWLS = st.lists(OPS, min_size=1, max_size=8)
STORIES = st.lists(st.one_of(OPS, OPS, st.builds(Sweep, st.sampled_from([1, 6, 11]))), max_size=16)
STALLS = st.builds(Stall, st.integers(0, 60), st.sampled_from(["before", "after"]))
BATCHES = st.integers(1, 4)


def a_history(rule: str) -> PageHistory:
    """Tombstones are swept after half a day; stubs outlive every paused process."""
    pipeline = sharp_pipeline(rule=RULES[rule], tombstone_ttl_seconds=DAY / 2)
    pipeline.clusters = MemoryClusters(lambda: pipeline.now_seconds)
    return PageHistory(pipeline, RetentionConfig(10 * DAY, 10**6 * DAY))


@pytest.mark.parametrize("whose", ["revoked", "its-own"])
@settings(max_examples=60)
@given(
    before=STORIES,
    begun=CRAWLS,
    stall=STALLS,
    story=STORIES,
    batch_pages=BATCHES,
    rule=st.sampled_from(list(RULES)),
    dice=st.randoms(use_true_random=False),
)
def test_a_daemon_that_was_paused_does_no_harm(
    *,
    whose: Literal["revoked", "its-own"],
    before: list[Op | Sweep],
    begun: list[Op],
    stall: Stall,
    story: list[Op | Sweep],
    batch_pages: int,
    rule: str,
    dice: random.Random,
) -> None:
    live = live_beside_a_paused_process if whose == "revoked" else live_beside_a_sleeper

    async def scenario() -> None:
        history = a_history(rule)
        await history.live(before, batch_pages)
        await live(history, begun, stall, story, batch_pages)
        await history.check(dice)

    asyncio.run(scenario())


@settings(max_examples=60)
@given(
    before=STORIES, stall=STALLS, story=STORIES, batch_pages=BATCHES, dice=st.randoms(use_true_random=False)
)
def test_a_sweeper_that_was_paused_does_no_harm(
    before: list[Op | Sweep],
    stall: Stall,
    story: list[Op | Sweep],
    batch_pages: int,
    dice: random.Random,
) -> None:
    async def scenario() -> None:
        history = a_history("components")
        await history.live(before, batch_pages)
        await live_beside_a_sleeping_sweeper(history, Sweep(11), stall, story, batch_pages)
        await history.check(dice)

    asyncio.run(scenario())
