"""3: one event id, one payload, byte for byte."""

import msgspec
import pytest

from neardup_stream.message import Message
from neardup_stream.wire.events import event_id
from tests.sound_history import at, blame, message_of, sound_history

COPY = message_of(sound_history(), "duplicate", 16)
CLASH = f"duplicate event {event_id('duplicate', at(16))} was delivered with another payload"


def test_repeats_are_no_violation() -> None:
    history = sound_history()

    assert blame(history._replace(events=[*history.events, *history.events])) == {}


def test_a_broker_may_stamp_each_delivery_with_its_own_time() -> None:
    later = msgspec.structs.replace(COPY, timestamp_ms=COPY.timestamp_ms + 1)

    assert blame(sound_history()._replace(events=[*sound_history().events, later])) == {}


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(msgspec.structs.replace(COPY, value=(COPY.value or b"") + b" "), id="one byte of value"),
        pytest.param(msgspec.structs.replace(COPY, key=b"elsewhere"), id="another key"),
        pytest.param(
            msgspec.structs.replace(COPY, headers=[*COPY.headers, ("traceparent", b"00")]), id="a header more"
        ),
    ],
)
def test_a_delivery_that_differs_is_found(other: Message) -> None:
    assert blame(sound_history()._replace(events=[*sound_history().events, other]))[3] == [CLASH]


def test_a_message_that_carries_no_event_is_found() -> None:
    stray = Message(key=b"k", value=b"no JSON")

    (detail,) = blame(sound_history()._replace(events=[*sound_history().events, stray]))[3]

    assert detail.startswith("the message with key b'k' cannot be read: ")


def test_an_event_whose_data_is_not_what_its_type_promises_is_found() -> None:
    broken = msgspec.structs.replace(COPY, value=b'{"page":1}')

    (detail,) = blame(sound_history()._replace(events=[*sound_history().events, broken]))[3]

    assert "cannot be read" in detail


def test_events_of_other_programs_are_passed_over() -> None:
    foreign = msgspec.structs.replace(
        COPY,
        headers=[(name, b"org.example.v1" if name == "ce_type" else value) for name, value in COPY.headers],
    )

    assert blame(sound_history()._replace(events=[*sound_history().events, foreign])) == {}
