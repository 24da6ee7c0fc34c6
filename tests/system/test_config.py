import json
import subprocess
import sys
import tomllib
from pathlib import Path

import jsonschema
import pytest
from neardup_daemon.cli import main
from neardup_daemon.settings.settings import Settings

FILE = """
[kafka]
pages_topic = "crawl"
[redis]
url = "redis://admin:hunter2@cache:6379/0"
[page.fields]
html = "content"
[pages]
status = [200, 304]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "crawl.toml"
    path.write_text(FILE)
    return path


def shown(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main(["config", "show", *argv]) == 0
    return capsys.readouterr().out


def test_a_misspelled_variable_is_refused_with_the_name_that_was_meant() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "neardup_daemon", "config", "show"],
        env={"NEARDUP_KAFKA__PAGES_TOPICS": "x"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == (
        "neardup-stream: environment variable NEARDUP_KAFKA__PAGES_TOPICS: there is no setting"
        " 'kafka.pages_topics'; did you mean NEARDUP_KAFKA__PAGES_TOPIC?\n"
    )


def test_what_is_shown_is_a_settings_file_that_says_the_same(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = shown(capsys, "--config", str(file), "--set", "http.port=0")
    again = tmp_path / "shown.toml"
    again.write_text(first)

    second = shown(capsys, "--config", str(again))

    secret = tomllib.loads(second)["redis"].pop("url")
    assert secret == Settings().redis.url
    assert tomllib.loads(second.replace(f'url = "{secret}"', "")) == tomllib.loads(first)
    assert tomllib.loads(first)["pages"]["status"] == [200, 304]


@pytest.mark.parametrize("name", ["redis.password", "redis.url"], ids=["a-secret", "a-secret-in-a-url"])
def test_what_has_a_secret_is_a_comment_that_sets_nothing(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    section, key = name.split(".")
    monkeypatch.setenv(f"NEARDUP_{section}__{key}".upper(), "redis://x:hunter2@h/0")
    first = shown(capsys)

    assert key not in tomllib.loads(first)[section]
    (line,) = (line for line in first.splitlines() if "***" in line)
    assert line.startswith(f"# {key} = ")
    assert line.endswith("  # environment")


def test_each_line_says_where_its_value_came_from(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEARDUP_LOG__FORMAT", "text")

    lines = shown(capsys, "--config", str(file), "--set", "http.port=0").splitlines()

    assert 'pages_topic = "crawl"  # file' in lines
    assert 'format = "text"  # environment' in lines
    assert "port = 0  # flag" in lines
    assert 'host = "127.0.0.1"  # default' in lines


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["toml", "json"])
def test_a_password_is_never_shown(
    file: Path, form: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    out = shown(capsys, "--config", str(file), *form)

    assert "hunter2" not in out
    assert "redis://***@cache:6379/0" in out


@pytest.mark.parametrize(
    ("override", "line"),
    [
        ("archive.files=a.nda,/\udcff.nda", r'files = ["a.nda","/\\xff.nda"]'),
        ("redis.password_file=\udcff", r'password_file = "\\xff"'),
    ],
)
def test_a_name_of_a_file_that_is_not_utf8_is_shown_by_its_bytes(
    override: str, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = shown(capsys, "--set", override).splitlines()
    as_json = shown(capsys, "--set", override, "--json")

    assert f"# {line}  # flag, not UTF-8: TOML cannot hold it" in lines
    assert r"\\xff" in as_json


@pytest.mark.parametrize(
    "override",
    [
        "redis.url=redis://cache:6379/0?password=hunter2",
        "redis.url=redis://cache:6379/0?p%61ssword=hunter2",
        "redis.url=unix:///sock?password=x&y=hunter2",
        "kafka.bootstrap_servers=me:hunter2@broker:9092",
        "kafka.bootstrap_servers=SASL_SSL://me:x hunter2@broker:9092",
        "kafka.sasl_username=me://x:hunter2@y",
        "failpoints.kill=password=hunter2",
    ],
)
def test_a_secret_is_not_shown_wherever_it_stands(override: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["config", "show", "--set", override, "--set", "kafka.sasl_password_file=f"])

    assert "hunter2" not in "".join(capsys.readouterr())


def test_ignored_variables_are_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEARDUP_STREAM_PORT", "tcp://10.0.0.1:9464")

    assert main(["config", "show"]) == 0

    assert "NEARDUP_STREAM_PORT names no setting" in capsys.readouterr().err


def test_the_schema_accepts_what_is_shown_and_refuses_what_is_not_a_setting(
    capsys: pytest.CaptureFixture[str],
) -> None:
    settings = json.loads(shown(capsys, "--json"))
    assert main(["config", "schema"]) == 0
    schema = json.loads(capsys.readouterr().out)

    jsonschema.validate(settings, schema)
    settings["kafka"]["pages_topik"] = "x"
    with pytest.raises(jsonschema.ValidationError, match="pages_topik"):
        jsonschema.validate(settings, schema)


def test_an_empty_configuration_shows_the_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    settings = json.loads(shown(capsys, "--json"))

    assert list(settings) == list(Settings.__struct_fields__)
    assert settings["kafka"]["first_start"] == "earliest"
    assert settings["redis"]["namespace"] == "nd"
