"""Whether to split long runs of words by permuted tables, and into how many blocks.

All costs are counted in comparisons of two words, for each word of the runs. Against all others of its
run, that is half of the run. With tables, it is the tables, and the comparisons that remain in them.

The number of blocks is chosen as if bits were independent: runs that stay long nevertheless, such as a hot
bucket's, are split again on their own. But a split has to pay at once for the pairs as they are, or the
work would multiply at every depth: where every bit is rarely set, say, most blocks of most pairs agree. A
sample tells: a pair that agrees on z of m blocks stays together in C(z, m - k) tables.
"""

from math import comb

import numpy as np
import numpy.typing as npt

from neardup_stream.bits.permutations import MAX_TABLES, block_masks, block_widths
from neardup_stream.bits.words import Words

__all__ = ["Lengths", "cheapest_blocks"]

Lengths = npt.NDArray[np.intp]

_WORD_COST = 8.0
"""To permute, sort and scan a word; measured 4 to 12 comparisons."""

_LEAST_GAIN = 2.0
"""A split must save this factor, so that all depths together cost no more than comparing all with all."""

_SAMPLED_PAIRS = 1024


def cheapest_blocks(words: Words, lengths: Lengths, free_bits: int, distance_bits: int) -> int | None:
    """The number of blocks to split by; None when comparing all words of each run is cheaper.

    Args:
        words: the runs, one after the other.
        lengths: of the runs, in words.
        free_bits: low bits in which the words of a run may differ.
        distance_bits: of a match.
    """
    half_run_words = float(np.square(lengths, dtype=np.float64).sum()) / max(words.size, 1) / 2
    differences = _sampled_differences(words, lengths)
    cheapest, least_cost = None, half_run_words / _LEAST_GAIN
    for blocks in range(distance_bits + 1, free_bits + 1):
        tables = comb(blocks, distance_bits)
        prefix_bits = sum(block_widths(blocks, free_bits)[distance_bits:])
        cost = tables * (_WORD_COST + half_run_words / 2**prefix_bits)
        if tables > MAX_TABLES or tables * _WORD_COST > least_cost:
            break
        remaining = half_run_words * _mean_meetings(differences, blocks, free_bits, distance_bits)
        if cost < least_cost and tables * _WORD_COST + remaining < half_run_words / _LEAST_GAIN:
            cheapest, least_cost = blocks, cost
    return cheapest


def _sampled_differences(words: Words, lengths: Lengths) -> Words:
    """XOR of pairs from the runs, a run the likelier the more words it has.

    Multiples of two irrational numbers, less their whole parts, fill a square evenly, as random numbers
    would, and are the same in every run of the program.
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


def _mean_meetings(differences: Words, blocks: int, free_bits: int, distance_bits: int) -> float:
    """In how many of the tables the two words of a pair share a prefix, on average."""
    agreed = np.zeros(differences.size, dtype=np.intp)
    for mask in block_masks(blocks, free_bits):
        agreed += differences & np.uint64(mask) == 0
    meetings = np.array([comb(count, blocks - distance_bits) for count in range(blocks + 1)])
    return float(np.mean(meetings[agreed]))
