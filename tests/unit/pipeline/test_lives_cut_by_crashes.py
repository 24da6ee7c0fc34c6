"""Short stories, cut at every call of a store or stream in turn: events agree with what is stored."""

import random
from collections.abc import Sequence
from itertools import count
from typing import get_args

import pytest

from tests.crashes import Burn, Fuse, Moment
from tests.page_histories import Content, Op, PageHistory, Sweep, sharp_pipeline

FIRST, COPY, OTHER = Op(0, Content(1, 0)), Op(1, Content(1, 0)), Op(1, Content(2, 0))
STORIES = {
    "changed-and-alone": [FIRST, COPY, OTHER],
    "forgotten-and-back-alone": [FIRST, COPY, Op(1, None), OTHER],
    "expired-and-back-alone": [FIRST, COPY, Sweep(6), FIRST, Sweep(5), OTHER],
    "dropped-and-back-alone": [FIRST, COPY, Sweep(6), FIRST, Sweep(5), Sweep(2), OTHER],
    "the-first-is-forgotten-and-returns": [FIRST, COPY, Op(0, None), FIRST],
    "two-clusters-become-one": [FIRST, Op(1, Content(1, 2)), Op(2, Content(1, 2)), Op(3, Content(1, 1))],
}


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
@pytest.mark.parametrize("moment", get_args(Moment))
async def test_a_story_adds_up_wherever_it_is_cut(moment: Moment, story: Sequence[Op | Sweep]) -> None:
    for calls in count():
        history = PageHistory(sharp_pipeline(), fuse=Fuse([Burn(calls, moment)]))
        await history.live(story, batch_pages=1)
        await history.check(random.Random(calls))
        if not history.fuse.has_burnt:
            break
