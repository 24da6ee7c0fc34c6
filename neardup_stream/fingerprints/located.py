"""Tokens of a visible text and where each stands in it, in characters of the text as it is, not canonical.

Canonicalizing is done apart for each *cluster*: a character that joins none before it, and those behind it
that may. Nothing joins across the border of two clusters, so the canonical clusters one behind the other are
the canonical text, and a token lies where its clusters lie.
"""

import functools
import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup_stream.errors import InvariantBroken
from neardup_stream.fingerprints.simhash import SimhashConfig, fingerprint_lines
from neardup_stream.text.alphabet import IGNORED, SOLO, UNSETTLED, canonical_alphabet, may_join, raw_alphabet
from neardup_stream.text.canonical import fold_characters, is_left_out

__all__ = ["LocatedTokens", "locate_tokens"]

_ANY = SimhashConfig()


class LocatedTokens(NamedTuple):
    """The tokens of a text, one entry each.

    Attributes:
        hashes: uint64.
        starts: int64, the first character of each.
        ends: int64, the character behind each.
    """

    hashes: NDArray[np.uint64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]


class _Letters(NamedTuple):
    """Canonical characters as an alphabet has them, and where in the text each comes from."""

    entries: NDArray[np.int32]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]


def locate_tokens(text: str) -> LocatedTokens:
    """The tokens of a visible text, canonical or not, with their places.

    Cost: 0.2 ms for 3.5 KB; 5 µs more for each cluster that has to be canonicalized.
    """
    letters = _letters(text)
    is_solo = letters.entries >= SOLO
    is_running = (letters.entries > 0) & ~is_solo
    was_running = np.concatenate([[False], is_running[:-1]])
    runs_on = np.concatenate([is_running[1:], [False]])
    starts = letters.starts[is_solo | (is_running & ~was_running)]
    ends = letters.ends[is_solo | (is_running & ~runs_on)]
    _, (lines,) = fingerprint_lines([text], _ANY)
    if not lines.tokens.size == starts.size == ends.size:
        raise InvariantBroken(f"{lines.tokens.size} tokens were hashed, {starts.size} located")
    return LocatedTokens(lines.tokens, starts, ends)


def _letters(text: str) -> _Letters:
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    raw = raw_alphabet()
    entries = raw[np.minimum(points, raw.size - 1)]
    places = np.arange(points.size)
    if not (entries >= UNSETTLED).any():
        kept = entries != IGNORED
        return _Letters(entries[kept], places[kept], places[kept] + 1)
    begins = (entries != IGNORED) & (entries < UNSETTLED)
    others, numbers = np.unique(points[entries >= UNSETTLED], return_inverse=True)
    begins[entries >= UNSETTLED] = np.array([_begins_cluster(point) for point in others.tolist()])[numbers]
    begins[:1] = True
    starts = np.flatnonzero(begins)
    ends = np.append(starts[1:], points.size)
    unsettled = np.add.reduceat(entries >= UNSETTLED, starts) > 0
    # A settled cluster is one letter, and what is ignored behind it.
    pieces: list[_Letters] = []
    for is_unsettled, clusters in itertools.groupby(range(starts.size), unsettled.__getitem__):
        run = list(clusters)
        if is_unsettled:
            pieces += [_folded(text, int(starts[number]), int(ends[number])) for number in run]
        else:
            first = starts[run]
            kept = entries[first] != IGNORED
            pieces.append(_Letters(entries[first][kept], first[kept], first[kept] + 1))
    return _Letters(*map(np.concatenate, zip(*pieces, strict=True)))


def _folded(text: str, start: int, end: int) -> _Letters:
    canonical = canonical_alphabet()
    folded = fold_characters(text[start:end])
    points = np.frombuffer(folded.encode("utf-32-le", "surrogatepass"), "<u4")
    entries = canonical[np.minimum(points, canonical.size - 1)]
    return _Letters(entries, np.full(points.size, start), np.full(points.size, end))


@functools.cache
def _begins_cluster(point: int) -> bool:
    """Whether a character joins none before it; asked of those that do not settle by themselves."""
    folded = fold_characters(chr(point))
    return (
        bool(folded) and not is_left_out(chr(point)) and not may_join(chr(point)) and not may_join(folded[0])
    )
