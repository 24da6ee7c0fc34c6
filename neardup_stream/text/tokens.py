"""Split canonical text into tokens: runs of letters, or single characters in scripts without spaces.

This is the reference in plain Python; the page kernel does the same on bytes.
"""

import functools
import itertools
from collections.abc import Iterator
from typing import Literal

from neardup_stream.text.alphabet import is_letter, is_solo

__all__ = ["MAX_TOKEN_CHARACTERS", "Kind", "kind_of", "split_tokens"]

MAX_TOKEN_CHARACTERS = 128
"""Letters of a run that count; later ones are ignored. The limit bounds the state of an unfinished token, and
still allows two parts of a text to be joined in the middle of a run: splitting a long run into several tokens
would put the splits of the second part elsewhere.
"""

Kind = Literal["separator", "running", "solo"]


def split_tokens(text: str) -> Iterator[str]:
    """Yield the tokens of canonical text, in order.

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
    """Return how a character affects tokens."""
    if not is_letter(character):
        return "separator"
    return "solo" if is_solo(character) else "running"
