"""Read numbers that people abbreviate, such as 20M, and times with a unit, such as 7d."""

import re
from decimal import Decimal
from types import MappingProxyType
from typing import Final

__all__ = ["FACTORS", "number_in_digits", "seconds_in_digits"]

FACTORS: Final = MappingProxyType({"k": 10**3, "m": 10**6, "g": 10**9, "b": 10**9})
"""What a letter behind a number stands for: thousands, millions, and billions in two spellings."""

_ABBREVIATED = re.compile(
    r"((?:[0-9]{1,3}(?:,[0-9]{3}){1,4}|[0-9][0-9_]{0,15})(?:\.[0-9]{1,9})?)([kmgb])", re.IGNORECASE | re.ASCII
)
_DURATION = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?) ?([smhdw])", re.IGNORECASE | re.ASCII)
_UNIT_SECONDS: Final = MappingProxyType({"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800})


def number_in_digits(text: str) -> str | None:
    """Return a number that was abbreviated; None if it was not.

    >>> number_in_digits("1.5M")
    '1500000'
    """
    found = _ABBREVIATED.fullmatch(text)
    if found is None:
        return None
    return str(round(Decimal(found[1].replace("_", "").replace(",", "")) * FACTORS[found[2].lower()]))


def seconds_in_digits(text: str) -> str | None:
    """Return the seconds of a time with its unit; None if it has none.

    >>> seconds_in_digits("7d")
    '604800'
    """
    found = _DURATION.fullmatch(text)
    return f"{float(found[1]) * _UNIT_SECONDS[found[2].lower()]:.15g}" if found else None
