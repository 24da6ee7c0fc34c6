"""The shell completes what commands take."""

from collections.abc import Iterator

import click
import pytest
from click.shell_completion import CompletionItem, ShellComplete
from neardup_daemon.cli import _neardup_stream as program

FILE_NAMES = ("FILE", ".nda", ".html", ".warc.gz")


def commands(group: click.Group, path: str = "") -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, f"{path}{name} ")
        else:
            yield path + name, command


def completions(*words: str) -> list[CompletionItem]:
    """Return how the last word is completed."""
    shell = ShellComplete(program, {}, "neardup-stream", "_NEARDUP_STREAM_COMPLETE")
    return shell.get_completions(list(words[:-1]), words[-1])


def values(*words: str) -> list[str]:
    return [each.value for each in completions(*words)]


def test_every_name_of_a_file_is_completed_as_one() -> None:
    kinds = {
        (path, parameter.name): {
            each.type for each in parameter.shell_complete(click.Context(command), "crawl")
        }
        for path, command in commands(program)
        for parameter in command.params
        if any(part in (parameter.metavar or "") for part in FILE_NAMES)
    }

    assert len(kinds) > 30
    assert {each: kind for each, kind in kinds.items() if kind != {"file"}} == {}


def test_no_name_of_a_file_or_directory_may_be_empty() -> None:
    """As that of a variable would be which is not set."""
    for _, command in commands(program):
        for parameter in command.params:
            if any(part in (parameter.metavar or "") for part in (*FILE_NAMES, "DIR")):
                with pytest.raises(click.BadParameter, match="the name is empty"):
                    parameter.type.convert("", parameter, click.Context(command))


@pytest.mark.parametrize("page", [["one.js"], ["one.json", "oth"]])
def test_the_pages_of_explain_are_completed_as_files(page: list[str]) -> None:
    assert [each.type for each in completions("explain", *page)] == ["file"]


def test_a_flag_of_a_setting_is_completed_by_the_words_that_it_can_be() -> None:
    assert values("dedup", "--page-preset", "sc") == ["scrapy"]
    assert set(values("run", "--log-level", "")) >= {"info", "warning"}


def test_a_list_is_completed_by_the_words_that_it_does_not_have() -> None:
    assert values("freeze", "--with", "pass") == ["passages"]
    assert values("freeze", "--with", "archive,passages,") == [
        "archive,passages,search",
        "archive,passages,texts",
    ]
    assert values("freeze", "--keys", "bands,f") == ["bands,fuzzy"]


def test_set_is_completed_by_settings_and_then_by_their_words() -> None:
    assert values("run", "--set", "redis.ur") == ["redis.url="]
    assert values("run", "--set", "page.preset=scr") == ["page.preset=scrapy"]
    assert values("run", "--set", "no.setting=") == []


def test_a_secret_is_not_completed_where_it_would_be_refused() -> None:
    assert values("run", "--set", "redis.password") == ["redis.password_file="]
