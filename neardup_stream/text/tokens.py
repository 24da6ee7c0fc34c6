"""Canonical text to tokens: runs of letters, or single characters where a script has no spaces.

This is the definition in plain Python; the page kernel does the same to bytes.
"""

import functools
import itertools
from collections.abc import Iterator
from typing import Literal

from neardup_stream.text.alphabet import is_letter, is_solo

__all__ = ["MAX_TOKEN_CHARACTERS", "Kind", "kind_of", "split_tokens"]

MAX_TOKEN_CHARACTERS = 128
"""Of a longer run the rest is ignored. It bounds what must be kept of a token that is not finished, and
still lets two parts of a text be joined in the middle of a run: cutting a run into several tokens would
put the cuts of the second part elsewhere."""

Kind = Literal["separator", "running", "solo"]


def split_tokens(text: str) -> Iterator[str]:
    """The tokens of canonical text, in order.

    >>> list(split_tokens("don't ask, 東京 2020"))
    ['don', 't', 'ask', '東', '京', '2020']
    """
    for kind, run in itertools.groupby(text, kind_of):
        if kind == "running":
            yield "".join(itertools.islice(run, MAX_TOKEN_CHARACTERS))
        elif kind == "solo":
            yield from run


@functools.cache
def kind_of(character: str) -> Kind:
    """What the character does to tokens."""
    if not is_letter(character):
        return "separator"
    return "solo" if is_solo(character) else "running"
