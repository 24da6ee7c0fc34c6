"""Read the settings file: TOML, whose size and keys are bounded before it is parsed."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from neardup_daemon.redaction import HIDDEN
from neardup_stream.errors import ConfigError

__all__ = ["MAX_FILE_BYTES", "MAX_KEY_PARTS", "line_numbers", "line_of", "read_settings_file"]

MAX_FILE_BYTES: Final = 1 << 17
"""Most bytes of a settings file."""

MAX_KEY_PARTS: Final = 8
"""Most parts of one dotted key or table name. The parser's time grows with their square; settings have 3."""

_STRING_OR_COMMENT = re.compile(
    r'''
    """ (?: [^"\\] | \\. | "(?!"") )*+ (?: "{3,5} )?+
    | \'\'\' (?: [^'] | '(?!\'\') )*+ (?: '{3,5} )?+
    | " (?: [^"\\\n] | \\[^\n] )*+ "?+
    | ' [^'\n]*+ '?+
    | (?P<comment> \# [^\n]*+ )
    ''',
    re.VERBOSE | re.DOTALL,
)
_KEY = re.compile(r"[\w-]++ (?: [ \t]*+ \. [ \t]*+ [\w-]++ )*+", re.VERBOSE | re.ASCII)
_PART = r"(?:[\w-]++|\"[^\"\n]*+\"|'[^'\n]*+')"
_NAME = rf"[ \t]*+({_PART}(?:[ \t]*+\.[ \t]*+{_PART})*+)[ \t]*+"
_TABLE_LINE = re.compile(rf"[ \t]*+\[\[?{_NAME}\]")
_KEY_LINE = re.compile(rf"{_NAME}=")
_PARTS = re.compile(_PART)
_QUOTED_NAME = re.compile(r"(?:\"[^\"\\\n\[\]{}]++\"|'[^'\n\[\]{}]++')")
_OPENED, _CLOSED = re.compile(r"[\[{]"), re.compile(r"[\]}]")
_FIXED_QUOTES = ("Expected ", "Found invalid character ", "Illegal character ", "Unescaped ")
_QUOTED_KEYS = re.compile(r"\(.*\)|'.*'|\".*\"", re.DOTALL)
_PLACE = re.compile(r" \(at (?:line ([0-9]+), column [0-9]+|end of document)\)\Z")
_REPETITION = "Cannot overwrite a value"
"""How the parser's message about a key that is set twice begins, in Python 3.11 and later."""
_REDECLARATION = "Cannot declare "
"""The same about a table."""


def read_settings_file(path: Path) -> tuple[Mapping[str, Any], str]:
    """Return the tables of a settings file, and its text.

    Raises:
        ConfigError: it cannot be read, is over a limit or is not TOML; the message quotes no key or value.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"cannot read the settings file {path}: {error.strerror}") from error
    if len(content) > MAX_FILE_BYTES:
        raise ConfigError(f"the settings file {path} has more than {MAX_FILE_BYTES:,} bytes")
    try:
        text = content.decode("utf-8-sig")  # some editors begin with a mark of the encoding
        _require_short_keys(path, text)
        return tomllib.loads(text), text
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8: byte {error.start:,} is none") from error
    except RecursionError as error:
        raise ConfigError(f"{path} is nested too deeply") from error
    except ValueError as error:  # as tomllib's own error is, and an integer of too many digits
        reason = _without_keys(str(error)) + _repetition(str(error), text)
        raise ConfigError(f"{path} is not valid TOML: {reason}") from None


def _require_short_keys(path: Path, text: str) -> None:
    for number, line in enumerate(_STRING_OR_COMMENT.sub(_in_place, text).split("\n"), 1):
        for key in _KEY.finditer(line):
            parts = key[0].count(".") + 1
            if parts > MAX_KEY_PARTS:
                raise ConfigError(
                    f"{path}, line {number}: a key has {parts:,} parts; at most {MAX_KEY_PARTS} are allowed"
                )


def _in_place(found: re.Match[str]) -> str:
    """Return what stands for a string where keys are counted: one part of a key, and its line ends."""
    return "" if found["comment"] is not None else "s" + "\n" * found[0].count("\n")


def _without_keys(message: str) -> str:
    """Return a message of the parser without the keys that it quotes: a password may be written as a key."""
    if message.startswith(_FIXED_QUOTES):
        return message
    place = _PLACE.search(message)
    end = place.start() if place else len(message)
    return _QUOTED_KEYS.sub(HIDDEN, message[:end]) + message[end:]


def _repetition(message: str, text: str) -> str:
    """Return which line sets a key or declares a table again, which the parser does not say.

    It is empty if none does for certain.
    """
    place = _PLACE.search(message)
    if not message.startswith((_REPETITION, _REDECLARATION)) or place is None:
        return ""
    lines = _STRING_OR_COMMENT.sub(_blanked, text).split("\n")
    names = list(_names(lines[: int(place[1] or len(lines))]))
    if message.startswith(_REDECLARATION):
        return _redeclaration(names)
    first = dict[str, int]()  # of one table: no later one may continue it
    for number, name in names:
        if name.endswith("."):
            first.clear()
        elif name in first:
            return f": line {number} sets the key of line {first[name]} again"
        else:
            first[name] = number
    return ""


def _redeclaration(names: Sequence[tuple[int, str]]) -> str:
    """Return which line declares a table again; empty if the last of these names is no such table."""
    number, table = names[-1] if names else (0, "")
    earlier = [line for line, name in names[:-1] if name == table]
    return f": line {number} declares the table of line {earlier[-1]} again" if earlier else ""


def _blanked(found: re.Match[str]) -> str:
    """Return what stands for a string where no key may be one: a quotation mark, and its line ends."""
    return "" if found["comment"] is not None else '"' + "\n" * found[0].count("\n")


def line_numbers(text: str) -> dict[str, int]:
    """Return where each table and key stands that has a line of its own, by its dotted name."""
    numbers = dict[str, int]()
    for number, name in _names(_STRING_OR_COMMENT.sub(_unless_key, text).split("\n")):
        numbers.setdefault(name.removesuffix("."), number)
    return numbers


def _unless_key(found: re.Match[str]) -> str:
    """Return the same, or the string itself if it may be the name of a setting."""
    return found[0] if _QUOTED_NAME.fullmatch(found[0]) else _blanked(found)


def _names(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield number and dotted name of each line that begins a table or sets a key; a table's ends with a dot.

    Lines inside brackets, such as those of a list, do neither.

    Args:
        lines: of a file, without comments, and without brackets in strings.
    """
    table, depth = "", 0
    for number, line in enumerate(lines, 1):
        if depth == 0 and (found := _TABLE_LINE.match(line)):
            table = f"{_dotted(found[1])}."
            yield number, table
        elif depth == 0 and (found := _KEY_LINE.match(line)):
            yield number, table + _dotted(found[1])
        depth += len(_OPENED.findall(line)) - len(_CLOSED.findall(line))


def line_of(name: str, numbers: Mapping[str, int]) -> int | None:
    """Return the line of a setting, or that of the table inside whose braces it stands."""
    while name not in numbers and "." in name:
        name = name.rpartition(".")[0]
    return numbers.get(name)


def _dotted(key: str) -> str:
    """Return a key as it is written, without quotes and blanks between its parts."""
    return ".".join(part.strip("\"'") for part in _PARTS.findall(key))
