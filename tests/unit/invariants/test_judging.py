"""The judges on a sound history, and on what they cannot know."""

import dataclasses
from typing import Any

import pytest

from neardup_stream.events import EVENT_DATA, event_type
from neardup_stream.invariants.judging import unjudged
from neardup_stream.wire.events import from_message
from tests.page_histories import page_url
from tests.sound_history import CLUSTERED, blame, sound_expectations, sound_history, with_record


def test_nothing_is_wrong_with_a_sound_history() -> None:
    assert blame(sound_history()) == {}
    assert unjudged(sound_history(), sound_expectations()) == {}


def test_the_sound_history_holds_what_the_other_tests_spoil() -> None:
    history = sound_history()

    types = {from_message(message).type for message in history.events}
    together = {
        cluster.representative.id: {history.records[handle].id for handle in cluster.members}
        for cluster in history.clusters.values()
    }
    untold = ("contained", "undecided", "archived")
    assert types == {event_type(name) for name in EVENT_DATA if name not in untold}
    assert len(history.dead_letters) == 1
    assert together == {page_url(one): set(map(page_url, pages)) for one, pages in CLUSTERED.items()}


@pytest.mark.parametrize(
    ("expected", "left_out"),
    [
        pytest.param({"is_quiet": False}, {4, 5, 8}, id="pages in flight"),
        pytest.param({"matching": None}, {5}, id="a rule that leaves matches apart"),
        pytest.param({"verdict": None}, {8}, id="verdicts that have changed"),
        pytest.param({"events_since_ms": 1}, {4, 8}, id="the first events deleted by the broker"),
        pytest.param({"events_since_ms": None}, {1, 4, 8}, id="any events"),
        pytest.param({"keeps_clusters": False}, {4, 5, 7, 8}, id="clusters switched off"),
    ],
)
def test_what_cannot_be_known_is_left_out_and_said(expected: dict[str, Any], left_out: set[int]) -> None:
    expectations = dataclasses.replace(sound_expectations(), **expected)

    assert unjudged(sound_history(), expectations).keys() == left_out


def test_pages_of_other_inputs_are_reported_elsewhere() -> None:
    history = with_record(sound_history(), 5, made_by=("file:0123", 0, 7))

    reason = "there are pages of other inputs too: file:0123"
    assert unjudged(history, sound_expectations()) == {4: reason, 8: reason}
