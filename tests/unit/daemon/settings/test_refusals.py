"""Settings that are refused, and in which words."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.unit.daemon.settings.refusals import refusal


@pytest.mark.parametrize(
    ("overrides", "environ", "message"),
    [
        pytest.param(
            ["kafka.page_topic=x"],
            {},
            "--set kafka.page_topic: there is no setting 'kafka.page_topic'; did you mean kafka.pages_topic?",
            id="typo-in-flag",
        ),
        pytest.param(
            [],
            {"NEARDUP_KAFKA__PAGE_TOPIC": "x"},
            "environment variable NEARDUP_KAFKA__PAGE_TOPIC: there is no setting 'kafka.page_topic';"
            " did you mean NEARDUP_KAFKA__PAGES_TOPIC?",
            id="typo-in-environment",
        ),
        pytest.param(
            [],
            {"NEARDUP_REDIS_URL": "x"},
            "environment variable NEARDUP_REDIS_URL: there is no setting 'redis_url';"
            " did you mean NEARDUP_REDIS__URL?",
            id="one-underscore-where-two-nest",
        ),
        pytest.param(
            ["bucket_cap=9"],
            {},
            "--set bucket_cap: there is no setting 'bucket_cap'; did you mean index.bucket_cap?",
            id="section-forgotten",
        ),
        pytest.param(
            [],
            {"NEARDUP_UNRELATED__X": "x"},
            "environment variable NEARDUP_UNRELATED__X: there is no setting 'unrelated.x';"
            " see 'neardup-stream config show' for all of them",
            id="nothing-close",
        ),
        pytest.param(
            [],
            {"NEARDUP_HTTP_PORT": "9000"},
            "environment variable NEARDUP_HTTP_PORT: there is no setting 'http_port';"
            " did you mean NEARDUP_HTTP__PORT?",
            id="port-with-one-underscore",
        ),
    ],
)
def test_an_unknown_name_is_refused_and_named(
    overrides: Sequence[str], environ: Mapping[str, str], message: str
) -> None:
    assert refusal(overrides, environ) == message


@pytest.mark.parametrize(
    ("text", "name"),
    [
        pytest.param("[kafka]\npages_topik = 'x'", "kafka.pages_topik", id="key"),
        pytest.param("[kafak]\npages_topic = 'x'", "kafak", id="section"),
        pytest.param("[page.fields]\nurll = 'x'", "page.fields.urll", id="nested"),
        pytest.param("pages_topic = 'x'", "pages_topic", id="no-section"),
        pytest.param("kafka = 3", "kafka", id="section-as-a-value"),
    ],
)
def test_an_unknown_name_in_a_file_is_named_in_full_with_the_file(
    tmp_path: Path, text: str, name: str
) -> None:
    file = tmp_path / "crawl.toml"
    file.write_text(text)

    assert f": there is no setting '{name}'" in refusal(config=file)
    assert refusal(config=file).startswith(f"{name} in {file}, line ")


@pytest.mark.parametrize(
    ("table", "section"),
    [
        ("redsi", "redis"),
        ("htpp", "http"),
        ("rediss", "redis"),
        ("page.field", "page.fields"),
    ],
)
def test_a_misspelled_section_of_a_file_is_suggested(tmp_path: Path, table: str, section: str) -> None:
    file = tmp_path / "crawl.toml"
    file.write_text(f"[{table}]\nurl = 'redis://a'\n")

    assert refusal(config=file).endswith(f"there is no setting '{table}'; did you mean [{section}]?")


def test_a_section_that_is_like_no_other_is_followed_by_where_to_look(tmp_path: Path) -> None:
    file = tmp_path / "crawl.toml"
    file.write_text("[other]\nx = 1\n")

    assert refusal(config=file).endswith("; see 'neardup-stream config show' for all of them")


@pytest.mark.parametrize(
    ("override", "message"),
    [
        pytest.param(
            "index.blocks=many", "--set index.blocks: expected a whole number, got 'many'", id="no-number"
        ),
        *(
            pytest.param(
                f"http.port={text}", f"--set http.port: expected a whole number, got '{text}'", id=text
            )
            for text in ("+5", "05", "1_000", "0x5")
        ),
        *(
            pytest.param(
                f"http.port={text}",
                f"--set http.port: expected a whole number in plain digits, got '{text}'",
                id=text,
            )
            for text in ("1e3", "5.0", "-0")
        ),
        pytest.param(
            "pages.status=200,3e2",
            "--set pages.status: expected a whole number in plain digits, got '200,3e2'",
            id="list-of-other",
        ),
        pytest.param(
            "http.port=-1", "--set http.port: expected a whole number >= 0, got '-1'", id="below-range"
        ),
        pytest.param(
            "http.port=65536",
            "--set http.port: expected a whole number <= 65535, got '65536'",
            id="above-range",
        ),
        pytest.param(
            "index.bucket_cap=1000001",
            "--set index.bucket_cap: expected a whole number <= 1000000, got '1000001'",
            id="more-than-a-probe-may-read",
        ),
        pytest.param(
            "limits.page_seconds=1e-300",
            "--set limits.page_seconds: expected a number >= 0.01, got '1e-300'",
            id="less-than-a-timer-counts",
        ),
        pytest.param(
            "events.unique=maybe", "--set events.unique: expected true or false, got 'maybe'", id="no-boolean"
        ),
        pytest.param(
            "pages.status=200,x", "--set pages.status: expected a whole number, got '200,x'", id="list-item"
        ),
        *(
            pytest.param(
                f"archive.files={text}",
                "--set archive.files: expected items with commas between them, or a list as JSON,"
                f" got {text!r}",
                id=name,
            )
            for text, name in (('["a.nda", b.nda]', "list-half-quoted"), ('["' * 20_000, "nested-list"))
        ),
        pytest.param(
            "kafka.first_start=now",
            "--set kafka.first_start: expected one of earliest, latest, fail, got 'now'",
            id="no-choice",
        ),
        pytest.param(
            "sketch.code_bits=3",
            "--set sketch.code_bits: expected one of 4, 8, got '3'",
            id="no-choice-of-numbers",
        ),
        pytest.param(
            "kafka.pages_topic=a b",
            "--set kafka.pages_topic: expected a value like 'crawl.pages' (Topic the pages are read from, 1"
            " to 249 of the characters A-Z, a-z, 0-9, `.`, `_` and `-`.), got 'a b'",
            id="pattern",
        ),
        pytest.param(
            "index.expected_pages=20M",
            "--set index.expected_pages: expected a whole number, got '20M': write 20000000",
            id="abbreviated",
        ),
        pytest.param(
            "retention.seconds=7d",
            "--set retention.seconds: expected a number, got '7d': write 604800, in seconds",
            id="days",
        ),
        pytest.param(
            "kafka.request_timeout_seconds=1.5m",
            "--set kafka.request_timeout_seconds: expected a number, got '1.5m': write 90, in seconds",
            id="minutes",
        ),
        pytest.param(
            "retention.seconds=7D",
            "--set retention.seconds: expected a number, got '7D': write 604800, in seconds",
            id="days-in-capitals",
        ),
        pytest.param(
            "index.expected_pages=20k",
            "--set index.expected_pages: expected a whole number, got '20k': write 20000",
            id="in-small-letters",
        ),
        pytest.param(
            "kafka.request_timeout_seconds=7d",
            "--set kafka.request_timeout_seconds: expected a number, got '7d'",
            id="more-than-is-allowed",
        ),
        pytest.param(
            "http.port=90k", "--set http.port: expected a whole number, got '90k'", id="more-than-a-port"
        ),
        pytest.param("redis.url", "--set redis.url: write it as section.key=value", id="no-equals-sign"),
    ],
)
def test_a_value_that_is_not_allowed_is_refused_in_words(override: str, message: str) -> None:
    assert refusal([override]) == message


@pytest.mark.parametrize(
    "servers",
    [
        "",
        ",",
        "http://localhost:9092",
        "PLAINTEXT://127.0.0.1:9092",
        "kafka-1:9092,SSL://kafka-2:9092",
        "kafka-1:9092;kafka-2:9092",
        "kafka-1:9092 kafka-2:9092",
        "kafka -1:9092",
        "kafka:",
        "kafka:port",
        "kafka:9092:9093",
        "10.0.0.1:9092:9093",
        "[::1:9092",
        "[::1]9092",
        "kafka:0",
        "kafka:65536",
        "kafka-1:9092,kafka-2:99999",
        "[::1]:70000",
        "*",
        "*:9092",
        ".kafka:9092",
        "a..b:1",
        "kafka..",
        "kafka-1:9092,kafka..example:9092",
        f"{'k' * 64}.example:9092",
        "fe80::1%eth0",  # which the client takes for the port 1%eth0
    ],
)
def test_brokers_in_another_form_are_refused(servers: str) -> None:
    assert refusal([f"kafka.bootstrap_servers={servers}"]) == (
        "--set kafka.bootstrap_servers: expected a value like 'kafka-1:9092,kafka-2:9092'"
        f" (Brokers to contact first, as `host:port,host:port`.), got {servers!r}"
    )


@pytest.mark.parametrize(
    "name", ["kafka.pages_topic", "kafka.group_instance_id", "redis.namespace", "redis.url"]
)
def test_a_name_does_not_end_in_a_line_end(name: str) -> None:
    assert refusal([f"{name}=redis\n"]).startswith(f"--set {name}: expected")


def test_all_that_is_wrong_is_reported_at_once_with_the_lines_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "crawl.toml"
    file.write_text("[http]\nport = 'x'  # 'y'\n\n[ index ]\nblocks = 4\nblock = 5\n")

    message = refusal(["log.level=loud"], {"NEARDUP_EVENTS__UNIQUE": "maybe"}, file)

    assert message.split("; ") == [
        f"http.port in {file}, line 2: expected a whole number, got 'x'",
        f"index.block in {file}, line 6: there is no setting 'index.block'",
        "did you mean index.blocks?",
        "environment variable NEARDUP_EVENTS__UNIQUE: expected true or false, got 'maybe'",
        "--set log.level: expected one of debug, info, warning, error, got 'loud'",
    ]


def test_of_many_refusals_the_first_ten_are_reported() -> None:
    message = refusal([f"nothing.x{number}=1" for number in range(12)])

    assert message.count("there is no setting") == 10
    assert message.endswith("; and 2 more")


@pytest.mark.parametrize("scope", ["foo", "meta.", "Host", ""])
def test_a_scope_of_frames_that_does_not_exist_is_refused(scope: str) -> None:
    assert "frames.scope" in refusal([f"frames.scope={scope}"])


@pytest.mark.parametrize(
    ("override", "likes"),
    [
        ("redis.url=localhost:6379", "a value like 'redis://localhost:6379/0' ("),
        ("frames.scope=none", "a value like 'host' or 'domain' or 'meta.site' or 'off' ("),
        ("page.fields.url=a..b", "a value like 'content' or 'target.url' ("),
    ],
)
def test_a_value_of_another_form_is_refused_with_an_example(override: str, likes: str) -> None:
    message = refusal([override])

    assert likes in message
    assert "regex" not in message


@pytest.mark.parametrize("name", ["http.port", "events.unique", "clusters.rule", "kafka.group_id"])
def test_a_value_that_is_not_utf8_is_refused(name: str) -> None:
    assert name in refusal([f"{name}=\udcff"])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("archive.files", '["/a", "/b\\u0000c"]'),
        ("redis.password_file", '"/p\\u0000"'),
        ("kafka.tls_ca_file", '"\\u0000"'),
        ("http.host", '"127.0.0.1\\u0000"'),
        ("kafka.bootstrap_servers", '"kafka\\u0000:9092"'),
    ],
)
def test_a_null_character_is_refused(tmp_path: Path, name: str, value: str) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(f"{name} = {value}\n")

    assert refusal(config=file).startswith(f"{name} in {file}, line 1: expected no null character, got ")


@pytest.mark.parametrize(
    ("text", "wanted"), [('["a\\u0000b"]', "no null character"), ('["\\ud800"]', "UTF-8")]
)
def test_a_character_that_no_path_can_have_is_refused_in_a_list_as_json(text: str, wanted: str) -> None:
    assert f"ARCHIVE__FILES: expected {wanted}, got " in refusal(environ={"NEARDUP_ARCHIVE__FILES": text})


def test_a_number_that_is_abbreviated_in_a_file_is_shown_in_digits(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('[index]\nexpected_pages = "1.5G"\n')

    assert refusal(config=file).endswith("expected a whole number, got '1.5G': write 1_500_000_000")
