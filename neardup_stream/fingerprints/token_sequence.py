"""Keep what is needed of a token sequence to fingerprint it and to join it to another.

Joining two sequences needs only the tokens near the seam: the windows across it, and the votes of the second
sequence that an equal window shortly before the seam suppresses. So a sequence of any length keeps its first
and last `window - 1` tokens and its first and last RECENT_WINDOWS windows.
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from neardup_stream.fingerprints.simhash import RECENT_WINDOWS, TEXT_MULTIPLIER
from neardup_stream.hashing.stable import MASK64, mix, rotate

__all__ = ["SequenceDigest", "TokenSequence", "cyclic_hash", "seal", "windows"]


class SequenceDigest(NamedTuple):
    """The fingerprints of a sequence of tokens.

    Attributes:
        fingerprint: the simhash, in [0, 2**64); 0 without tokens.
        token_count: from 0.
        text_fingerprint: equal for equal sequences of tokens, in [0, 2**64).
    """

    fingerprint: int
    token_count: int
    text_fingerprint: int


class TokenSequence:
    """A sequence of token hashes; keeps only what `digest` and `merge` need.

    Args:
        width: tokens to a window.
    """

    __slots__ = (
        "_count",
        "_first_tokens",
        "_first_windows",
        "_last_tokens",
        "_last_windows",
        "_ones",
        "_total",
        "_votes",
        "_width",
    )

    def __init__(self, width: int) -> None:
        self._width = width
        self._count = 0
        self._total = 0
        self._votes = 0
        self._ones = np.zeros(64, np.int64)
        self._first_tokens: list[int] = []
        self._last_tokens: list[int] = []
        self._first_windows: list[int] = []
        self._last_windows: list[int] = []

    def copy(self) -> Self:
        """Return an independent sequence of the same tokens."""
        twin = type(self)(self._width)
        twin.merge(self)
        return twin

    __copy__ = copy

    def extend(self, tokens: Sequence[int]) -> None:
        """Append tokens. Cost: microseconds a token."""
        for token in tokens:
            self._total = (self._total * TEXT_MULTIPLIER + token) & MASK64
        self._count += len(tokens)
        beyond = self._last_tokens + list(tokens)
        if len(beyond) >= self._width:
            self._extend_windows(windows(beyond, self._width))
        self._remember_tokens(tokens, tokens)

    def merge(self, other: Self) -> None:
        """Append all tokens of another sequence, or of this one; the other stays unchanged."""
        if other is self:
            self.merge(self.copy())
            return
        seam = self._last_tokens + other._first_tokens
        if len(seam) >= self._width:
            self._extend_windows(windows(seam, self._width))
        self._add_votes(other._first_votes_withdrawn_after(self._last_windows), -1)
        self._votes += other._votes
        self._ones += other._ones
        self._remember_windows(other._first_windows, other._last_windows)
        self._total = (self._total * pow(TEXT_MULTIPLIER, other._count, 1 << 64) + other._total) & MASK64
        self._count += other._count
        self._remember_tokens(other._first_tokens, other._last_tokens)

    def digest(self) -> SequenceDigest:
        """Return the digest of the tokens so far."""
        votes, ones = self._votes, self._ones
        if 0 < self._count < self._width:
            votes, ones = 1, _bits_of([cyclic_hash(self._first_tokens)])
        fingerprint = sum(1 << bit for bit in range(64) if 2 * int(ones[bit]) > votes)
        return SequenceDigest(fingerprint, self._count, seal(self._total, self._count))

    def _extend_windows(self, new: list[int]) -> None:
        recent = self._last_windows + new
        start = len(self._last_windows)
        self._add_votes(
            [
                recent[place]
                for place in range(start, len(recent))
                if recent[place] not in recent[max(0, place - RECENT_WINDOWS) : place]
            ],
            +1,
        )
        self._remember_windows(new, new)

    def _first_votes_withdrawn_after(self, before: list[int]) -> list[int]:
        """Return the first windows that voted, but have an equal among the windows before the sequence."""
        first = self._first_windows
        return [
            window
            for place, window in enumerate(first)
            if window not in first[:place] and window in _last(before, RECENT_WINDOWS - place)
        ]

    def _add_votes(self, cast: list[int], sign: int) -> None:
        self._votes += sign * len(cast)
        self._ones += sign * _bits_of(cast)

    def _remember_tokens(self, first: Sequence[int], last: Sequence[int]) -> None:
        kept = self._width - 1
        self._first_tokens += first[: kept - len(self._first_tokens)]
        self._last_tokens = _last([*self._last_tokens, *last], kept)

    def _remember_windows(self, first: list[int], last: list[int]) -> None:
        self._first_windows += first[: RECENT_WINDOWS - len(self._first_windows)]
        self._last_windows = _last(self._last_windows + last, RECENT_WINDOWS)


def windows(tokens: Sequence[int], width: int) -> list[int]:
    """Return the hash of each window; fewer tokens than a window form one window."""
    if 0 < len(tokens) < width:
        return [cyclic_hash(tokens)]
    return [cyclic_hash(tokens[start : start + width]) for start in range(len(tokens) - width + 1)]


def cyclic_hash(tokens: Sequence[int]) -> int:
    """Return the hash of one window of token hashes."""
    state = 0
    for token in tokens:
        state = rotate(state, 1) ^ token
    return state


def seal(total: int, token_count: int) -> int:
    """Return the text fingerprint, from the polynomial of the tokens and their number."""
    return mix(total ^ mix(token_count))


def _last(values: list[int], count: int) -> list[int]:
    return values[max(0, len(values) - count) :]


def _bits_of(words: Sequence[int]) -> NDArray[np.int64]:
    """Return how many of the words have each bit, int64[64], lowest bit first."""
    octets = np.array(words, "<u8").view(np.uint8)
    bits = np.unpackbits(octets, bitorder="little").reshape(-1, 64)
    counts: NDArray[np.int64] = bits.sum(axis=0, dtype=np.int64)
    return counts
