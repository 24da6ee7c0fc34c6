"""What a corpus is, and words for more than one."""

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["TEXT_WORDS", "Corpus"]


class Corpus(NamedTuple):
    """Where mutations begin, and what they put in."""

    inputs: Sequence[bytes]
    words: Sequence[bytes]


TEXT_WORDS = [
    word.encode("utf-8", "surrogatepass")
    for word in (
        *("a", " ", "\n", "\r\n", "\0", "\ufeff", "\u00e9", "e\u0301", "\u0300\u0316", "\u0f73", "\u200d"),
        *("\ufdfa", "\u1100\u1161\u11a8", "\u0e33", "\u0d7a", "\u0654", "\u00ad", "\U0001d165", "\U0001f600"),
        *("\ud800", "\udfff", "\u6771\u4eac", "\u0130", "\u00df", "\u1e9e", "\U000e0041", "word ", "\u0345"),
    )
]
