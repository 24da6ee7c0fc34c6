"""Script calls take as many entries as the work of earlier entries allows."""

import pytest

from neardup_stream.stores.redis.call_sizes import CallSize

MOST_ENTRIES, MOST_WORK = 400, 2000


def size_after(*observed: tuple[int, int]) -> int:
    size = CallSize(MOST_ENTRIES, MOST_WORK)
    for entries, work in observed:
        size.observe(entries, work)
    return size.entries


def test_calls_take_the_most_entries_while_nothing_is_known() -> None:
    assert size_after() == size_after((0, 0)) == MOST_ENTRIES


@pytest.mark.parametrize(("work_per_entry", "entries"), [(1, 400), (4, 250), (10, 100), (25, 40), (200, 40)])
def test_calls_are_planned_for_half_the_work_within_their_limits(work_per_entry: int, entries: int) -> None:
    assert size_after((1000, 1000 * work_per_entry)) == entries


def test_one_batch_of_large_buckets_changes_the_size_by_a_fifth_of_the_difference() -> None:
    assert size_after((1000, 4_000), (1000, 24_000)) == MOST_WORK // 2 // 8


def test_the_size_follows_work_that_stays() -> None:
    assert size_after((1000, 40_000), *[(1000, 4_000)] * 50) == pytest.approx(250, abs=1)
