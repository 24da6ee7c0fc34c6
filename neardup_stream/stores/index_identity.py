"""Define what identifies an index, and what its verdicts depend on; every store keeps it."""

import secrets
from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["TIME_DIGITS", "TOKEN_DIGITS", "Policy", "new_token"]

TIME_DIGITS = 12
"""Of a token, that say when its index was made."""

_CHANCE_BYTES = 8
TOKEN_DIGITS = TIME_DIGITS + 2 * _CHANCE_BYTES


class Policy(NamedTuple):
    """What verdicts depend on.

    Attributes:
        number: from 0; who changes a setting knowingly raises it.
        settings: by name.
    """

    number: int
    settings: Mapping[str, str | float]


def new_token(now_ms: int, above: str = "") -> str:
    """Return the token of a new index: 12 hexadecimal digits of the time, 16 by chance; greater than `above`.

    >>> new_token(1, above=new_token(5))[:12]
    '000000000006'
    """
    least_ms = int(above[:TIME_DIGITS], 16) + 1 if above else 0
    return f"{max(now_ms, least_ms):0{TIME_DIGITS}x}{secrets.token_hex(_CHANCE_BYTES)}"
