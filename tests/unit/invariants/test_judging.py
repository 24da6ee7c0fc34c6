"""The judges on a sound history, and on what they cannot know."""

import dataclasses
from typing import Any

import pytest

from neardup_stream.events import EVENT_DATA, EVENT_DECODERS, event_type
from neardup_stream.invariants.judging import unjudged
from neardup_stream.message import Partition, Position
from neardup_stream.stores.applied_positions import applied_at
from neardup_stream.wire.events import event_id, from_message
from tests.page_histories import page_url
from tests.sound_history import CLUSTERED, blame, sound_expectations, sound_history, with_event, with_record


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


def test_of_runs_over_files_the_other_file_is_asked_for() -> None:
    history = with_record(sound_history(), 5, made_by=("file:0123", 0, 7))
    of_files = history._replace(committed={Partition("file:4567", 0): 1})

    reason = unjudged(of_files, sound_expectations())[4]

    assert reason.endswith("; give its file with --pages and its events with --events, unless it was a pipe")


def test_forgets_from_no_stream_are_no_other_input_where_their_events_were_read() -> None:
    forgotten = Position(Partition("forget-0123456789abcdef", 0), 3)
    history = with_record(sound_history(), 5, made_by=applied_at(forgotten))
    (gone,) = (
        EVENT_DECODERS[event.type].decode(event.data)
        for event in map(from_message, history.events)
        if event.type == event_type("gone")
    )

    without = unjudged(history, sound_expectations())
    read = unjudged(
        with_event(history, "gone", 0, gone, own_id=event_id("gone", forgotten)), sound_expectations()
    )

    removed = "pages were removed by 'forget --state': forget-0123456789abcdef"
    reason = f"{removed}; give the events that it wrote with --events"
    assert without == {4: reason, 8: reason}
    assert read == {}
