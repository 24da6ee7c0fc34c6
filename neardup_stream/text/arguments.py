"""Check the types of arguments of the library's functions."""

import operator
from typing import Any

__all__ = ["require_text", "require_whole"]


def require_text(text: object) -> None:
    """Return if this is a string.

    Raises:
        TypeError: it is not; the message names what it is.
    """
    if not isinstance(text, str):
        hint = ": decode them first" if isinstance(text, bytes | bytearray | memoryview) else ""
        raise TypeError(f"expected a text (str), got {type(text).__name__}{hint}")


def require_whole(name: str, number: Any) -> None:
    """Return if this is a whole number, of any type that has no others.

    Raises:
        TypeError: it is not.
    """
    try:
        operator.index(number)
    except TypeError:
        raise TypeError(f"{name} is {number!r}, must be a whole number") from None
