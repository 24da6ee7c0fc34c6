"""What daemons have decided in a former epoch of a topic, and were killed before they could send it."""

import random
from itertools import count

import pytest

from neardup_stream.clusters.unclustered import Unclustered
from neardup_stream.errors import EpochEnded, StreamUnavailable
from neardup_stream.message import Partition
from neardup_stream.pipeline.former_epochs import FormerEpochs
from neardup_stream.pipeline.former_versions import FormerVersions
from neardup_stream.pipeline.retries import RetryPolicy
from neardup_stream.pipeline.stores import PageStores
from neardup_stream.stores.memory.records import MemoryRecords
from neardup_stream.streams.memory.streams import Fail, MemorySink, MemorySource
from tests.crashes import Burn, Fuse
from tests.page_histories import PARTITION, Content, Op, PageHistory, sharp_pipeline
from tests.pipelines import Pipeline

RAISED = Partition("pages@1", 0)
LINKED_ONLY_BY_WHAT_FOLLOWED = [
    Op(0, Content(1, 0)),
    Op(2, Content(1, 2)),
    Op(1, Content(1, 1)),
    Op(1, Content(2, 0)),
]
"""The first version of page 1 connects two pages, and another version follows it."""


AT_ONCE = RetryPolicy(retry_deadline_seconds=0, first_pause_seconds=1e-4, longest_pause_seconds=1e-4)


def unable_to_send() -> Pipeline:
    """A pipeline that decides, and ends when it is to send."""
    return sharp_pipeline(events=MemorySink([Fail()] * 100), retry_policy=AT_ONCE)


def former_epochs(pipeline: Pipeline, events: MemorySink) -> FormerEpochs:
    former = FormerVersions()
    decider = pipeline.decider(former)
    stores = PageStores(None, pipeline.records, decider, bytes(16), former)  # type: ignore[arg-type] # unread
    return FormerEpochs(stores, events)


async def decided_unsent() -> PageHistory:
    """All is decided in epoch 0, and nothing is sent."""
    history = PageHistory(unable_to_send())
    source = MemorySource(history.records(LINKED_ONLY_BY_WHAT_FOLLOWED))
    fuse = Fuse()
    with pytest.raises(ExceptionGroup):
        await history.run(source, 8, fuse)
    assert not history.pipeline.events.messages
    return history


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_what_was_decided_and_not_sent_is_sent_when_the_epoch_is_raised(moment: str) -> None:
    for calls in count():
        history = PageHistory(sharp_pipeline())
        fuse = Fuse([Burn(calls, moment)])  # type: ignore[arg-type] # drawn from its values
        await fuse.is_done(
            lambda: history.run(MemorySource(history.records(LINKED_ONLY_BY_WHAT_FOLLOWED)), 8, fuse)  # noqa: B023 - at once
        )

        again = MemorySource(history.records(LINKED_ONLY_BY_WHAT_FOLLOWED, RAISED))
        await history.run(again, 8, Fuse())

        await history.check(random.Random(calls))
        if not fuse.has_burnt:
            break


async def test_a_crash_while_it_is_sent_loses_nothing() -> None:
    for calls in count():
        history = await decided_unsent()
        history.pipeline.events = MemorySink()
        again = history.records(LINKED_ONLY_BY_WHAT_FOLLOWED, RAISED)
        fuse = Fuse([Burn(calls, "after")])

        await fuse.until_done(lambda: history.run(MemorySource(again), 8, fuse))  # noqa: B023 - at once

        await history.check(random.Random(calls))
        if not fuse.has_burnt:
            break


async def test_it_is_sent_in_order_and_then_no_more() -> None:
    history = await decided_unsent()
    once, again = MemorySink(), MemorySink()
    records = await history.pipeline.decider().stored_records(PARTITION)

    await former_epochs(history.pipeline, once).deliver([RAISED])
    await former_epochs(history.pipeline, again).deliver([RAISED])

    assert [position.offset for position in records] == list(range(len(LINKED_ONLY_BY_WHAT_FOLLOWED)))
    assert len(once.messages) >= 3
    assert not again.messages
    assert not await history.pipeline.decider().stored_records(PARTITION)


async def test_it_stays_until_it_was_sent() -> None:
    history = await decided_unsent()
    before = await history.pipeline.decider().stored_records(PARTITION)

    with pytest.raises(StreamUnavailable):
        await former_epochs(history.pipeline, MemorySink([Fail()])).deliver([RAISED])

    assert await history.pipeline.decider().stored_records(PARTITION) == before


@pytest.mark.parametrize(
    "entered",
    [PARTITION, Partition("others@1", 0), Partition("file:0123@4", 0)],
    ids=["the same epoch", "another topic", "a file"],
)
async def test_what_may_still_be_sent_by_another_daemon_is_left_to_it(entered: Partition) -> None:
    history = await decided_unsent()
    sink = MemorySink()

    await former_epochs(history.pipeline, sink).deliver([entered])

    assert not sink.messages
    assert await history.pipeline.decider().stored_records(PARTITION)


async def test_all_partitions_of_a_former_epoch_are_sent_though_the_topic_has_fewer_now() -> None:
    history = PageHistory(unable_to_send())
    for topic, number in [(1, 7), (2, 3)]:
        copies = [Op(2 * topic + each, Content(topic, 0)) for each in (1, 2)]
        with pytest.raises(ExceptionGroup):
            await history.run(MemorySource(history.records(copies, Partition("pages", number))), 8, Fuse())
    sink = MemorySink()

    await former_epochs(history.pipeline, sink).deliver([Partition("pages@2", 0)])

    assert len(sink.messages) == 2


@pytest.mark.parametrize("has_clusters", [True, False])
async def test_a_daemon_that_reads_a_former_epoch_decides_nothing_more(*, has_clusters: bool) -> None:
    class Loose(Pipeline):
        def decider(self, _former: object = None) -> Unclustered:  # type: ignore[override]
            return Unclustered(self.clusters)

    pipeline = sharp_pipeline() if has_clusters else Loose()
    await pipeline.decider().end_former_epochs([RAISED])
    history = PageHistory(pipeline)

    with pytest.raises(ExceptionGroup) as caught:
        await history.run(MemorySource(history.records([Op(0, Content(1, 0))])), 8, Fuse())

    (error,) = caught.value.exceptions
    assert isinstance(error, EpochEnded)
    assert str(error) == (
        "topic pages is read with kafka.input_epoch = 1 already, and 0 here: set it to 1 in every daemon"
    )
    assert not pipeline.events.messages
    assert isinstance(pipeline.records, MemoryRecords)
    assert not await pipeline.clusters.partitions()


async def test_a_later_epoch_and_other_topics_decide_as_before() -> None:
    history = PageHistory(sharp_pipeline())
    await history.pipeline.decider().end_former_epochs([RAISED])

    for number, partition in enumerate([RAISED, Partition("pages@2", 0), Partition("others", 0)]):
        await history.run(MemorySource(history.records([Op(number, Content(1, 0))], partition)), 8, Fuse())

    assert len(history.pipeline.events.messages) == 2
