"""Page records that Redis lost, or has as they were, while the clusters still know the pages."""

import random
from collections.abc import Iterable

import msgspec
import pytest

from neardup_stream.hashing.handles import handle_of
from neardup_stream.page import Handle, PageId
from neardup_stream.pipeline.event_config import EventConfig
from neardup_stream.stores.memory.clusters import MemoryClusters
from neardup_stream.stores.memory.records import MemoryRecords
from neardup_stream.streams.memory.streams import MemorySource
from neardup_stream.wire.events import from_message
from tests.crashes import Fuse
from tests.frail_records import lose_record, put_back_record, stored_records
from tests.page_histories import Content, Op, PageHistory, page_url, sharp_pipeline

A, B, C = Content(1, 0), Content(2, 0), Content(3, 0)


class FrailRecords(MemoryRecords):
    """Records of which some are lost, or go back to what they were."""

    def copy(self) -> dict[Handle, bytes]:
        return stored_records(self)

    def go_back(self, pages: Iterable[int], former: dict[Handle, bytes] | None = None) -> None:
        for page in pages:
            handle = handle_of(PageId(page_url(page)), bytes(16))
            lose_record(self, handle)
            if former is not None and handle in former:
                put_back_record(self, handle, former[handle])


def history_of(records: FrailRecords) -> PageHistory:
    return PageHistory(sharp_pipeline(records=records))


async def forgotten_by_the_clusters(history: PageHistory) -> None:
    """Let everything that has aged be swept."""
    history.pipeline.now_seconds += 2 * history.pipeline.tombstone_ttl_seconds
    await crawl(history, Op(9, Content(9, 0)))


def history_with_clock(records: FrailRecords) -> PageHistory:
    """The clusters have the clock of the pipeline, and subscribers hear of every page."""
    history = PageHistory(sharp_pipeline(records=records, event_config=EventConfig(unique=True)))
    history.pipeline.clusters = MemoryClusters(lambda: history.pipeline.now_seconds)
    return history


def versions(history: PageHistory, page: int) -> list[tuple[str, int]]:
    """Of all the events of a page, in the order they were published: their names and versions."""
    events = [from_message(message) for message in history.pipeline.events.messages]
    return [
        (event.type.split(".")[-2], msgspec.json.decode(event.data)["page"]["version"])
        for event in events
        if event.subject == page_url(page)
    ]


async def crawl(history: PageHistory, *ops: Op) -> None:
    for op in ops:  # one run each: they are decided one after the other
        await history.run(MemorySource(history.records([op])), 4, Fuse())


async def check(history: PageHistory, *families: set[int]) -> None:
    """The clusters are these, and folding the events gives the same."""
    await history.check(random.Random(1))
    found = {members for _, members in (await history.clusters()).values()}
    assert found == {frozenset(map(page_url, pages)) for pages in families}


async def test_a_page_with_another_text_leaves_the_cluster_that_its_lost_version_was_in() -> None:
    records = FrailRecords()
    history = history_of(records)
    await crawl(history, Op(0, A), Op(1, A))
    records.go_back([1])

    await crawl(history, Op(1, B), Op(2, B))

    await check(history, {1, 2})


async def test_a_page_that_matches_it_before_it_is_decided_joins_no_strangers() -> None:
    records = FrailRecords()
    history = history_of(records)
    await crawl(history, Op(0, A), Op(1, A))
    records.go_back([1])

    await history.run(MemorySource(history.records([Op(1, B), Op(2, B)])), 4, Fuse())

    await check(history, {1, 2})


async def test_a_representative_that_is_lost_hands_its_cluster_over_when_it_comes_with_another_text() -> None:
    records = FrailRecords()
    history = history_of(records)
    await crawl(history, Op(0, A), Op(1, A), Op(2, A))
    records.go_back([0])

    await crawl(history, Op(0, C))

    await check(history, {1, 2})


async def test_the_same_text_again_stays_where_it_was() -> None:
    records = FrailRecords()
    history = history_of(records)
    await crawl(history, Op(0, A), Op(1, A))
    records.go_back([1])

    await crawl(history, Op(1, A), Op(2, A))

    await check(history, {0, 1, 2})
    assert all(record.rank for record in (await history.stored()).values())


async def test_a_lone_page_that_was_lost_is_found_by_its_copies_again() -> None:
    records = FrailRecords()
    history = history_of(records)
    await crawl(history, Op(0, A), Op(1, B))
    records.go_back([0])

    await crawl(history, Op(0, A), Op(2, A))

    await check(history, {0, 2})


