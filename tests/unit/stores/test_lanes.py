"""Calls that are sent together, and again where one of them was cut."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from neardup_stream.stores.redis.lanes import Lane


def lane_of(count: int, size: int = 10) -> Lane:
    return Lane(np.arange(count), size)


def sizes(lane: Lane) -> list[int]:
    return [len(part) for part in lane.parts()]


def test_all_calls_are_sent_together() -> None:
    lane = lane_of(35)

    assert sizes(lane) == [10, 10, 10, 5]
    assert [len(part) for part in lane.advance([10, 10, 10, 5])] == [10, 10, 10, 5]
    assert not lane


def test_what_stands_behind_a_cut_call_is_sent_again() -> None:
    lane = lane_of(35)

    done = lane.advance([10, 4, 10, 5])

    assert [part.tolist() for part in done] == [list(range(10)), list(range(10, 14))]
    assert [part.tolist() for part in lane.parts()] == [list(range(14, 24))]


def test_after_a_cut_each_round_trip_without_one_sends_twice_as_many_calls() -> None:
    lane = lane_of(200)
    lane.advance([1] * 20)

    sent = []
    while lane:
        sent.append(len(lane.parts()))
        lane.advance(sizes(lane))

    assert sent == [1, 2, 4, 8, 5]


def test_a_further_cut_begins_with_one_call_again() -> None:
    lane = lane_of(200)
    for counts in ([1] * 20, [10], [10, 10]):
        lane.advance(counts)

    lane.advance([10, 3, 10, 10])

    assert sizes(lane) == [10]


def test_a_lane_without_entries_sends_nothing() -> None:
    assert not lane_of(0)
    assert lane_of(0).parts() == []


@given(st.integers(0, 300), st.integers(1, 40), st.lists(st.integers(1, 40), min_size=400, max_size=400))
def test_every_entry_is_done_once_and_in_order(count: int, size: int, limits: Sequence[int]) -> None:
    lane, done, limit = Lane(np.arange(count), size), [], iter(limits)
    while lane:
        for part in lane.advance([min(len(part), next(limit)) for part in lane.parts()]):
            done += part.tolist()

    assert done == list(range(count))
