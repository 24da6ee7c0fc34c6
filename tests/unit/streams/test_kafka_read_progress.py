"""Which offsets a membership may commit: those that what it read leads up to."""

import pytest
from aiokafka import TopicPartition

from neardup_stream.streams.kafka.read_progress import ReadProgress

ONE, OTHER = TopicPartition("pages", 0), TopicPartition("pages", 1)


def read_from_5_to_before_8() -> ReadProgress:
    runs = ReadProgress()
    runs.read(ONE, 5, 6)
    runs.read(ONE, 6, 8)
    return runs


@pytest.mark.parametrize(
    ("offset", "is_ours"),
    [
        pytest.param(4, False, id="an earlier membership's"),
        pytest.param(5, True, id="the beginning"),
        pytest.param(8, True, id="behind all"),
        pytest.param(9, False, id="a later one's"),
    ],
)
def test_only_what_was_read_leads_up_to_an_offset(offset: int, is_ours: bool) -> None:  # noqa: FBT001 - a case
    runs = read_from_5_to_before_8()

    assert runs.led_up_to({ONE: offset, OTHER: offset}) == ({ONE: offset} if is_ours else {})


def test_an_offset_is_committed_once() -> None:
    runs = read_from_5_to_before_8()

    assert runs.above_committed({ONE: 5}) == {}
    assert runs.above_committed({ONE: 6}) == {ONE: 6}
    runs.commit({ONE: 6, OTHER: 1})
    assert runs.above_committed({ONE: 6}) == {}
    assert runs.above_committed({ONE: 7}) == {ONE: 7}


def test_what_is_forgotten_begins_anew() -> None:
    runs = read_from_5_to_before_8()

    assert runs.forget(ONE)
    assert not runs.forget(ONE)
    assert runs.led_up_to({ONE: 8}) == {}


def test_a_note_names_the_committed_offset_and_is_written_once() -> None:
    runs = read_from_5_to_before_8()

    assert runs.above_noted({ONE: 5}) == {}
    assert runs.above_noted({ONE: 7}) == {ONE: 7}
    assert runs.committed([ONE]) == {ONE: 5}
    runs.note({ONE: 7, OTHER: 1})
    runs.commit({ONE: 6})
    assert runs.above_noted({ONE: 7}) == {}
    assert runs.above_noted({ONE: 8}) == {ONE: 8}
    assert runs.committed([ONE]) == {ONE: 6}
