"""Settings that contradict each other, or can never work."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from neardup_daemon.settings.settings import Settings

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
        pytest.param(
            ["index.blocks=64", "index.distance_bits=63"], "leaves a prefix of 1 bits", id="short-prefix"
        ),
        pytest.param(
            ["api.enabled=true", "api.port=9464"],
            "http.port (9464) and api.port must be two ports",
            id="two-servers-on-one-port",
        ),
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


@pytest.mark.parametrize(
    "overrides",
    [
        ["api.port=9464"],
        ["api.enabled=true", "api.port=0", "http.port=0"],
        ["api.enabled=true", "api.port=9464", "http.host=127.0.0.2"],
        ["pages.status=200,304"],
        ["page.fields.id=url"],
    ],
)
def test_settings_that_can_work_are_accepted(overrides: Sequence[str]) -> None:
    assert Settings.load(overrides=overrides)


@pytest.mark.parametrize(
    ("override", "wanted"),
    [
        ("sketch.bins=17", "expected a whole number that's a multiple of 2, got '17'"),
        ("verdict.scope=foo", "expected a value like 'everything' or 'host' or 'meta.site'"),
        ("verdict.scope=meta.", "expected a value like"),
        ("frames.scope=meta.a..b", "expected a value like"),
        ("kafka.request_timeout_seconds=0.0001", "expected a number >= 0.001"),
        ("kafka.session_timeout_seconds=0.0001", "expected a number >= 0.001"),
        ("verdict.min_tokens=100000000000000000000000000000", "expected a whole number <= 1073741824"),
        ("verdict.policy=100000000000000000000000000000", "expected a whole number <= 9223372036854775807"),
    ],
)
def test_a_value_that_can_never_work_is_refused(override: str, wanted: str) -> None:
    assert f"--set {override.partition('=')[0]}: {wanted}" in refusal([override])


@pytest.mark.parametrize(
    "url",
    [
        "redis://h:70000/0",
        "redis+cluster://a:1,b:70000",
        "redis+cluster://a:1,b",
        "redis+sentinel://a:1,b:/pages",
    ],
)
def test_a_port_of_redis_that_cannot_be_is_refused(url: str) -> None:
    assert "redis.url cannot be read" in refusal([f"redis.url={url}"])


def test_all_sections_that_contradict_themselves_are_reported_with_the_lines_of_the_file(
    tmp_path: Path,
) -> None:
    file = tmp_path / "crawl.toml"
    file.write_text(
        '[index]\nshards = 3\n[api]\nhost = "0.0.0.0"\n'
        '[kafka]\npages_topic = "neardup-events"\n[sketch]\nbins = 17\n'
    )

    refused, topics, shards, host = refusal(["redis.username=me"], config=file).split("; ", 3)

    assert refused == f"sketch.bins in {file}, line 8: expected a whole number that's a multiple of 2, got 17"
    assert topics.endswith(f"must be three different topics (kafka.pages_topic in {file}, line 6)")
    assert shards.startswith("redis.password or its file")
    assert f"power of two, at most 256 (index.shards in {file}, line 2); api.host '0.0.0.0'" in host
    assert host.endswith(f"or listen on 127.0.0.1 (api.host in {file}, line 4)")


def test_a_section_with_a_value_that_is_refused_is_not_blamed_for_its_defaults() -> None:
    message = refusal(["index.distance_bits=many", "index.blocks=3"])

    assert message == "--set index.distance_bits: expected a whole number, got 'many'"


def test_a_section_with_a_misspelled_name_is_not_said_to_lack_it() -> None:
    message = refusal(["api.host=0.0.0.0", "api.token_fil=/token"])

    assert message.endswith("did you mean api.token_file?")
    assert "can be reached" not in message


def test_a_variable_that_contradicts_another_is_named() -> None:
    message = refusal(environ={"NEARDUP_INDEX__SHARDS": "3"})

    assert message.endswith("at most 256 (environment variable NEARDUP_INDEX__SHARDS)")
