"""What follows from settings without being one."""

import pytest
from neardup_daemon.kafka_wiring import kafka_sink, kafka_source
from neardup_daemon.settings.settings import Settings

_MIB = 1 << 20
_ENVELOPE_BYTES = 1 << 16


@pytest.mark.parametrize(
    ("session_timeout_seconds", "heartbeat_seconds"), [(0.5, 0.125), (12.0, 3.0), (30.0, 3.0)]
)
def test_heartbeats_are_four_to_a_session_but_none_rarer_than_three_seconds(
    session_timeout_seconds: float, heartbeat_seconds: float
) -> None:
    settings = Settings.load(overrides=[f"kafka.session_timeout_seconds={session_timeout_seconds}"])

    source = kafka_source(settings, "pages", "group", "earliest")

    assert source._config.heartbeat_interval_seconds == heartbeat_seconds


@pytest.mark.parametrize(
    ("max_page_bytes", "max_message_bytes"),
    [
        (4 * _MIB, 8_253_440),
        (8_253_440 - _ENVELOPE_BYTES, 8_253_440),
        (8_253_441 - _ENVELOPE_BYTES, 8_253_441),
        (16 * _MIB, 16 * _MIB + _ENVELOPE_BYTES),
        (1 << 30, (1 << 30) + _ENVELOPE_BYTES),
    ],
)
def test_the_largest_page_with_its_key_and_headers_fits_into_a_message_to_every_topic(
    max_page_bytes: int, max_message_bytes: int
) -> None:
    settings = Settings.load(overrides=[f"limits.max_page_bytes={max_page_bytes}"])

    for topic in ("pages", "events", "dead-letters"):
        assert kafka_sink(settings, topic).max_message_bytes == max_message_bytes
