"""Compute block permutations, so that close words share a prefix in at least one sorted table.

A word is split into m blocks. Two words within k bits differ in at most k blocks, so they agree on at
least m - k. For every choice of m - k blocks there is one table, whose permutation brings those blocks to
the front and leaves the others behind them in their order. With m = 4, k = 2, the table of blocks 1 and 3:

    bit     63            48 47            32 31            16 15             0
            +---------------+----------------+----------------+---------------+
    word    |    block 0    |    block 1     |    block 2     |    block 3    |
            +---------------+----------------+----------------+---------------+
    table   |    block 1    |    block 3     |    block 0     |    block 2    |
            +---------------+----------------+----------------+---------------+
            |<-- prefix: equal in a match -->|<-- may differ in k bits ------>|

So the matches of a word lie in one short range of a sorted table: the words with the same prefix.

A word may also be split into s substrings first, each of m blocks. Two words within k bits differ in at most
k // s bits of one of their substrings, so they agree on m - k // s of its blocks: a table for each choice of
those, in each substring. At 3 bits, 2 substrings of 3 blocks make 6 tables with a prefix of at least 21 bits;
one of 5 blocks makes 10, with 25. Source of the substrings: Norouzi, Punjani and Fleet 2012 (multi-index
hashing).

Of a word that is one substring, a pair that agrees on more than m - k blocks matches in several tables.
Only in the first of these tables does the pair differ in every block that the permutation passed over (the
blocks before its last leading one; 0 and 2 in the picture). A match is reported from that table alone, so no
list of pairs is needed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations
from math import comb

import numpy as np

from neardup_stream.bits.words import WORD_BITS, Words
from neardup_stream.errors import ConfigError

__all__ = [
    "MAX_TABLES",
    "Permutation",
    "PermutedConfig",
    "block_masks",
    "block_permutations",
    "block_widths",
    "check_blocks",
    "permutations",
]

MAX_TABLES = 256
"""The most tables an index may have. Each table stores every page once: 20 tables take over 2 KB a page. The
largest known layout has 252 (10 blocks, 5 bits). A table's number fits in a byte.
"""


@dataclass(frozen=True, slots=True)
class PermutedConfig:
    """The layout of an index of permuted tables.

    Blocks and pages set the cost: an index stores `table_count` entries a page. A probe of one table
    reads the words that share a prefix of some 64 * (blocks - distance_bits) / blocks bits by chance.
    Neither blocks nor substrings change which pages match.

    Attributes:
        blocks: parts that each substring is split into; at most 64 in all substrings.
        distance_bits: words that differ in at most this many bits match; 0 is equality.
        substrings: parts of a word that are searched on their own, 1 to `distance_bits` + 1.

    Raises:
        ConfigError: the two contradict each other, or need more than `MAX_TABLES` tables.
    """

    blocks: int = 4
    distance_bits: int = 3
    substrings: int = 1

    def __post_init__(self) -> None:
        if self.substrings == 1:
            check_blocks(self.blocks, self.distance_bits)
        else:
            _check_substrings(self)
        if self.table_count > MAX_TABLES:
            raise ConfigError(
                f"blocks ({self.blocks}) and distance_bits ({self.distance_bits}) take {self.table_count}"
                f" tables, the most is {MAX_TABLES}"
            )

    @property
    def radius_bits(self) -> int:
        """Return the bits in which the nearest substrings of a match may differ."""
        return self.distance_bits // self.substrings

    @property
    def table_count(self) -> int:
        """Return the number of tables: one for each choice of the blocks that a match agrees on."""
        return self.substrings * comb(self.blocks, self.radius_bits)


@dataclass(frozen=True, slots=True)
class Permutation:
    """One table's order of blocks, as masks and shifts.

    Attributes:
        order: block numbers from the leading end, block 0 being the word's leading one.
        prefix_bits: leading bits of the permuted word that a match shares.
        passed_over: masks, in the unpermuted word, of the blocks skipped before the last leading one. They
            say which table reports a match first only where a word is one substring.
        moves: (mask in the unpermuted word, shift); positive shifts go towards the leading bit.
    """

    order: tuple[int, ...]
    prefix_bits: int
    passed_over: tuple[int, ...]
    moves: tuple[tuple[int, int], ...]

    def apply(self, words: Words) -> Words:
        """Return the words with their blocks in this table's order; same shape, a new array."""
        permuted = np.zeros_like(words)
        for mask, shift in self.moves:
            permuted |= _shifted(words & np.uint64(mask), shift)
        return permuted

    def invert(self, permuted: Words) -> Words:
        """Undo `apply`."""
        words = np.zeros_like(permuted)
        for mask, shift in self.moves:
            words |= _shifted(permuted, -shift) & np.uint64(mask)
        return words


