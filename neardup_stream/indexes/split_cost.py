"""Decide whether to split long runs of words by permuted tables, and into which blocks.

The unit of cost is one comparison of two words, per word of the runs. Comparing a word with all others of its
run costs half of the run. With tables, the cost is that of the tables plus the comparisons that remain in
them.

Blocks are chosen so that each has an equal share of the entropy of the words, estimated from a sample of
pairs: in a hot bucket, the bits that its words share add nothing to a block. The number of blocks is then
chosen as if bits were independent. Because they are not, a split must also pay for the sampled pairs
themselves, or the work would multiply at every depth: a pair that agrees on z of m blocks stays together in
C(z, m - k) tables.
"""

from math import comb

import numpy as np
import numpy.typing as npt

from neardup_stream.bits.permutations import MAX_TABLES, block_masks
from neardup_stream.bits.words import Words

__all__ = ["Lengths", "cheapest_widths"]

Lengths = npt.NDArray[np.intp]

_WORD_COST = 8.0
"""The cost of permuting, sorting and scanning a word; measured: 4 to 12 comparisons."""

_LEAST_GAIN = 2.0
"""A split must save this factor, so that all depths together cost no more than comparing all pairs."""

_SAMPLED_PAIRS = 1024


def cheapest_widths(
    words: Words, lengths: Lengths, free_bits: int, distance_bits: int
) -> tuple[int, ...] | None:
    """Return the widths of the blocks to split by; None if comparing all words of each run is cheaper.

    Args:
        words: the runs, one after the other.
        lengths: of the runs, in words.
        free_bits: low bits in which the words of a run may differ.
        distance_bits: of a match.
    """
    half_run_words = float(np.square(lengths, dtype=np.float64).sum()) / max(words.size, 1) / 2
    differences = _sampled_differences(words, lengths)
    entropies = _entropies(differences, free_bits)
    cheapest, least_cost = None, half_run_words / _LEAST_GAIN
    for blocks in range(distance_bits + 1, free_bits + 1):
        tables = comb(blocks, distance_bits)
        if tables > MAX_TABLES or tables * _WORD_COST > least_cost:
            break
        prefix_entropy = entropies.sum() * (blocks - distance_bits) / blocks
        cost = tables * (_WORD_COST + half_run_words / 2**prefix_entropy)
        widths = _even_widths(entropies, blocks)
        remaining = half_run_words * _mean_meetings(differences, widths, distance_bits)
        if cost < least_cost and tables * _WORD_COST + remaining < half_run_words / _LEAST_GAIN:
            cheapest, least_cost = widths, cost
    return cheapest


def _sampled_differences(words: Words, lengths: Lengths) -> Words:
    """Return the XOR of pairs from the runs, each run weighted by its number of words.

    The sample is a low-discrepancy sequence (multiples of two irrational numbers, modulo 1), which is the
    same in every run of the program.
    """
    if not words.size:
        return words
    ends = np.cumsum(lengths)
    steps = np.arange(1, _SAMPLED_PAIRS + 1)
    left = (steps * np.sqrt(2) % 1 * words.size).astype(np.intp)
    run = np.searchsorted(ends, left, side="right")
    right = ends[run] - 1 - (steps * np.sqrt(3) % 1 * lengths[run]).astype(np.intp)
    differences: Words = words[left] ^ words[right]
    return differences


def _entropies(differences: Words, free_bits: int) -> npt.NDArray[np.float64]:
    """Return for each free bit, leading first, -log2 of the chance that two words of a run agree on it."""
    positions = np.arange(free_bits - 1, -1, -1, dtype=np.uint64)
    differing = (differences[:, None] >> positions & np.uint64(1)).sum(axis=0)
    agreeing = np.maximum(differences.size - differing, 1) / max(differences.size, 1)
    entropies: npt.NDArray[np.float64] = -np.log2(agreeing)
    return entropies


def _even_widths(entropies: npt.NDArray[np.float64], blocks: int) -> tuple[int, ...]:
    """Split the bits into blocks of about equal entropy, of at least one bit."""
    middles = np.cumsum(entropies) - entropies / 2
    inner = np.arange(1, blocks)
    ends = np.searchsorted(middles, entropies.sum() * inner / blocks)
    ends = np.maximum.accumulate(np.maximum(ends, 1) - inner) + inner
    ends = np.minimum(ends, entropies.size - blocks + inner)
    return tuple(np.diff(ends, prepend=0, append=entropies.size).tolist())


def _mean_meetings(differences: Words, widths: tuple[int, ...], distance_bits: int) -> float:
    """Return in how many of the tables the two words of a pair share a prefix, on average."""
    agreed = np.zeros(differences.size, dtype=np.intp)
    for mask in block_masks(widths):
        agreed += differences & np.uint64(mask) == 0
    blocks = len(widths)
    meetings = np.array([comb(count, blocks - distance_bits) for count in range(blocks + 1)])
    return float(np.mean(meetings[agreed]))
