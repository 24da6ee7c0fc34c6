"""Laws of block permutations."""

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from neardup_stream.bits.permutations import (
    MAX_TABLES,
    Permutation,
    PermutedConfig,
    block_permutations,
    block_widths,
    permutations,
)
from neardup_stream.bits.words import WORD_BITS, Words, distances

LAYOUTS = [
    PermutedConfig(blocks, distance_bits)
    for blocks, distance_bits in [
        *((blocks, k) for blocks in range(1, 9) for k in range(min(blocks, 6))),
        (10, 5),
        (13, 2),
        (64, 1),
        (64, 63),
    ]
]

SUBSTRINGS = [
    PermutedConfig(blocks, distance_bits, substrings)
    for distance_bits in range(7)
    for substrings in range(2, distance_bits + 2)
    for blocks in range(distance_bits // substrings + 1, 6)
]

layouts = st.sampled_from([*LAYOUTS, *SUBSTRINGS])
words = st.integers(0, 2**WORD_BITS - 1)


@st.composite
def matching_pairs(
    draw: st.DrawFn, configs: st.SearchStrategy[PermutedConfig]
) -> tuple[PermutedConfig, Words, Words]:
    config = draw(configs)
    word = draw(words)
    flipped_bits = draw(st.sets(st.integers(0, WORD_BITS - 1), max_size=config.distance_bits))
    other = word ^ sum(1 << bit for bit in flipped_bits)
    return config, np.array([word], dtype=np.uint64), np.array([other], dtype=np.uint64)


@given(layouts, st.lists(words, max_size=5))
def test_a_permutation_undone_is_the_identity(config: PermutedConfig, values: list[int]) -> None:
    originals = np.array(values, dtype=np.uint64)

    for table in permutations(config):
        assert table.invert(table.apply(originals)).tolist() == values


@given(layouts, words, words)
def test_permutations_preserve_distance_and_count_of_bits(
    config: PermutedConfig, left: int, right: int
) -> None:
    pair = np.array([left, right, 0], dtype=np.uint64)

    for table in permutations(config):
        permuted = table.apply(pair)
        assert distances(permuted, permuted[:, None]).tolist() == distances(pair, pair[:, None]).tolist()


@given(matching_pairs(layouts))
def test_every_match_shares_a_prefix_in_some_table(case: tuple[PermutedConfig, Words, Words]) -> None:
    config, left, right = case

    assert any(shares_prefix(table, left, right) for table in permutations(config))


@given(matching_pairs(st.sampled_from(LAYOUTS)))
def test_every_match_is_found_first_in_exactly_one_table(case: tuple[PermutedConfig, Words, Words]) -> None:
    config, left, right = case
    finding = [table for table in permutations(config) if shares_prefix(table, left, right)]

    first = [table for table in finding if all(int((left ^ right)[0]) & mask for mask in table.passed_over)]

    assert first == finding[:1]


def test_every_match_in_a_byte_shares_a_prefix_in_some_table() -> None:
    """Exhaustive on a small word: all flips of up to k of 8 bits, for all layouts of them."""
    for blocks, distance_bits in combinations(range(8, 0, -1), 2):
        tables = block_permutations(block_widths(blocks, bits=8), distance_bits)
        flips = np.arange(256, dtype=np.uint64)
        flips = flips[np.bitwise_count(flips) <= distance_bits]

        covered = [table.apply(flips) < np.uint64(1 << (WORD_BITS - table.prefix_bits)) for table in tables]

        assert len(tables) <= MAX_TABLES
        assert np.any(covered, axis=0).all()


def shares_prefix(table: Permutation, left: Words, right: Words) -> bool:
    differing = int((table.apply(left) ^ table.apply(right))[0])
    return differing.bit_length() <= WORD_BITS - table.prefix_bits
