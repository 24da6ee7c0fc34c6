"""Use one version of Unicode under every Python, so that a newer interpreter can open an older index.

Python 3.11 has Unicode 14.0. Later versions assign more characters, some of which are letters or have other
forms. This module treats them as unassigned, which separates words. Characters of 14.0 do not change; the
tests compare them under every installed interpreter.
"""

import functools
import re
import unicodedata
from collections.abc import Iterator
from importlib.resources import files
from itertools import groupby
from typing import Final

__all__ = ["UNASSIGNED", "UNICODE_VERSION", "without_later_characters"]

UNICODE_VERSION: Final = "14.0.0"
"""The Unicode version of tokens under every Python."""

UNASSIGNED: Final = f"unassigned-{UNICODE_VERSION}.txt"
"""Ranges of code points below 40000 that have category Cn in this version."""

_NONCHARACTER: Final = "\uffff"


def without_later_characters(text: str) -> str:
    """Return the text with every later character replaced by one that is never assigned.

    Cost: nothing under Python 3.11; one pass of a regular expression under later versions.
    """
    later = _later_characters()
    return text if later is None else later.sub(_NONCHARACTER, text)


@functools.cache
def _later_characters() -> re.Pattern[str] | None:
    """Return a pattern of the characters newer than UNICODE_VERSION; None if this Python has none."""
    if unicodedata.unidata_version == UNICODE_VERSION:
        return None
    ranges = (files(__package__) / UNASSIGNED).read_text(encoding="ascii").split()
    bounds = [(int(first, 16), int(last, 16)) for first, _, last in (each.partition("-") for each in ranges)]
    later = [span for first, last in bounds for span in _assigned(first, last)]
    return re.compile(f"[{''.join(later)}]") if later else None


def _assigned(first: int, last: int) -> Iterator[str]:
    """Yield the ranges of assigned characters between two code points, written for a character class.

    Ranges keep the class short: a class compares a character above U+FFFF with each of its items.
    """
    for is_unassigned, points in groupby(
        range(first, last + 1), lambda point: unicodedata.category(chr(point)) == "Cn"
    ):
        if not is_unassigned:
            span = list(points)
            yield f"{re.escape(chr(span[0]))}-{re.escape(chr(span[-1]))}"
