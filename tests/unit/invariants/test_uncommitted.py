"""Records in flight are noticed, also those that came after the topic was read."""

import pytest

from neardup_stream.invariants.uncommitted import is_all_committed
from tests.sound_history import sound_history, with_record


def test_of_a_sound_history_everything_is_committed() -> None:
    assert is_all_committed(sound_history())


def test_a_record_that_was_read_and_is_not_committed_is_in_flight() -> None:
    history = sound_history()
    (partition, committed), *_ = history.committed.items()

    assert not is_all_committed(history._replace(committed={**history.committed, partition: committed - 1}))


@pytest.mark.parametrize("behind", [-1, 0, 1])
def test_a_page_that_was_made_at_the_committed_offset_or_behind_it_was_in_flight(behind: int) -> None:
    history = sound_history()
    (partition, committed), *_ = history.committed.items()
    maker = (partition.input_id, partition.number, committed + behind)

    assert is_all_committed(with_record(history, 5, made_by=maker)) is (behind < 0)


def test_a_page_that_came_again_behind_it_was_in_flight_too() -> None:
    history = sound_history()
    (partition, committed), *_ = history.committed.items()

    again = with_record(history, 5, later=((partition.input_id, partition.number, committed),))

    assert not is_all_committed(again)


def test_offsets_of_inputs_that_are_not_judged_say_nothing() -> None:
    assert is_all_committed(with_record(sound_history(), 5, made_by=("file:0123", 0, 10**9)))
