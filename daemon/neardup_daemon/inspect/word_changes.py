"""Shows the difference of two texts in one line: removed and added words, and a few words around them."""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import islice
from typing import Final, Literal, NamedTuple

__all__ = ["Piece", "word_changes"]

CONTEXT_WORDS = 4
LONGEST_PIECE_WORDS = 12
_UNSPACED: Final = r"\u0e00-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
"""Thai, Lao, Tibetan, Burmese, Khmer, Kana and Han, whose words are not spaced."""

WORD = re.compile(rf"[{_UNSPACED}]\s*|[^\s{_UNSPACED}]+\s*")
"""A word with its white space; of scripts whose words are not spaced, one character."""


class Piece(NamedTuple):
    """A stretch of text, and whether both texts have it, only the first or only the second."""

    text: str
    change: Literal["same", "removed", "added"]


def word_changes(before: str, after: str, most_places: int) -> tuple[Piece, ...]:
    """Return the first places where two texts differ, with up to four words of context on either side.

    Args:
        before: the earlier text.
        after: the later one.
        most_places: how many places to show; changes a few words apart are one place.

    Returns:
        Pieces to be read one after another, an ellipsis between places; empty for equal texts.

    Cost: some 5 ms for two texts of 700 words.
    """
    old, new = WORD.findall(before), WORD.findall(after)
    places = SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(CONTEXT_WORDS)
    pieces: list[Piece] = []
    for operations in islice(places, most_places):
        if pieces:
            pieces.append(Piece("… ", "same"))
        for _, old_start, old_end, new_start, new_end in operations:
            pieces += _pieces(old[old_start:old_end], new[new_start:new_end])
    return tuple(pieces)


def _pieces(old: Sequence[str], new: Sequence[str]) -> Iterator[Piece]:
    if old == new:
        yield Piece(_shortened(old), "same")
        return
    if old:
        yield Piece(_shortened(old), "removed")
    if new:
        yield Piece(_shortened(new), "added")


def _shortened(words: Sequence[str]) -> str:
    """Return the words as they are; of very many, the first and an ellipsis."""
    if len(words) <= LONGEST_PIECE_WORDS:
        return "".join(words)
    return "".join(words[:LONGEST_PIECE_WORDS]).rstrip() + "… "