def permutations(config: PermutedConfig) -> tuple[Permutation, ...]:
    """Return the permutation of every table, in the order of their leading blocks.

    >>> [table.order for table in permutations(PermutedConfig(blocks=3, distance_bits=1))]
    [(0, 1, 2), (0, 2, 1), (1, 2, 0)]
    >>> halves = permutations(PermutedConfig(blocks=3, distance_bits=3, substrings=2))
    >>> [table.order[:2] for table in halves]
    [(0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5)]
    """
    substrings = [block_widths(config.blocks, width) for width in block_widths(config.substrings)]
    widths = tuple(width for substring in substrings for width in substring)
    return tuple(
        _permutation(leading, widths)
        for first in range(0, len(widths), config.blocks)
        for leading in combinations(range(first, first + config.blocks), config.blocks - config.radius_bits)
    )


def block_permutations(widths: Sequence[int], distance_bits: int) -> tuple[Permutation, ...]:
    """Return the tables for blocks of any widths in the low bits of a word.

    The bits above the blocks stay in front and count into `prefix_bits`. There are C(len(widths),
    distance_bits) tables.

    Args:
        widths: bits of each block, at least 1, the leading block first; more blocks than `distance_bits`.
        distance_bits: of a match, 0 or more.
    """
    leading_blocks = combinations(range(len(widths)), len(widths) - distance_bits)
    return tuple(_permutation(leading, widths) for leading in leading_blocks)


def block_widths(blocks: int, bits: int = WORD_BITS) -> tuple[int, ...]:
    """Return the widths of the blocks in bits, as even as possible, the wider ones leading.

    >>> block_widths(6)
    (11, 11, 11, 11, 10, 10)
    """
    width, wider = divmod(bits, blocks)
    return (width + 1,) * wider + (width,) * (blocks - wider)


def block_masks(widths: Sequence[int]) -> tuple[int, ...]:
    """Return the masks of the blocks in the low bits of a word, given their widths, the leading block first.

    >>> [f"{mask:08b}" for mask in block_masks((3, 3, 2))]
    ['11100000', '00011100', '00000011']
    """
    return tuple(((1 << width) - 1) << low for width, low in zip(widths, _low_bits(widths), strict=True))


def check_blocks(blocks: int, distance_bits: int) -> None:
    """Check that two numbers are consistent, regardless of the cost of the layout.

    Raises:
        ConfigError: unless 0 <= distance_bits < blocks <= 64; the message has the numbers.
    """
    if distance_bits < 0:
        raise ConfigError(f"distance_bits ({distance_bits}) must not be negative")
    if blocks <= distance_bits:
        raise ConfigError(f"blocks ({blocks}) must be greater than distance_bits ({distance_bits})")
    if blocks > WORD_BITS:
        raise ConfigError(f"blocks ({blocks}) must be at most {WORD_BITS}, one for each bit")


def _check_substrings(config: PermutedConfig) -> None:
    blocks, substrings, distance_bits = config.blocks, config.substrings, config.distance_bits
    if not 1 <= substrings <= distance_bits + 1:
        raise ConfigError(
            f"substrings ({substrings}) must be in [1, {distance_bits + 1}], at most one more than"
            f" distance_bits ({distance_bits})"
        )
    if not config.radius_bits < blocks <= WORD_BITS // substrings:
        raise ConfigError(
            f"blocks ({blocks}) must be in [{config.radius_bits + 1}, {WORD_BITS // substrings}] with"
            f" distance_bits ({distance_bits}) and substrings ({substrings})"
        )


def _permutation(leading: tuple[int, ...], widths: Sequence[int]) -> Permutation:
    order = leading + tuple(block for block in range(len(widths)) if block not in leading)
    masks, bits = block_masks(widths), sum(widths)
    new_low_bits = dict(zip(order, _low_bits([widths[block] for block in order]), strict=True))
    mask_by_shift = {0: (1 << WORD_BITS) - (1 << bits)}
    for block, low_bit in enumerate(_low_bits(widths)):
        shift = new_low_bits[block] - low_bit
        mask_by_shift[shift] = mask_by_shift.get(shift, 0) | masks[block]
    return Permutation(
        order=order,
        prefix_bits=WORD_BITS - bits + sum(widths[block] for block in leading),
        passed_over=tuple(masks[block] for block in range(leading[-1]) if block not in leading),
        moves=tuple((mask, shift) for shift, mask in mask_by_shift.items() if mask),
    )


def _low_bits(widths: Sequence[int]) -> list[int]:
    """Return the position of the lowest bit of each block, given the widths from the leading end."""
    return [sum(widths) - end for end in accumulate(widths)]


def _shifted(words: Words, shift: int) -> Words:
    return words << np.uint64(shift) if shift >= 0 else words >> np.uint64(-shift)
