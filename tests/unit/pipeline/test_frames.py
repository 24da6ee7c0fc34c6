"""Frame tables between the store and the pages: fetched, taught by several writers, read again when stale."""

import numpy as np
import pytest

from neardup_stream.frames.lines import FrameConfig
from neardup_stream.frames.table import STAMP_BYTES
from neardup_stream.pipeline.arrival import Arrival, Forget, Lesson, Prepared
from neardup_stream.pipeline.frames import site_hash
from neardup_stream.stores.memory.frames import MemoryFrames
from tests.pages_of_sites import framed_site
from tests.unit.pipeline.framing_daemons import (
    KEY,
    OTHER,
    SHOP,
    BusyFrames,
    Daemon,
    LostAnswers,
    prepared,
    stored,
)

CONTENT_WORDS = 60


def content_tokens(viewed: Prepared) -> list[int]:
    return [arrival.content_token_count for arrival in viewed.arrivals]


async def test_what_a_daemon_was_taught_is_stored_by_site() -> None:
    store = MemoryFrames()
    daemon = Daemon(store)

    await daemon.teach([1, 2], [2, 3])
    await daemon.teach([4], site=OTHER)

    assert await stored(store) == (2, {1: 1, 2: 2, 3: 1})
    assert await stored(store, OTHER) == (1, {4: 1})
    assert (daemon.meters.taught, daemon.meters.dropped) == (2, 0)


async def test_no_two_tables_that_are_written_have_one_stamp() -> None:
    store, stamps = MemoryFrames(), []
    daemons = [Daemon(store), Daemon(store)]
    for daemon in daemons * 2:
        for site in (SHOP, OTHER):
            await daemon.teach([1], site=site)
            (packed,) = await store.fetch([site_hash(site, KEY)])
            stamps.append((packed or b"")[:STAMP_BYTES])

    assert len(set(stamps)) == len(stamps)


async def test_what_one_daemon_learned_another_takes_out() -> None:
    store = MemoryFrames()
    await Daemon(store).crawl(framed_site(SHOP, 1, 6))

    assert content_tokens(await Daemon(store).view(framed_site(SHOP, 7, 1))) == [CONTENT_WORDS]


async def test_a_conflict_merges_what_both_writers_learned() -> None:
    store = MemoryFrames()
    one, other = Daemon(store), Daemon(store)
    for daemon in (one, other):
        await daemon.view(framed_site(SHOP, 1, 1))  # both have seen the empty table

    await one.teach([1, 2])
    await other.teach([2, 3])

    assert await stored(store) == (2, {1: 1, 2: 2, 3: 1})
    assert [one.meters.taught, other.meters.taught] == [1, 1]


async def test_a_lesson_stands_two_conflicts() -> None:
    store = BusyFrames(conflicts=2)
    daemon = Daemon(store)

    await daemon.teach([7])

    assert await stored(store) == (3, {1: 1, 2: 1, 7: 1})
    assert (daemon.meters.taught, daemon.meters.dropped) == (1, 0)


async def test_after_three_conflicts_a_lesson_is_dropped_and_counted() -> None:
    store = BusyFrames(conflicts=3)
    daemon = Daemon(store)

    await daemon.teach([7])
    assert await stored(store) == (3, {1: 1, 2: 1, 3: 1})
    assert (daemon.meters.taught, daemon.meters.dropped) == (0, 1)

    await daemon.teach([8])
    assert await stored(store) == (4, {1: 1, 2: 1, 3: 1, 8: 1})


async def test_a_conflict_about_one_site_does_not_hold_back_another() -> None:
    store = MemoryFrames()
    one, other = Daemon(store), Daemon(store)
    await other.view([*framed_site(SHOP, 1, 1), *framed_site(OTHER, 1, 1)])
    await one.teach([1])

    lessons = [Lesson(SHOP, np.array([2], np.uint32)), Lesson(OTHER, np.array([3], np.uint32))]
    await other.frames.learn(Prepared([], [], [], 0), lessons)

    assert await stored(store) == (2, {1: 1, 2: 1})
    assert await stored(store, OTHER) == (1, {3: 1})
    assert (other.meters.taught, other.meters.dropped) == (2, 0)


async def test_a_lesson_whose_write_is_repeated_counts_once() -> None:
    store = LostAnswers(failures=2)
    daemon = Daemon(store)

    await daemon.teach([1, 2])
    await daemon.teach([2])

    assert await stored(store) == (2, {1: 1, 2: 2})
    assert (daemon.meters.taught, daemon.meters.dropped) == (2, 0)


async def test_without_lessons_nothing_is_written() -> None:
    store = BusyFrames(conflicts=0)
    daemon = Daemon(store)

    await daemon.teach()

    assert (store.calls, daemon.meters.taught, daemon.meters.dropped) == (0, 0, 0)


async def test_a_table_is_read_again_after_10_seconds() -> None:
    store = BusyFrames(conflicts=0)
    one, other = Daemon(store, window_pages=0), Daemon(store)
    first, second = framed_site(SHOP, 1, 1), framed_site(SHOP, 2, 1)
    viewed = await one.view(first)
    assert content_tokens(viewed) != [CONTENT_WORDS]
    await one.frames.learn(viewed, [])
    await other.crawl(framed_site(SHOP, 10, 6))

    fetches = store.fetches
    one.seconds = 10.0
    viewed = await one.view(second)
    assert content_tokens(viewed) != [CONTENT_WORDS]
    await one.frames.learn(viewed, [])
    assert store.fetches == fetches

    one.seconds = 10.1
    assert content_tokens(await one.view(second)) == [CONTENT_WORDS]
    assert store.fetches == fetches + 1


