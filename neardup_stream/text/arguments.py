"""Check the types of arguments of the library's functions."""

import operator
from typing import Any

from neardup_stream.errors import ConfigError

__all__ = ["require_instance", "require_text", "whole_number", "whole_number_in"]


def require_instance(kind: type, given: object) -> None:
    """Return if this is of a class.

    Raises:
        TypeError: it is not; the message names what it is.
    """
    if not isinstance(given, kind):
        raise TypeError(f"expected a {kind.__name__}, got {type(given).__name__}")


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


def whole_number_in(name: str, number: Any, least: int, most: int | None = None) -> int:
    """Return a whole number that is in a range.

    Raises:
        ConfigError: it is not in the range.
        TypeError: it is no whole number.

    >>> whole_number_in("bins", 160, 16, 1024)
    160
    """
    whole = whole_number(name, number)
    if whole < least or (most is not None and whole > most):
        wanted = f"at least {least}" if most is None else f"{least} to {most}"
        raise ConfigError(f"{name} is {whole}, must be {wanted}")
    return whole
