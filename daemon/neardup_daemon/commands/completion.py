"""Take names of files, and complete words on the command line: files, settings, and lists of words."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from neardup_daemon.settings.known import Known

__all__ = ["FILE_NAME", "Completion", "NamedPath", "complete_list", "complete_settings", "complete_words"]

Completion = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


class NamedPath(click.Path):
    """A path that is not empty, as that of a variable would be which is not set."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        if value == "":
            self.fail("the name is empty", param, ctx)
        return super().convert(value, param, ctx)


FILE_NAME: Final = NamedPath(readable=False)
"""The name of a file, `-`, or what the command takes in its place: the command finds out."""


def complete_words(words: Sequence[str]) -> Completion:
    """Return a completion by one of some words."""

    def complete(_context: click.Context, _parameter: click.Parameter, written: str) -> list[CompletionItem]:
        return [CompletionItem(word) for word in words if word.startswith(written)]

    return complete


def complete_list(words: Callable[[], Sequence[str]]) -> Completion:
    """Return a completion of a list of words with commas between them, by the words it does not have yet.

    Args:
        words: returns them; called when a word is completed, so that it may import.
    """

    def complete(_context: click.Context, _parameter: click.Parameter, written: str) -> list[CompletionItem]:
        before, comma, last = written.rpartition(",")
        has = before.split(",")
        return [
            CompletionItem(before + comma + word)
            for word in words()
            if word.startswith(last) and word not in has
        ]

    return complete


def complete_settings(known: Mapping[str, Known]) -> Completion:
    """Return a completion of `section.key=value`: the names, then the words that a setting can be."""

    def complete(_context: click.Context, _parameter: click.Parameter, written: str) -> list[CompletionItem]:
        name, equals, value = written.partition("=")
        if equals:
            choices = known[name].choices if name in known else ()
            return [CompletionItem(f"{name}={word}") for word in choices if word.startswith(value)]
        return [
            CompletionItem(f"{each}=", help=setting.description)
            for each, setting in known.items()
            if each.startswith(name) and not setting.is_secret
        ]

    return complete
