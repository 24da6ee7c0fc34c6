"""Find an escaped half of a surrogate pair in JSON, which msgspec may report as truncated input."""

import re

__all__ = ["lone_surrogate"]

# JSON in which every escaped surrogate is paired; possessive, so that matching takes one pass.
_PAIRED_SURROGATES = re.compile(
    rb"(?: [^\\]++ | \\u[dD][89abAB]..\\u[dD][c-fC-F].. | \\u(?![dD][89a-fA-F]) | \\[^u] )*+",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE_BYTES = 6


def lone_surrogate(json: bytes) -> str:
    r"""Return in words where the first half of a pair stands without the other; nothing where none does.

    >>> lone_surrogate(rb'{"text": "\ud83d"}')
    'byte 10: \\ud83d is half of a surrogate pair'
    >>> lone_surrogate(rb'{"text": "\ud83d\ude00')
    ''
    """
    paired = _PAIRED_SURROGATES.match(json)
    at = paired.end() if paired else 0
    if at + 1 >= len(json):
        return ""
    escape = json[at : at + _ESCAPE_BYTES].decode("ascii", "replace")
    return f"byte {at}: {escape} is half of a surrogate pair"
