"""Limit how deep JSON may be nested: by its bytes alone, so that every reader refuses the same pages.

A decoder refuses what is too deep for its stack, and how much of that is left depends on who calls it.
"""

from itertools import accumulate
from typing import Final

__all__ = ["MAX_JSON_DEPTH", "is_too_deep"]

MAX_JSON_DEPTH: Final = 256
"""Most arrays and objects inside each other, the whole included."""

_BRACKETS: Final = b"[{]}"
_STEPS: Final = bytes.maketrans(_BRACKETS, b"\x01\x01\xff\xff")
_OTHERS: Final = bytes(range(256)).translate(None, _BRACKETS)


def is_too_deep(json: bytes, size_bytes: int | None = None) -> bool:
    """Return whether JSON, valid or not, is nested deeper than `MAX_JSON_DEPTH`.

    Args:
        json: is looked at.
        size_bytes: of all but one string in it, if that is known and the JSON is valid.

    Cost: 2 ns a byte; four times that where it has so many brackets, as scripts in `html` do; nothing where
    the rest beside a string has no room for them.
    """
    if size_bytes is not None and size_bytes < 2 * MAX_JSON_DEPTH:
        return False
    return json.count(b"[") + json.count(b"{") > MAX_JSON_DEPTH and _depth(json) > MAX_JSON_DEPTH


def _depth(json: bytes) -> int:
    steps = _outside_strings(json).translate(_STEPS, _OTHERS)
    return max(accumulate(memoryview(steps).cast("b")), default=0)


def _outside_strings(json: bytes) -> bytes:
    return b"".join(json.replace(rb"\\", b"").replace(rb"\"", b"").split(b'"')[::2])
