"""A flag that stands for a setting is named as it was typed."""

import pytest
from neardup_daemon.cli import main
from neardup_daemon.exit_codes import USAGE


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["dedup", "--page-preset", "scrpy", "-"], "--page-preset: expected one of"),
        (["run", "--redis-url", "http://a"], "--redis-url: expected a value like"),
        (["run", "--log-level", "loud"], "--log-level: expected one of"),
        (["run", "--http-port", "none"], "--http-port: expected a whole number"),
        (["dedup", "--clusters-rule", "all", "-"], "--clusters-rule: expected one of"),
        (["dedup", "--index-expected-pages", "20M", "-"], "--index-expected-pages: expected a whole number"),
        (["run", "--set", "log.level=loud"], "--set log.level: expected one of"),
    ],
    ids=lambda value: value[1] if isinstance(value, list) else "",
)
def test_a_value_that_is_refused_is_named_by_its_flag(
    command: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command) == USAGE
    assert capsys.readouterr().err.startswith(f"neardup-stream: {message}")


def test_a_flag_of_its_own_is_over_set(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dedup", "--page-preset", "scrpy", "--set", "page.preset=scrapy", "-"]) == USAGE
    assert "'scrpy'" in capsys.readouterr().err
