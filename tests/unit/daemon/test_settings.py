import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import pytest
from neardup_daemon.preparing import index_layout, sketch_config, verdict_config
from neardup_daemon.settings.loading import known_settings, read_settings
from neardup_daemon.settings.settings import Settings
from neardup_daemon.settings_file import MAX_FILE_BYTES, MAX_KEY_PARTS

from neardup_stream.credentials import Login, TlsFiles
from neardup_stream.errors import ConfigError
from neardup_stream.fingerprints.simhash import SimhashConfig
from neardup_stream.fingerprints.sketch import SketchConfig
from neardup_stream.indexes.layout import IndexConfig
from neardup_stream.pipeline.in_flight import InFlightLimits
from neardup_stream.pipeline.likeness import VerdictConfig
from neardup_stream.wire.pages import PageLimits


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "crawl.toml"
    path.write_text(
        '[kafka]\npages_topic = "from-file"\nsession_timeout_seconds = 10\ngroup_id = "from-file"\n'
    )
    return path


def refusal(
    overrides: Sequence[str] = (), environ: Mapping[str, str] | None = None, config: Path | None = None
) -> str:
    with pytest.raises(ConfigError) as caught:
        Settings.load(config, overrides, environ or {})
    return str(caught.value)


def test_flags_win_over_environment_over_file_over_defaults(file: Path) -> None:
    environ = {"NEARDUP_KAFKA__SESSION_TIMEOUT_SECONDS": "20", "NEARDUP_KAFKA__GROUP_ID": "from-environment"}

    settings, kinds = read_settings(Settings, file, ["kafka.session_timeout_seconds=30"], environ)

    assert settings.kafka.session_timeout_seconds == 30
    assert settings.kafka.group_id == "from-environment"
    assert settings.kafka.pages_topic == "from-file"
    assert settings.kafka.events_topic == "neardup-events"
    assert kinds == {
        "kafka.pages_topic": "file",
        "kafka.group_id": "environment",
        "kafka.session_timeout_seconds": "flag",
    }


def test_the_later_of_two_flags_wins() -> None:
    assert Settings.load(None, ["http.port=1", "http.port=2"]).http.port == 2


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


def test_variables_of_other_programs_are_left_alone() -> None:
    assert Settings.load(None, (), {"PATH": "/bin", "NEARDUPLICATE": "x"}) == Settings()


@pytest.mark.parametrize(
    ("override", "message"),
    [
        pytest.param("index.blocks=many", "--set index.blocks: expected int, got 'many'", id="no-number"),
        pytest.param("http.port=-1", "--set http.port: expected int >= 0, got '-1'", id="below-range"),
        pytest.param(
            "http.port=65536", "--set http.port: expected int <= 65535, got '65536'", id="above-range"
        ),
        pytest.param(
            "events.unique=maybe", "--set events.unique: expected bool, got 'maybe'", id="no-boolean"
        ),
        pytest.param("pages.status=200,x", "--set pages.status: expected int, got '200,x'", id="list-item"),
        pytest.param(
            "kafka.first_start=now",
            "--set kafka.first_start: expected one of earliest, latest, fail, got 'now'",
            id="no-choice",
        ),
        pytest.param(
            "kafka.pages_topic=a b",
            "--set kafka.pages_topic: expected str matching regex '^[A-Za-z0-9._-]{1,249}$'"
            " (Topic the pages are read from.), got 'a b'",
            id="pattern",
        ),
        pytest.param("redis.url", "--set redis.url: write it as section.key=value", id="no-equals-sign"),
    ],
)
def test_a_value_that_is_not_allowed_is_refused_in_words(override: str, message: str) -> None:
    assert refusal([override]) == message


def test_both_ends_of_a_range_are_allowed() -> None:
    ports = [Settings.load(None, [f"http.port={port}"]).http.port for port in (0, 1, 65_534, 65_535)]

    assert ports == [0, 1, 65_534, 65_535]