async def test_what_a_daemon_wrote_itself_it_does_not_read_again() -> None:
    store = BusyFrames(conflicts=0)
    daemon = Daemon(store)
    await daemon.crawl(framed_site(SHOP, 1, 6))
    fetches = store.fetches

    daemon.seconds = 10.0

    assert content_tokens(await daemon.view(framed_site(SHOP, 7, 1))) == [CONTENT_WORDS]
    assert store.fetches == fetches


async def test_a_page_that_was_learned_is_not_counted_as_in_flight_too() -> None:
    """A line of the one other page must not count as if two pages had it."""
    config = FrameConfig(markup_pages=2, landmark_pages=2)
    daemon = Daemon(MemoryFrames(), config)
    numbers = [np.array([number], np.uint32) for number in range(30)]
    await daemon.frames.learn(Prepared([], [], [], 0), [Lesson(SHOP, each) for each in numbers])
    await daemon.crawl(framed_site(SHOP, 1, 1))

    (page,) = (await daemon.view(framed_site(SHOP, 2, 1))).arrivals

    assert page.content_token_count == page.token_count


async def test_only_the_distinct_pages_of_a_batch_are_learned() -> None:
    store = MemoryFrames()
    daemon = Daemon(store)
    viewed = await daemon.view(framed_site(SHOP, 1, 6))

    await daemon.frames.learn(viewed, list(viewed.lessons.values())[:2])

    assert (await stored(store))[0] == 2


@pytest.mark.parametrize(("pages_after", "are_counted"), [(10, True), (11, False)])
async def test_refuted_lessons_are_taken_back_a_window_of_pages_later(
    *, pages_after: int, are_counted: bool
) -> None:
    """By the time it takes to decide pages nothing changes."""
    daemon = Daemon(MemoryFrames(), window_pages=11)
    await daemon.frames.learn(await daemon.view(framed_site(SHOP, 1, 6)), [])
    await daemon.crawl(framed_site(OTHER, 1, pages_after))

    (page,) = (await daemon.view(framed_site(SHOP, 7, 1))).arrivals

    assert (page.content_token_count == CONTENT_WORDS) == are_counted


async def test_refuted_lessons_of_each_batch_are_taken_back() -> None:
    daemon = Daemon(MemoryFrames(), window_pages=1)
    for first in (1, 7):
        await daemon.frames.learn(await daemon.view(framed_site(SHOP, first, 6)), [])
    await daemon.crawl(framed_site(OTHER, 1, 1))

    (page,) = (await daemon.view(framed_site(SHOP, 13, 1))).arrivals

    assert page.content_token_count == page.token_count


async def test_lessons_of_a_batch_that_is_not_decided_yet_count_beyond_the_window() -> None:
    daemon = Daemon(MemoryFrames(), window_pages=1)
    await daemon.view(framed_site(SHOP, 1, 6))
    await daemon.crawl(framed_site(OTHER, 1, 3))

    assert content_tokens(await daemon.view(framed_site(SHOP, 7, 1))) == [CONTENT_WORDS]


async def test_a_table_with_a_page_of_another_daemon_has_each_page_once() -> None:
    """A page that both have decided and one has in flight would be frame by itself if it counted twice."""
    store, config = MemoryFrames(), FrameConfig(markup_pages=2, landmark_pages=2)
    one, other = Daemon(store, config), Daemon(store, config)
    numbers = [np.array([number], np.uint32) for number in range(30)]
    await one.frames.learn(Prepared([], [], [], 0), [Lesson(SHOP, each) for each in numbers])
    await one.crawl(framed_site(SHOP, 1, 1))
    await other.teach([99])
    await one.teach([98])

    (page,) = (await one.view(framed_site(SHOP, 2, 1))).arrivals

    assert (await stored(store))[0] == 33
    assert page.content_token_count == page.token_count


async def test_a_table_that_was_removed_is_learned_anew() -> None:
    store = MemoryFrames()
    daemon = Daemon(store)
    await daemon.crawl(framed_site(SHOP, 1, 6))
    await store.remove(site_hash(SHOP, KEY))

    daemon.seconds = 10.1
    (page,) = (await daemon.view(framed_site(SHOP, 7, 1))).arrivals

    assert page.content_token_count == page.token_count


async def test_no_more_lines_are_kept_than_configured() -> None:
    store = MemoryFrames()

    await Daemon(store, FrameConfig(max_lines=16)).teach([*range(100)])

    assert len((await stored(store))[1]) == 16


async def test_other_items_keep_their_places() -> None:
    batch = prepared([*framed_site(SHOP, 1, 2), None, b"no page", *framed_site(OTHER, 1, 1)])

    viewed = await Daemon(MemoryFrames()).frames.view(batch)

    assert [type(item) for item in viewed.items] == [Arrival, Arrival, Forget, Arrival]
    assert [item.record for item in viewed.items] == [item.record for item in batch.items]
    assert viewed.rejected == batch.rejected


def test_the_store_sees_no_names_of_sites() -> None:
    assert site_hash(SHOP, KEY) != site_hash(SHOP, bytes([1] * 16))
    assert len({site_hash(site, KEY) for site in (SHOP, OTHER, "")}) == 3
