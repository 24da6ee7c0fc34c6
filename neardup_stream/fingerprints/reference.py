"""The fingerprint of a page in plain Python: what the compiled kernel is held to, bit for bit.

Read this to know what a fingerprint is:

    tokens     runs of letters of the canonical text
    features   each window of w consecutive tokens, hashed so that it can roll: the tokens' 64-bit hashes,
               each turned left by one bit for every token after it in the window, and XORed
    votes      one for each window, unless an equal one is among the RECENT_WINDOWS before it: what is
               frequent weighs more, but a word or phrase repeated without end votes once
    bits       those that more than half of the votes have
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from neardup_stream.fingerprints.simhash import RECENT_WINDOWS, TEXT_MULTIPLIER, SimhashConfig
from neardup_stream.hashing.stable import MASK64, mix, rotate, token_hash
from neardup_stream.text.canonical import canonicalize
from neardup_stream.text.tokens import split_tokens

__all__ = ["Digest", "cyclic_hash", "fingerprint_page", "majority", "seal", "votes", "windows"]


class Digest(NamedTuple):
    """The values computed from one page's text.

    Attributes:
        fingerprint: the simhash, in [0, 2**64); without meaning below `min_tokens` tokens.
        token_count: from 0.
        text_fingerprint: equal for equal sequences of tokens, in [0, 2**64).
    """

    fingerprint: int
    token_count: int
    text_fingerprint: int


def fingerprint_page(text: str, config: SimhashConfig) -> Digest:
    """The digest of one visible text. Cost: milliseconds."""
    tokens = [token_hash(token) for token in split_tokens(canonicalize(text))]
    fingerprint = majority(votes(windows(tokens, config.window_tokens)))
    total = 0
    for token in tokens:
        total = (total * TEXT_MULTIPLIER + token) & MASK64
    return Digest(fingerprint, len(tokens), seal(total, len(tokens)))


def windows(tokens: Sequence[int], width: int) -> list[int]:
    """The hash of each window; tokens that do not fill one are a window together."""
    if 0 < len(tokens) < width:
        return [cyclic_hash(tokens)]
    return [cyclic_hash(tokens[start : start + width]) for start in range(len(tokens) - width + 1)]


def cyclic_hash(tokens: Sequence[int]) -> int:
    """The hash of one window of token hashes."""
    state = 0
    for token in tokens:
        state = rotate(state, 1) ^ token
    return state


def votes(features: Sequence[int]) -> Iterator[int]:
    """The features that have no equal among the RECENT_WINDOWS before them."""
    for place, feature in enumerate(features):
        if feature not in features[max(0, place - RECENT_WINDOWS) : place]:
            yield feature


def majority(features: Iterator[int]) -> int:
    """The bits that more than half of the features have; 0 when there is none."""
    balance = [0] * 64
    for feature in features:
        for bit in range(64):
            balance[bit] += 1 if feature >> bit & 1 else -1
    return sum(1 << bit for bit in range(64) if balance[bit] > 0)


def seal(total: int, token_count: int) -> int:
    """The text fingerprint, from the polynomial of the tokens and their number."""
    return mix(total ^ mix(token_count))
