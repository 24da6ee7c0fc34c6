"""Format strings for a terminal: make those from outside safe, count nouns, and wrap lines."""

import shlex
import sys
from pathlib import Path
from shutil import get_terminal_size, which
from textwrap import TextWrapper
from typing import Final

import click

__all__ = [
    "PROGRAM",
    "counted",
    "print_json",
    "print_warnings",
    "printable",
    "printable_json",
    "running_program",
    "wrapped",
]

PROGRAM: Final = "neardup-stream"

_CONTROLS = (
    *range(0x20),  # C0, with ESC
    *range(0x7F, 0xA0),  # DEL and C1, with CSI
    0x061C,  # from here on: what turns the direction of text, and ends of lines
    *range(0x200E, 0x2010),
    *range(0x2028, 0x202F),
    *range(0x2066, 0x206A),
    *range(0xD800, 0xE000),  # halves of surrogate pairs, which no stream takes
)
_AS_TEXT = {code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" for code in _CONTROLS}
_AS_JSON = {code: f"\\u{code:04x}" for code in _CONTROLS}


def counted(count: int, noun: str) -> str:
    """Return a count with its noun, singular or plural.

    >>> print(counted(1, "page"), counted(2_000, "page"))
    1 page 2,000 pages
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def running_program(argv0: str) -> str:
    """Return how to call the program that runs now: by its name where the shell finds it, else by its path.

    Args:
        argv0: `sys.argv[0]`.
    """
    path = Path(argv0)
    if path.name != PROGRAM:  # as with `python -m`
        return f"{shlex.quote(sys.executable)} -m neardup_daemon"
    found = which(PROGRAM)
    is_found = found is not None and Path(found).resolve() == path.resolve()
    return PROGRAM if is_found else shlex.quote(argv0)


def printable(text: object) -> str:
    r"""Return `text` with all that a terminal would obey rather than show as `\x1b` or `\u202e`.

    For strings that a crawled page, another program or a file name can contain.

    >>> print(printable("http://a/\x1b[2J"))
    http://a/\x1b[2J
    """
    return str(text).translate(_AS_TEXT)


def printable_json(json: str) -> str:
    """Return JSON of the same meaning, all of whose control characters are escapes.

    Args:
        json: in one line, from an encoder that leaves C1 and controls of direction as they are.
    """
    return json.translate(_AS_JSON)


def print_json(encoded: bytes) -> None:
    """Print JSON as a line, in UTF-8 whatever the encoding of standard output."""
    click.echo(printable_json(encoded.decode()).encode())


class _Shown(str):
    """Text that is as long as what a terminal shows of it, without the codes of colors."""

    __slots__ = ()

    def __len__(self) -> int:
        return len(click.unstyle(str(self)))


class _Wrapper(TextWrapper):
    """Measures words as they are shown."""

    def _split_chunks(self, text: str) -> list[str]:
        return list(map(_Shown, super()._split_chunks(text)))


def print_warnings(*warnings: str) -> None:
    """Print those that are not empty to standard error."""
    for warning in filter(None, warnings):
        click.echo(f"warning: {warning}", err=True)


def wrapped(line: str) -> str:
    """Return a line wrapped between words at the width of the terminal, with its indentation kept.

    A word that is longer than a line, such as a URL, stays in one piece, so that it can be copied.
    """
    indent = line[: len(line) - len(line.lstrip())]
    wrapper = _Wrapper(
        get_terminal_size().columns, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return wrapper.fill(line)
