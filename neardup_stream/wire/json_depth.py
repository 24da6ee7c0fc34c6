"""Limit how deep JSON may be nested: by its bytes alone, so that every reader refuses the same pages.

A decoder refuses what is too deep for its stack, and how much of that is left depends on who calls it.
"""

from itertools import accumulate
from typing import Final

import msgspec

__all__ = ["MAX_JSON_DEPTH", "is_too_deep", "is_too_deep_object"]

MAX_JSON_DEPTH: Final = 256
"""Most arrays and objects inside each other, the whole included."""

_BRACKETS: Final = b"[{]}"
_STEPS: Final = bytes.maketrans(_BRACKETS, b"\x01\x01\xff\xff")
_OTHERS: Final = bytes(range(256)).translate(None, _BRACKETS)

_LEAST_BYTES: Final = 2 * MAX_JSON_DEPTH

_FIELDS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


def is_too_deep(json: bytes) -> bool:
    """Return whether JSON, valid or not, is nested deeper than `MAX_JSON_DEPTH`.

    Cost: 2 ns a byte, four times that where it has so many brackets.
    """
    return _has_brackets(json) and _depth(json) > MAX_JSON_DEPTH


def is_too_deep_object(json: bytes, string_bytes: int) -> bool:
    """Return the same of a valid object, without a look into the strings of its fields, such as scripts.

    Args:
        json: the object; its field names are strings of Unicode.
        string_bytes: what one of these strings takes at least.

    Cost: nothing where there is no room for brackets beside that string; else 2 ns a byte.
    """
    if len(json) - string_bytes < _LEAST_BYTES or not _has_brackets(json):
        return False
    fields = [bytes(value) for value in _FIELDS.decode(json).values()]
    if len(json) - sum(map(len, fields)) >= _LEAST_BYTES:  # names that repeat hide values
        return _depth(json) > MAX_JSON_DEPTH
    return any(1 + _depth(value) > MAX_JSON_DEPTH for value in fields if value[:1] in {b"[", b"{"})


def _has_brackets(json: bytes) -> bool:
    return json.count(b"[") + json.count(b"{") > MAX_JSON_DEPTH


def _depth(json: bytes) -> int:
    steps = _outside_strings(json).translate(_STEPS, _OTHERS)
    return max(accumulate(memoryview(steps).cast("b")), default=0)


def _outside_strings(json: bytes) -> bytes:
    return b"".join(json.replace(rb"\\", b"").replace(rb"\"", b"").split(b'"')[::2])
