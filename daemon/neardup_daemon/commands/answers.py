"""Print what commands find out: readable on a terminal, as a line of JSON otherwise."""

import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

import click
import msgspec

from neardup_daemon.terminal import print_json, printable

__all__ = ["is_for_people", "print_answer", "print_dead_letters"]

_T = TypeVar("_T")


def is_for_people(*, as_json: bool) -> bool:
    """Return whether standard output is a terminal, and JSON was not asked for."""
    return sys.stdout.isatty() and not as_json


def print_answer(answer: _T, readable: Callable[[_T], str], *, as_json: bool) -> None:
    """Print an answer.

    Args:
        answer: is encoded as JSON.
        readable: returns lines for people, with what others wrote made printable.
        as_json: whether JSON was asked for.
    """
    if is_for_people(as_json=as_json):
        click.echo(readable(answer))
    else:
        print_json(msgspec.json.encode(answer))


def print_dead_letters(letters: Sequence[str], count: int = 0, remedy: str = "") -> None:
    """Print what dead letters are about, above a line of progress, which click would bypass.

    Args:
        letters: the first ones.
        count: how many there are; 0 if that is not known yet, or these are all.
        remedy: how to see all of them, after a semicolon.
    """
    for letter in letters:
        sys.stderr.write(f"dead letter: {printable(letter)}\n")
    if count > len(letters):
        sys.stderr.write(f"dead letters: {count - len(letters):,} more are not shown{remedy}\n")
