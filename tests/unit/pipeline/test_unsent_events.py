"""Events that one input has decided and not sent, where several others bring the same pages meanwhile."""

import asyncio
import random
from collections import Counter

import pytest

from neardup_stream.message import Partition
from neardup_stream.pipeline.retries import RetryPolicy
from neardup_stream.streams.memory.streams import Fail, MemorySink, MemorySource
from neardup_stream.wire.events import from_message
from tests.crashes import Fuse
from tests.page_histories import Content, Op, PageHistory, sharp_pipeline
from tests.pipelines import QUICK

COPIES = [Op(0, Content(1, 0)), Op(1, Content(1, 0)), Op(2, Content(1, 1))]
AT_ONCE = RetryPolicy(retry_deadline_seconds=0, first_pause_seconds=1e-4, longest_pause_seconds=1e-4)


async def test_each_input_sends_them_with_the_same_bytes_and_subscribers_take_them_once() -> None:
    history = PageHistory(sharp_pipeline(events=MemorySink([Fail()] * 100), retry_policy=AT_ONCE))
    first = MemorySource(history.records(COPIES, Partition("stdin:01", 0)))
    with pytest.raises(ExceptionGroup):
        await asyncio.create_task(history.run(first, 8, Fuse()))
    history.pipeline.events, history.pipeline.retry_policy = MemorySink(), QUICK

    for name in ("stdin:02", "stdin:03"):
        again = MemorySource(history.records(COPIES, Partition(name, 0)))
        await history.run(again, 8, Fuse())

    messages = history.pipeline.events.messages
    repeats = Counter(from_message(message).id for message in messages)
    assert set(repeats.values()) == {2}
    assert len(set(map(repr, messages))) == len(repeats) == 2
    assert history.pipeline.meters.outcomes["unchanged"] == 2 * len(COPIES)
    await history.check(random.Random(0))
