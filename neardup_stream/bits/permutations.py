"""Block permutations: how words that are close come to share a prefix in at least one sorted table.

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

A pair may agree on more than m - k blocks, and is then found in several tables. It differs in every block
that the first of them passed over (the blocks in front of its last leading one; 0 and 2 in the picture),
and in no other table is that so. This tells which of the findings to keep, without remembering any.
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
"""Tables an index may have. Every page is stored once in each: 20 tables already take over 2 KB a page, and
252 (10 blocks, 5 bits) are the most that anyone has had a use for. A table's number fits a byte."""


@dataclass(frozen=True, slots=True)
class PermutedConfig:
    """How an index of permuted tables is laid out.

    Blocks and pages set the cost: `table_count` entries a page, and in each table as many candidates a
    probe as words share a prefix of some 64 * (blocks - distance_bits) / blocks bits by chance. What is
    found does not depend on `blocks`.

    Attributes:
        blocks: parts a word is split into, at most 64.
        distance_bits: words that differ in at most this many bits match; 0 is equality.

    Raises:
        ConfigError: the two contradict each other, or would take more than `MAX_TABLES` tables.
    """

    blocks: int = 4
    distance_bits: int = 3

    def __post_init__(self) -> None:
        check_blocks(self.blocks, self.distance_bits)
        if self.table_count > MAX_TABLES:
            raise ConfigError(
                f"blocks ({self.blocks}) and distance_bits ({self.distance_bits}) take {self.table_count}"
                f" tables, the most is {MAX_TABLES}"
            )

    @property
    def table_count(self) -> int:
        """One table for each choice of the blocks that a match agrees on."""
        return comb(self.blocks, self.distance_bits)


@dataclass(frozen=True, slots=True)
class Permutation:
    """One table's order of blocks, as masks and shifts.

    Attributes:
        order: block numbers from the leading end, block 0 being the word's leading one.
        prefix_bits: leading bits of the permuted word that a match shares.
        passed_over: masks, in the unpermuted word, of the blocks left behind before the last leading one.
        moves: (mask in the unpermuted word, shift); positive shifts go towards the leading bit.
    """

    order: tuple[int, ...]
    prefix_bits: int
    passed_over: tuple[int, ...]
    moves: tuple[tuple[int, int], ...]

    def apply(self, words: Words) -> Words:
        """The words with their blocks in this table's order; same shape, a new array."""
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
    """The permutation of every table, in the order of their leading blocks.

    >>> [table.order for table in permutations(PermutedConfig(blocks=3, distance_bits=1))]
    [(0, 1, 2), (0, 2, 1), (1, 2, 0)]
    """
    return block_permutations(block_widths(config.blocks), config.distance_bits)


def block_permutations(widths: Sequence[int], distance_bits: int) -> tuple[Permutation, ...]:
    """The tables for blocks of any widths in the low bits of a word; the bits above them stay in front.

    Those fixed bits count into `prefix_bits`. There are C(len(widths), distance_bits) tables.

    Args:
        widths: of the blocks in bits, each at least 1, the leading block first; more than `distance_bits`.
        distance_bits: of a match, 0 or more.
    """
    leading_blocks = combinations(range(len(widths)), len(widths) - distance_bits)
    return tuple(_permutation(leading, widths) for leading in leading_blocks)


def block_widths(blocks: int, bits: int = WORD_BITS) -> tuple[int, ...]:
    """Widths of the blocks in bits, as even as possible, the wider ones leading.

    >>> block_widths(6)
    (11, 11, 11, 11, 10, 10)
    """
    width, wider = divmod(bits, blocks)
    return (width + 1,) * wider + (width,) * (blocks - wider)


def block_masks(widths: Sequence[int]) -> tuple[int, ...]:
    """Masks of the blocks in the low bits of a word, given their widths, the leading block first.

    >>> [f"{mask:08b}" for mask in block_masks((3, 3, 2))]
    ['11100000', '00011100', '00000011']
    """
    return tuple(((1 << width) - 1) << low for width, low in zip(widths, _low_bits(widths), strict=True))


def check_blocks(blocks: int, distance_bits: int) -> None:
    """Refuse numbers that contradict each other, whatever they would cost.

    Raises:
        ConfigError: unless 0 <= distance_bits < blocks <= 64; the message has the numbers.
    """
    if distance_bits < 0:
        raise ConfigError(f"distance_bits ({distance_bits}) must not be negative")
    if blocks <= distance_bits:
        raise ConfigError(f"blocks ({blocks}) must be greater than distance_bits ({distance_bits})")
    if blocks > WORD_BITS:
        raise ConfigError(f"blocks ({blocks}) must be at most {WORD_BITS}, one for each bit")


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
    """Position of the lowest bit of each block, given the widths from the leading end."""
    return [sum(widths) - end for end in accumulate(widths)]


def _shifted(words: Words, shift: int) -> Words:
    return words << np.uint64(shift) if shift >= 0 else words >> np.uint64(-shift)
