"""Decide how much of a name that is no setting may be printed: a URL or a password may be part of it."""

import difflib
import re
from collections.abc import Iterable
from typing import Final

from neardup_daemon.redaction import HIDDEN, PRIVATE_NAMES

__all__ = ["closest_name", "closest_section", "shown_name", "shown_variable"]

_MAX_SHOWN_CHARACTERS: Final = 100
_DOTTED = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")
_VARIABLE = re.compile(r"[A-Z0-9_]+")
_START = re.compile(r"[A-Za-z0-9_.]+")
_PLAIN_WORDS = re.compile(r"[a-z]{1,20}(_[a-z]{1,20}){0,5}")
_SECRET = re.compile(rf"{PRIVATE_NAMES}|redis\.url", re.IGNORECASE)
_MIN_LIKENESS: Final = 0.75
_MAX_LONGER: Final = 3


def closest_name(name: str, known: Iterable[str]) -> str | None:
    """Return the setting that `name` most likely means: by its spelling, or by its last part.

    Cost: 0.1 ms; a name of more than 100 characters means none.
    """
    if len(name) > _MAX_SHOWN_CHARACTERS:
        return None
    names = tuple(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=_MIN_LIKENESS)
    last_part = name.rpartition(".")[2]
    return next(iter(close), None) or next(
        (each for each in names if each.rpartition(".")[2] == last_part), None
    )


def closest_section(name: str, known: Iterable[str]) -> str | None:
    """Return the section of the settings file that `name` misspells; more than 100 characters mean none."""
    if len(name) > _MAX_SHOWN_CHARACTERS:
        return None
    sections = {each.rpartition(".")[0] for each in known}
    return next(iter(difflib.get_close_matches(name, sections, n=1, cutoff=_MIN_LIKENESS)), None)


def shown_name(name: str, known: Iterable[str], *, is_key: bool = False) -> str:
    """Return `name` if it is a setting, misspells one or is plain words, else its section and `***`.

    A URL or a password may stand where a name belongs. So a name is shown only if it is short, holds nothing
    but dots, hyphens, letters and digits, and resembles a setting or a section; or if it is a section and
    words of small letters with `_` between them, as names of settings are; in a file, such words alone too.

    Args:
        name: what stands where a name belongs.
        known: the settings.
        is_key: it is a key of a settings file.
    """
    names = frozenset(known)
    sections = {each.rpartition(".")[0] for each in names}
    if name in names or name in sections or _is_misspelled(name, names, sections):
        return name
    if _is_plain(name, names, sections | {""} if is_key else sections):
        return name
    start = _START.match(name)
    word = start[0].rstrip(".") if start else ""
    if word in names:
        return f"{word}{HIDDEN}"
    section = word.rpartition(".")[0] or word
    return f"{section}.{HIDDEN}" if section in sections else HIDDEN


def _is_misspelled(name: str, names: frozenset[str], sections: set[str]) -> bool:
    if len(name) > _MAX_SHOWN_CHARACTERS or not _DOTTED.fullmatch(name):
        return False
    if any(name.startswith(known) and _SECRET.search(known) for known in names):
        return False  # the value stands directly behind the name
    lacks_section = "." not in name and any(known.endswith(f".{name}") for known in names)
    close = difflib.get_close_matches(name, names | sections, n=1, cutoff=_MIN_LIKENESS)
    return lacks_section or any(abs(len(name) - len(each)) <= _MAX_LONGER for each in close)


def _is_plain(name: str, names: frozenset[str], sections: set[str]) -> bool:
    """Return whether a name in a section is spelled as settings are, and begins with none that is secret."""
    section, _, word = name.rpartition(".")
    if section not in sections or not _PLAIN_WORDS.fullmatch(word):
        return False
    return not any(name.startswith(known) and _SECRET.search(known) for known in names)


def shown_variable(variable: str) -> str:
    """Return the name of an environment variable if it is spelled as those of settings, else `***`."""
    is_plain = len(variable) <= _MAX_SHOWN_CHARACTERS and _VARIABLE.fullmatch(variable)
    return variable if is_plain else HIDDEN
