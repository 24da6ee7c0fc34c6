"""What follows from settings without being one."""

import pytest
from neardup_daemon.kafka_wiring import kafka_source
from neardup_daemon.settings.settings import Settings


@pytest.mark.parametrize(
    ("session_timeout_seconds", "heartbeat_seconds"), [(0.5, 0.125), (12.0, 3.0), (30.0, 3.0)]
)
def test_heartbeats_are_four_to_a_session_but_none_rarer_than_three_seconds(
    session_timeout_seconds: float, heartbeat_seconds: float
) -> None:
    settings = Settings.load(overrides=[f"kafka.session_timeout_seconds={session_timeout_seconds}"])

    source = kafka_source(settings, "pages", "group", "earliest")

    assert source._config.heartbeat_interval_seconds == heartbeat_seconds
