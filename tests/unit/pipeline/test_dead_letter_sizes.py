"""A dead letter fits what its topic accepts when it is sent, not when its record was read."""

import pytest

from neardup_stream.errors import StreamUnavailable
from neardup_stream.streams.memory.streams import Fail, MemorySink, MemorySource, Pass, numbered
from neardup_stream.wire.dead_letters import is_truncated
from tests.pipelines import CountingMeters, Pipeline
from tests.unit.pipeline.crawled_pages import run

LOWERED_BYTES = 20_000


class LoweredSink(MemorySink):
    """A topic whose limit is lowered before the first send, which it refuses."""

    async def meet_fault(self) -> Pass | Fail:
        if self.max_message_bytes != LOWERED_BYTES:
            self.max_message_bytes = LOWERED_BYTES
            raise StreamUnavailable("the batch is larger than the topic accepts", "message_size")
        return await super().meet_fault()


class LetterMeters(CountingMeters):
    truncated_count = 0

    def truncated_dead_letters(self, count: int) -> None:
        self.truncated_count += count


@pytest.mark.parametrize("is_exactly_once", [False, True], ids=["at least once", "exactly once"])
async def test_a_dead_letter_that_its_topic_no_longer_accepts_is_cut_and_sent(
    *, is_exactly_once: bool
) -> None:
    topic, meters = LoweredSink(max_message_bytes=1_000_000), LetterMeters()
    pipeline = Pipeline(dead_letters=topic, meters=meters, is_exactly_once=is_exactly_once)

    await run(pipeline, MemorySource(numbered([b"x" * 50_000])))

    (letter,) = topic.messages
    assert letter.size_bytes <= LOWERED_BYTES
    assert is_truncated(letter)
    assert meters.truncated_count == 1
