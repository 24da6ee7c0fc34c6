"""Find every pair of close words in a set, in memory, at a cost that adapts to the data.

Words that share their leading bits form a run; at the start, the whole set is one run. If a run is long,

1. its remaining bits are split into blocks, and for each choice of blocks that a match must agree on, the
   words are permuted and sorted (`bits.permutations`), which breaks the run into shorter ones;
2. the same is repeated for runs that are still long. A short run is compared word by word.

So a hot bucket (many words with one prefix) is split further instead of being compared all against all.
The runs of one depth, except for the longest, are processed together, as one array that is sorted once: a
million of them cost no more calls than one. `indexes.split_cost` first estimates which blocks are best, and
whether another split is worth its tables. The estimate does not affect the result.

A pair that matches in several tables is reported by the first of them alone, at every depth: there it differs
in each block that the table passed over.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from neardup_stream.bits.permutations import Permutation, block_permutations
from neardup_stream.bits.words import WORD_BITS, Words
from neardup_stream.indexes.split_cost import Lengths, cheapest_widths

__all__ = ["Pairs", "matching_pairs", "sorted_pairs"]

Pairs = tuple[Words, Words]
"""Two arrays of equal length; the words at the same index are a pair."""

_SHORT_RUN_WORDS = 16
"""Runs of at most this many words are compared directly: in measurements, splitting them never paid."""

_HOT_RUN_WORDS = 1024
"""Runs of at least this many words are split individually: they are few, and differ from each other."""


@dataclass(frozen=True, slots=True)
class _Table:
    """Words in an order that keeps those with the same leading `shared_bits` together, in runs.

    A pair counts only if it differs in each of the masks `must_differ`; otherwise another table reports it.
    """

    words: Words
    shared_bits: int
    must_differ: Words

    @property
    def largest_difference(self) -> np.uint64:
        """Return the largest XOR of two words that share the leading bits."""
        return np.uint64((1 << (WORD_BITS - self.shared_bits)) - 1)


def sorted_pairs(words: Words, distance_bits: int) -> Pairs:
    """Return all pairs of `matching_pairs`, each with the smaller word first, in ascending order.

    Holds every pair: 16 bytes each, and about three times that during the sort.
    """
    none = np.empty((2, 0), dtype=np.uint64)
    pairs = np.concatenate([none, *map(np.stack, matching_pairs(words, distance_bits))], axis=1)
    pairs.sort(axis=0)
    left, right = pairs[:, np.lexsort(pairs[::-1])]
    return left, right


def matching_pairs(words: Words, distance_bits: int) -> Iterator[Pairs]:
    """Yield the pairs of words that differ in at most `distance_bits` bits, each pair once, in no order.

    Memory is some ten times that of `words`, however many pairs there are. Time: at distance 3 about ten
    sorts of the words, if they are spread evenly; it grows with the pairs found and steeply with distance.

    Args:
        words: distinct words, one dimension.
        distance_bits: 0 to 63.

    Yields:
        A few pairs up to as many as there are words.
    """
    yield from _search(_Table(words, 0, np.empty(0, dtype=np.uint64)), distance_bits)


def _search(table: _Table, distance_bits: int) -> Iterator[Pairs]:
    lengths = _run_lengths(table)
    is_short, is_hot = lengths <= _SHORT_RUN_WORDS, lengths >= _HOT_RUN_WORDS
    yield from _compare(_selected(table, lengths, is_short), distance_bits)
    is_medium = ~(is_short | is_hot)
    if is_medium.any():
        yield from _split(_selected(table, lengths, is_medium), lengths[is_medium], distance_bits)
    ends = np.cumsum(lengths)
    for run in np.flatnonzero(is_hot):
        words = table.words[ends[run] - lengths[run] : ends[run]]
        yield from _split(replace(table, words=words), lengths[run : run + 1], distance_bits)


def _selected(table: _Table, lengths: Lengths, chosen: npt.NDArray[np.bool_]) -> _Table:
    if chosen.all():
        return table
    return replace(table, words=table.words[np.repeat(chosen, lengths)])


def _run_lengths(table: _Table) -> Lengths:
    words = table.words
    is_last = (words[1:] ^ words[:-1]) > table.largest_difference
    ends = np.append(np.flatnonzero(is_last), words.size - 1)
    return np.diff(ends, prepend=-1)


def _split(table: _Table, lengths: Lengths, distance_bits: int) -> Iterator[Pairs]:
    """Search a table of long runs by tables of their own, or directly if those would cost more."""
    ours = _may_differ_enough(table, lengths)
    table, lengths = _selected(table, lengths, ours), lengths[ours]
    widths = cheapest_widths(table.words, lengths, WORD_BITS - table.shared_bits, distance_bits)
    if widths is None:
        yield from _compare(table, distance_bits)
        return
    for permutation in block_permutations(widths, distance_bits):
        for left, right in _search(_permuted(table, permutation), distance_bits):
            yield permutation.invert(left), permutation.invert(right)


def _may_differ_enough(table: _Table, lengths: Lengths) -> npt.NDArray[np.bool_]:
    """Return for each run whether it has any pair that this table reports."""
    starts = np.cumsum(lengths) - lengths
    varying = np.bitwise_or.reduceat(table.words ^ np.repeat(table.words[starts], lengths), starts)
    is_ours: npt.NDArray[np.bool_] = np.all(varying[:, None] & table.must_differ != 0, axis=1)
    return is_ours


def _permuted(table: _Table, permutation: Permutation) -> _Table:
    words = permutation.apply(table.words)
    words.sort()
    passed_over = np.array(permutation.passed_over, dtype=np.uint64)
    must_differ = permutation.apply(np.concatenate([table.must_differ, passed_over]))
    return _Table(words, permutation.prefix_bits, must_differ)


def _compare(table: _Table, distance_bits: int) -> Iterator[Pairs]:
    """Compare each word with those after it in its run: all with the next one, then the one after that."""
    words, lag = table.words, 0
    lefts = np.arange(words.size)
    while lefts.size:
        lag += 1
        if lefts[-1] + lag == words.size:
            lefts = lefts[:-1]
        differences = words[lefts] ^ words[lefts + lag]
        in_same_run = differences <= table.largest_difference
        lefts, differences = lefts[in_same_run], differences[in_same_run]
        is_match = np.bitwise_count(differences) <= distance_bits
        for mask in table.must_differ:
            is_match &= differences & mask != 0
        matches = lefts[is_match]
        if matches.size:
            yield words[matches], words[matches + lag]