def test_a_file_has_types_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "crawl.toml"
    file.write_text('[kafka]\nsession_timeout_seconds = "3"\n')

    assert refusal(config=file) == (
        f"kafka.session_timeout_seconds in {file}, line 2: expected float, got '3'"
    )


@pytest.mark.parametrize("text", ["200,404", "[200, 404]"], ids=["bare", "as-in-toml"])
def test_a_list_is_written_with_commas_outside_the_file(text: str) -> None:
    settings = Settings.load(None, (), {"NEARDUP_PAGES__STATUS": text})

    assert settings.pages.status == (200, 404)


def test_foreign_names_reach_the_decoder_and_own_names_do_not(tmp_path: Path) -> None:
    file = tmp_path / "crawl.toml"
    file.write_text('[page.fields]\nhtml = "content"\nurl = "target.url"\n')

    settings = Settings.load(file, ["page.fields.text=text"])

    assert settings.page.fields.mapping() == {"html": "content", "url": "target.url"}


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        pytest.param(["index.blocks=3"], "blocks (3) must be greater than", id="blocks-and-distance"),
        pytest.param(["index.shards=3"], "power of two", id="shards"),
        pytest.param(
            ["pipeline.max_batch_pages=2049"], "pipeline.max_in_flight_pages (2048)", id="batch-too-big"
        ),
        pytest.param(["kafka.events_topic=pages"], "must be three different topics", id="feeds-on-itself"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(overrides: Sequence[str], message: str) -> None:
    assert message in refusal(overrides)


def test_a_password_is_not_repeated_in_a_refusal() -> None:
    message = refusal(["redis.url=http://admin:hunter2@cache"])

    assert "hunter2" not in message
    assert "http://***@cache" in message
    assert "hunter2" not in refusal(["redis.url=admin:hunter2@cache"])


@pytest.mark.parametrize(
    "name", ["kafka.pages_topic", "kafka.group_instance_id", "redis.namespace", "redis.url"]
)
def test_a_name_does_not_end_in_a_line_end(name: str) -> None:
    assert refusal([f"{name}=redis\n"]).startswith(f"--set {name}: expected")


@pytest.mark.parametrize(
    "override",
    [
        "redis.url=redis://me:hunter2 x@cache:6379/0",
        "redis.url=redis://me:x hunter2@cache:6379/0",
        "redis.url=redis://me:hunter2/",
        "redis.url=redis://cache:6379/0\n",
        "redis.url=redis:/me:hunter2/0",
        "redis.url=redis//:hunter2",
        "redis.url=me:hunter2@cache/x://",
        "redis.url:hunter2",
        "redis.password hunter2",
        "redis.namespace=redis://me:x hunter2@cache",
        "kafka.pages_topic=password=hunter2",
    ],
)
def test_a_refusal_never_repeats_a_secret(override: str) -> None:
    assert "hunter2" not in refusal([override])


@pytest.mark.parametrize(
    "name",
    [
        '[kafka "redis://:hunter2@h/0"',
        "redis://:hunter2@cache",
        "redis.url redis://:hunter2@cache/0?x",
        "redis.url.hunter2",
        "redis.password:hunter2",
        "redis.password.hunter2",
        "redis.passwordhunter2",
        "redis.hunter2",
        "hunter2",
        "hunter2@cache:6379/0",
        "hunter2.url",
        "x" * 1_000 + "hunter2",
    ],
)
def test_an_unknown_name_is_not_printed_where_a_secret_may_be_part_of_it(name: str, tmp_path: Path) -> None:
    file = tmp_path / "crawl.toml"
    file.write_text(f"{json.dumps(name)} = 1\n[redis]\n{json.dumps(name)} = 1")

    for refused in (refusal([f"{name}=1"]), refusal([name]), refusal(config=file)):
        assert "hunter2" not in refused
        assert "***" in refused
    assert "hunter2" not in refusal(environ={f"NEARDUP_REDIS__{name}": "1"})


@pytest.mark.parametrize(
    "content",
    [
        '[a."hunter2"]\n[a."hunter2"]',
        "x = {'hunter2' = 1, 'hunter2' = 2}",
        "x = {a.b = 1}\nx.hunter2 = 1",
        'a."hunter2" = 1\n[a."hunter2".b]',
        'x = {a = {"hunter2" = {}}, a."hunter2".b = 1}',
    ],
)
def test_an_error_of_the_parser_names_the_place_and_no_key(content: str, tmp_path: Path) -> None:
    file = tmp_path / "crawl.toml"
    file.write_text(content)

    refused = refusal(config=file)

    assert "is not valid TOML" in refused
    assert "(at " in refused
    assert "hunter2" not in refused


def test_a_missing_file_and_a_broken_one_are_refused(tmp_path: Path) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text("[kafka\n")

    assert refusal(config=tmp_path / "none.toml").endswith("none.toml: No such file or directory")
    assert refusal(config=broken).startswith(f"{broken} is not valid TOML: ")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param("x = " + "[" * 20_000 + "]" * 20_000, "is nested too deeply", id="nested-arrays"),
        pytest.param(
            "x = " + "{a=" * 20_000 + "1" + "}" * 20_000, "is nested too deeply", id="nested-tables"
        ),
        pytest.param("[http]\nport = " + "9" * 5_000, "is not valid TOML", id="integer-of-5,000-digits"),
        pytest.param("[http]\nport = " + "9" * 4_000, "expected int <= 65535", id="integer-of-4,000"),
        pytest.param("x = 1\n" * 200_000, "has more than 131,072 bytes", id="too-large"),
        pytest.param(
            "[" + ".".join("a" * 20_000) + "]\nx = 1",
            "a key has 20,000 parts; at most 8 are allowed",
            id="deep-table",
        ),
        pytest.param("x = \ud800", "is not valid TOML", id="no-utf-8"),
    ],
)
def test_a_hostile_settings_file_is_refused_in_one_line(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "settings.toml"
    file.write_bytes(content.encode(errors="surrogatepass"))

    refused = refusal(config=file)

    assert message in refused
    assert "\n" not in refused


@pytest.mark.parametrize(
    "key", ["{}", "x = {{{} = 1}}", "[{}]", 'x = {{a = """b"""", {} = 1}}', "x = '''c''''\n{} = 1"]
)
@pytest.mark.parametrize("part", ["a", '"a.b"', "'.'", "1", "a "])
def test_a_key_has_at_most_eight_parts(key: str, part: str, tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"

    file.write_text(key.format(".".join([part] * MAX_KEY_PARTS)))
    assert "parts" not in refusal(config=file)
    file.write_text(key.format(".".join([part] * (MAX_KEY_PARTS + 1))))
    assert f"line {1 + key.count(chr(10))}: a key has 9 parts; at most 8 are allowed" in refusal(config=file)


@pytest.mark.parametrize(
    "value", ['"{}"', "'{}'", '"""\n{}"""', "'''{}'''", '"\\"{}"', '"" # {}', '"#" # "{}']
)
def test_dots_in_a_value_or_a_comment_are_no_parts_of_a_key(value: str, tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(f"[log]\nlevel = {value.format('.'.join('abcdefghijk'))}")

    assert "log.level" in refusal(config=file)


def test_a_settings_file_holds_the_largest_size_and_no_byte_more(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_bytes(b"#" * MAX_FILE_BYTES)

    assert Settings.load(file) == Settings()
    file.write_bytes(b"#" * (MAX_FILE_BYTES + 1))
    assert "has more than 131,072 bytes" in refusal(config=file)


def test_a_settings_file_without_an_end_is_refused() -> None:
    assert "has more than" in refusal(config=Path("/dev/zero"))


def test_settings_are_frozen() -> None:
    with pytest.raises(AttributeError):
        Settings().http.port = 1  # type: ignore[misc] # the claim


def test_every_setting_has_a_sentence_and_a_default_within_its_own_limits() -> None:
    for name, known in known_settings(Settings).items():
        assert known.description.endswith("."), name
        assert msgspec.convert(known.default, known.type) == known.default, name


def test_defaults_are_those_of_the_parts_they_configure() -> None:
    settings = Settings()

    assert settings.index.config() == IndexConfig(bands=SketchConfig().bands)
    assert sketch_config(settings) == SketchConfig()
    assert verdict_config(settings) == VerdictConfig(sketch_config(settings))
    assert index_layout(settings).config == settings.index.config()
    assert settings.limits.config() == PageLimits()
    assert settings.pipeline.limits() == InFlightLimits()
    assert SimhashConfig(settings.text.window_tokens, settings.verdict.min_tokens) == SimhashConfig()


SECRETS = ("kafka.sasl_password", "redis.password", "api.token")


def test_the_secrets_are_known_as_such() -> None:
    assert tuple(name for name, known in known_settings(Settings).items() if known.is_secret) == SECRETS


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_is_not_taken_from_the_command_line_and_never_repeated(name: str) -> None:
    message = refusal([f"{name}=hunter2"])

    variable = "NEARDUP_" + name.upper().replace(".", "__")
    assert f"use {name}_file or the environment variable {variable}" in message
    assert "hunter2" not in message


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_of_the_wrong_type_is_not_repeated(name: str, tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    section, _, key = name.partition(".")
    file.write_text(f"[{section}]\n{key} = 1234567\n")

    message = refusal(config=file)

    assert "got ***" in message
    assert "1234567" not in message


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


def test_clients_get_what_is_set_for_their_security() -> None:
    settings = Settings.load(
        None,
        [
            *("kafka.tls=true", "kafka.tls_ca_file=ca", "kafka.sasl_mechanism=SCRAM-SHA-256"),
            *("kafka.sasl_username=me", "kafka.sasl_password_file=p"),
            *("redis.url=rediss://c", "redis.tls_certificate_file=cert", "redis.username=me"),
        ],
        {"NEARDUP_REDIS__PASSWORD": "hunter2"},
    )

    assert settings.kafka.connection().tls == TlsFiles(ca_file="ca")
    assert settings.kafka.connection().login == Login(username="me", password_file="p")  # noqa: S106 - a path
    assert settings.redis.config().tls == TlsFiles(certificate_file="cert")
    assert settings.redis.config().login == Login(username="me", password="hunter2")  # noqa: S106 - of nobody


def test_all_that_is_wrong_is_reported_at_once_with_the_lines_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "crawl.toml"
    file.write_text("[http]\nport = 'x'  # 'y'\n\n[ index ]\nblocks = 4\nblock = 5\n")

    told = refusal(["log.level=loud"], {"NEARDUP_EVENTS__UNIQUE": "maybe"}, file)

    assert told.split("; ") == [
        f"http.port in {file}, line 2: expected int, got 'x'",
        f"index.block in {file}, line 6: there is no setting 'index.block'",
        "did you mean index.blocks?",
        "environment variable NEARDUP_EVENTS__UNIQUE: expected bool, got 'maybe'",
        "--set log.level: expected one of debug, info, warning, error, got 'loud'",
    ]


def test_of_many_refusals_the_first_ten_are_reported() -> None:
    told = refusal([f"nothing.x{number}=1" for number in range(12)])

    assert told.count("there is no setting") == 10
    assert told.endswith("; and 2 more")


@pytest.mark.parametrize("scope", ["foo", "meta.", "Host", ""])
def test_a_scope_of_frames_that_does_not_exist_is_refused(scope: str) -> None:
    assert "frames.scope" in refusal([f"frames.scope={scope}"])
