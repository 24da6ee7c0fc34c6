"""No refusal repeats a secret."""

import json
from pathlib import Path

import pytest
from neardup_daemon.settings.known import known_settings
from neardup_daemon.settings.settings import Settings

from tests.unit.daemon.settings.refusals import refusal


def test_a_password_is_not_repeated_in_a_refusal() -> None:
    message = refusal(["redis.url=http://admin:hunter2@cache"])

    assert "hunter2" not in message
    assert "http://***@cache" in message
    assert "hunter2" not in refusal(["redis.url=admin:hunter2@cache"])


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
        "kafka.bootstrap_servers=me:hunter2@127.0.0.1:9092",
        "kafka.bootstrap_servers=kafka:9092,SASL_SSL://me:hunter2@kafka:9092",
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
