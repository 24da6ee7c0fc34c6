"""Split a text into shingles: sequences of consecutive tokens, as a set of 64-bit ids.

    a rose is a rose is a rose    width 4
    set         a-rose-is-a  rose-is-a-rose  is-a-rose-is
    bag         the same, and  a-rose-is-a #2  rose-is-a-rose #2

A set ignores how often a shingle occurs; a labelled bag counts each further occurrence as a shingle of its
own. The similarity of two texts is that of their sets.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from neardup_stream.bits.words import Words
from neardup_stream.errors import ConfigError
from neardup_stream.fingerprints.sketch import MAX_SHINGLE_TOKENS
from neardup_stream.hashing.rabin import rabin_shift
from neardup_stream.hashing.ranks import mixed
from neardup_stream.hashing.stable import token_hash
from neardup_stream.hashing.windows import Shift, cyclic_shift, window_hashes
from neardup_stream.ordered import are_first
from neardup_stream.text.arguments import whole_number_in
from neardup_stream.text.canonical import canonicalize
from neardup_stream.text.tokens import split_tokens

__all__ = ["ShingleConfig", "ShingleHash", "shingle_ids", "token_hashes"]

ShingleHash = Literal["cyclic", "rabin"]
"""How the tokens of a shingle become its id: as in the simhash, or as a Rabin fingerprint."""

_SHIFTS: dict[ShingleHash, Shift] = {"cyclic": cyclic_shift, "rabin": rabin_shift}


@dataclass(frozen=True, slots=True)
class ShingleConfig:
    """The definition of a shingle. Ids of different configurations are unrelated.

    Attributes:
        shingle_tokens: consecutive tokens to a shingle, 1 to MAX_SHINGLE_TOKENS. A changed word changes so
            many shingles; moved passages of many words change few, whatever the width.
        hash: of n distinct shingles some n * n / 2**65 pairs share an id with "cyclic", and with "rabin"
            at most n * n * shingle_tokens / 2**59, whatever the tokens. Tokens that were chosen so as to
            clash defeat either.
        is_bag: whether occurrences after the first count.

    Raises:
        ConfigError: the width is out of its range, or there is no such hash.
        TypeError: the width is no whole number.
    """

    shingle_tokens: int = 3
    hash: ShingleHash = "cyclic"
    is_bag: bool = False

    def __post_init__(self) -> None:
        whole_number_in("shingle_tokens", self.shingle_tokens, 1, MAX_SHINGLE_TOKENS)
        if self.hash not in tuple(_SHIFTS):
            raise ConfigError(f"hash is {self.hash!r}, must be one of {', '.join(_SHIFTS)}")


def token_hashes(text: str) -> Words:
    """Return the hashes of a visible text's tokens in order, uint64. Cost: some 0.5 ms for 3.5 KB."""
    return np.array([token_hash(token) for token in split_tokens(canonicalize(text))], np.uint64)


def shingle_ids(tokens: Words, config: ShingleConfig) -> Words:
    """Return the ids of the shingles, ascending and distinct.

    Tokens that do not fill a shingle are one together.

    Args:
        tokens: hashes in the order of the text, uint64[n].
        config: what a shingle is.

    Returns:
        At most max(1, n - shingle_tokens + 1) ids; none if there are no tokens.

    Cost: O(n log n); 16 µs for 600 tokens, some 60 µs with Rabin fingerprints or as a bag.
    """
    ids = np.sort(window_hashes(tokens, config.shingle_tokens, _SHIFTS[config.hash]))
    is_first = are_first(ids)
    return np.sort(_labelled(ids, is_first)) if config.is_bag else ids[is_first]


def _labelled(ids: Words, is_first: NDArray[np.bool_]) -> Words:
    """Return the sorted ids made distinct; the first of equal ones stays, because `mixed` maps 0 to 0."""
    places = np.arange(ids.size, dtype=np.uint64)
    place_of_first = np.maximum.accumulate(np.where(is_first, places, 0))
    return ids ^ mixed(places - place_of_first)
