"""Settings that contradict each other, or can never work."""

from collections.abc import Sequence

import pytest

from tests.unit.daemon.settings.refusals import refusal


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        pytest.param(
            ["index.blocks=3"],
            "index.blocks (3) must be greater than index.distance_bits (3), or set index.substrings = 2",
            id="blocks-and-distance",
        ),
        pytest.param(["index.substrings=5"], "substrings (5) must be in [1, 4]", id="substrings"),
        pytest.param(["index.shards=3"], "power of two", id="shards"),
        pytest.param(
            ["pipeline.max_batch_pages=2049"], "pipeline.max_in_flight_pages (2048)", id="batch-too-big"
        ),
        pytest.param(["kafka.events_topic=pages"], "must be three different topics", id="feeds-on-itself"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(overrides: Sequence[str], message: str) -> None:
    assert message in refusal(overrides)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["redis.username=me"], "redis.password or its file: neither is set"),
        (["kafka.sasl_username=me"], "kafka.sasl_password or its file: neither is set"),
        (["kafka.tls_ca_file=ca.pem"], "kafka.tls is false"),
        (
            ["kafka.tls=true", "kafka.tls_key_file=k"],
            "kafka.tls_key_file is set, but tls_certificate_file is not",
        ),
        (["redis.tls_ca_file=ca.pem"], "use rediss"),
        (["redis.url=rediss://c", "redis.tls_key_file=k"], "redis.tls_key_file is set"),
    ],
)
def test_half_of_what_security_needs_is_refused(overrides: Sequence[str], message: str) -> None:
    assert message in refusal(overrides)