@pytest.mark.parametrize("comes", [A, B, C], ids=["the old text", "the lost text", "a third text"])
async def test_a_record_that_went_back_to_a_former_version_is_put_right(comes: Content) -> None:
    records = FrailRecords()
    history = history_of(records)
    await crawl(history, Op(0, A), Op(1, B), Op(2, A))
    former = records.copy()
    await crawl(history, Op(2, B))
    records.go_back([2], former)

    await crawl(history, Op(2, comes))

    await check(history, *({A: [{0, 2}], B: [{1, 2}], C: []}[comes]))


async def test_a_page_whose_stub_is_lost_returns_above_it() -> None:
    records = FrailRecords()
    history = history_of(records)
    await crawl(history, Op(0, A), Op(1, A), Op(1, None))
    records.go_back([1])

    await crawl(history, Op(1, A))

    await check(history, {0, 1})


@pytest.mark.parametrize("page", [0, 1], ids=["the representative", "a duplicate"])
async def test_a_page_without_a_record_can_be_forgotten(page: int) -> None:
    records = FrailRecords()
    history = history_of(records)
    await crawl(history, Op(0, A), Op(1, A), Op(2, A))
    records.go_back([page])

    await crawl(history, Op(page, None))

    await check(history, {0, 1, 2} - {page})
    assert history.pipeline.meters.outcomes["forgotten"] == 1


async def test_a_forget_of_a_record_that_went_back_is_above_what_was_published() -> None:
    records = FrailRecords()
    history = history_of(records)
    await crawl(history, Op(0, A), Op(1, A), Op(2, A))
    former = records.copy()
    await crawl(history, Op(1, B), Op(1, A))
    records.go_back([1], former)

    await crawl(history, Op(1, None))

    await check(history, {0, 2})


async def test_a_forget_of_a_page_that_is_unknown_stays_silent() -> None:
    history = history_of(FrailRecords())

    await crawl(history, Op(0, None))

    assert history.pipeline.meters.outcomes == {"forget_unknown": 1}


@pytest.mark.parametrize("lost", [[1], [1, 2], [1, 3], [1, 2, 3]], ids=str)
async def test_a_member_without_a_record_never_becomes_representative(lost: list[int]) -> None:
    records = FrailRecords()
    history = history_of(records)
    await crawl(history, *(Op(page, A) for page in range(4)))
    records.go_back(lost)

    await crawl(history, Op(0, None), Op(4, B), Op(5, B))

    assert history.pipeline.meters.outcomes["forgotten"] == 1
    await crawl(history, *(Op(page, A) for page in lost))
    await check(history, {1, 2, 3}, {4, 5})


async def test_a_lone_page_that_was_lost_before_its_tombstone_went_continues_above_its_last_version() -> None:
    records = FrailRecords()
    history = history_with_clock(records)
    await crawl(history, Op(0, A), Op(0, B))
    records.go_back([0])
    await forgotten_by_the_clusters(history)

    await crawl(history, Op(0, C), Op(1, C))

    assert versions(history, 0) == [("unique", 1), ("unique", 2), ("unique", 3)]
    await check(history, {0, 1})


async def test_a_lone_page_that_was_lost_can_be_forgotten_after_its_tombstone_is_due() -> None:
    records = FrailRecords()
    history = history_with_clock(records)
    await crawl(history, Op(0, A))
    records.go_back([0])
    await forgotten_by_the_clusters(history)

    await crawl(history, Op(0, None), Op(0, A))

    assert versions(history, 0) == [("unique", 1), ("gone", 2), ("unique", 3)]


async def test_a_forgotten_page_whose_stub_was_lost_returns_above_it_after_its_tombstone_went() -> None:
    records = FrailRecords()
    history = history_with_clock(records)
    await crawl(history, Op(0, A), Op(0, None))
    records.go_back([0])
    await forgotten_by_the_clusters(history)

    await crawl(history, Op(0, A))

    assert versions(history, 0) == [("unique", 1), ("gone", 2), ("unique", 3)]


async def test_a_record_that_went_back_is_above_its_last_version_after_its_tombstone_is_due() -> None:
    records = FrailRecords()
    history = history_with_clock(records)
    await crawl(history, Op(0, A))
    former = records.copy()
    await crawl(history, Op(0, B))
    records.go_back([0], former)
    await forgotten_by_the_clusters(history)

    await crawl(history, Op(0, C))

    assert versions(history, 0) == [("unique", 1), ("unique", 2), ("unique", 3)]


async def test_nothing_more_is_published_of_a_lost_page_that_comes_again_as_it_was() -> None:
    records = FrailRecords()
    history = history_with_clock(records)
    await crawl(history, Op(0, A))
    records.go_back([0])
    await forgotten_by_the_clusters(history)

    await crawl(history, Op(0, A))

    assert versions(history, 0) == [("unique", 1)]
    assert (await history.stored())[page_url(0)].rank
