"""Check the types of arguments of the library's functions."""

import operator
from typing import Any

__all__ = ["require_text", "whole_number"]


def require_text(text: object) -> None:
    """Return if this is a string.

    Raises:
        TypeError: it is not; the message names what it is.
    """
    if not isinstance(text, str):
        hint = ": decode them first" if isinstance(text, bytes | bytearray | memoryview) else ""
        raise TypeError(f"expected a text (str), got {type(text).__name__}{hint}")


def whole_number(name: str, number: Any) -> int:
    """Return a whole number, given as any type that has no others.

    Raises:
        TypeError: it is none.
    """
    try:
        return operator.index(number)
    except TypeError:
        raise TypeError(f"{name} is {number!r}, must be a whole number") from None
