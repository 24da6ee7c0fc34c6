"""Pages that were registered and not decided, and come again where their old position never will."""

import asyncio
import random
from collections.abc import Sequence
from itertools import count

import pytest

from neardup_stream.clusters.unclustered import Unclustered
from neardup_stream.message import Partition, Position
from neardup_stream.streams.memory.streams import MemorySource, numbered
from neardup_stream.wire.events import from_message
from tests.crashes import Burn, Fuse
from tests.page_histories import PARTITION, Content, Op, PageHistory, page_url, sharp_pipeline
from tests.pipelines import Pipeline, essay, page_json

COPIES = [Op(0, Content(1, 0)), Op(1, Content(1, 0)), Op(2, Content(1, 1)), Op(3, None)]
REGISTERED = 5
"""So many calls until pages are registered, and not probed yet."""

PAGES = {page_url(number) for number in range(3)}


async def cut_run(history: PageHistory, calls: int, ops: Sequence[Op]) -> bool:
    """Run these records until a call crashes; whether one did."""
    fuse = Fuse([Burn(calls, "before")])
    source = MemorySource(history.records(ops))
    await fuse.is_done(lambda: history.run(source, 8, fuse))
    return fuse.has_burnt


@pytest.mark.parametrize(
    "again",
    [Partition("another file", 0), Partition("pages@1", 0)],
    ids=["another input", "a raised epoch"],
)
async def test_what_a_cut_run_left_undecided_is_decided_where_it_comes_again(again: Partition) -> None:
    for calls in count():
        history = PageHistory(sharp_pipeline())
        was_cut = await cut_run(history, calls, COPIES)

        source = MemorySource(history.records(COPIES, again))
        await history.run(source, 8, Fuse())

        await history.check(random.Random(calls))
        assert [members for _, members in (await history.clusters()).values()] == [PAGES]
        if not was_cut:
            break


async def test_it_is_decided_by_a_later_record_where_the_first_was_deleted_unread() -> None:
    for calls in count():
        history = PageHistory(sharp_pipeline())
        was_cut = await cut_run(history, calls, COPIES)

        await history.run(MemorySource(history.records(COPIES)), 8, Fuse())

        assert [members for _, members in (await history.clusters()).values()] == [PAGES]
        if not was_cut:
            break


async def test_another_partition_may_decide_it_first_and_its_own_comes_late() -> None:
    for calls in count():
        history = PageHistory(sharp_pipeline())
        was_cut = await cut_run(history, calls, COPIES)
        late = list(history.crawled)

        await history.run(MemorySource(history.records(COPIES, Partition("pages", 1))), 8, Fuse())
        await history.run(MemorySource(late), 8, Fuse())

        await history.check(random.Random(calls))
        assert [members for _, members in (await history.clusters()).values()] == [PAGES]
        if not was_cut:
            break


async def test_a_page_that_waits_for_no_other_is_decided_only_once() -> None:
    """The second record claims the version from the first, and a third finds it decided."""
    history = PageHistory(sharp_pipeline())
    await cut_run(history, REGISTERED, COPIES[:2])

    for epoch in (1, 2):
        await history.run(MemorySource(history.records(COPIES[:2], Partition("again", epoch))), 8, Fuse())

    outcomes = history.pipeline.meters.outcomes
    assert (outcomes["unique"], outcomes["duplicate"], outcomes["unchanged"]) == (1, 1, 2)


async def test_without_clusters_it_is_decided_once_as_well() -> None:
    class Loose(Pipeline):
        def decider(self, _former: object = None) -> Unclustered:  # type: ignore[override]
            return Unclustered(self.clusters)

    pages = [page_json("a", essay(1)), page_json("b", essay(1))]
    for calls in count():
        pipeline = Loose()
        history = PageHistory(pipeline)
        fuse = Fuse([Burn(calls, "before")])
        await fuse.is_done(lambda: history.run(MemorySource(numbered(pages)), 8, fuse))  # noqa: B023 - at once
        for number in (1, 2):
            again = MemorySource(numbered(pages, partition=Partition("again", number)))
            async with again:
                await pipeline.loop(again).run(asyncio.Event())
        assert set(pipeline.pairs()[0][1]) == {"https://example.com/a"}
        assert len({from_message(message).id for message in pipeline.events.messages}) == 1
        if not fuse.has_burnt:
            break


async def test_a_version_that_changes_hands_keeps_its_number_and_what_was_applied() -> None:
    history = PageHistory(sharp_pipeline())
    await cut_run(history, REGISTERED, COPIES[:1])

    await history.run(MemorySource(history.records(COPIES[:1], Partition("again", 0))), 8, Fuse())

    (record,) = (await history.stored()).values()
    assert (record.version, record.maker) == (1, Position(Partition("again", 0), 0))
    assert record.last_applied(PARTITION) == 0
    assert record.rank
