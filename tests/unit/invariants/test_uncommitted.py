"""Stored effects of records that are not committed are noticed, also where the topic was read before them."""

import pytest

from neardup_stream.invariants.uncommitted import has_uncommitted_effects
from tests.sound_history import sound_history, with_record


def test_a_sound_history_has_none() -> None:
    assert not has_uncommitted_effects(sound_history())


@pytest.mark.parametrize("behind", [0, 1])
def test_a_page_that_was_made_at_the_committed_offset_or_behind_it_is_one(behind: int) -> None:
    history = sound_history()
    (partition, committed), *_ = history.committed.items()
    maker = (partition.input_id, partition.number, committed - 1 + behind)

    assert has_uncommitted_effects(with_record(history, 5, made_by=maker)) is bool(behind)


def test_a_page_that_came_again_behind_it_is_one_too() -> None:
    history = sound_history()
    (partition, committed), *_ = history.committed.items()

    again = with_record(history, 5, later=((partition.input_id, partition.number, committed),))

    assert has_uncommitted_effects(again)


def test_offsets_of_inputs_that_are_not_judged_say_nothing() -> None:
    assert not has_uncommitted_effects(with_record(sound_history(), 5, made_by=("file:0123", 0, 10**9)))
