import numpy as np
import pytest

from neardup_stream.bits.permutations import (
    MAX_TABLES,
    PermutedConfig,
    block_permutations,
    block_widths,
    permutations,
)
from neardup_stream.errors import ConfigError


@pytest.mark.parametrize("blocks", range(1, 65))
def test_blocks_fill_the_word_and_differ_by_at_most_one_bit(blocks: int) -> None:
    widths = block_widths(blocks)

    assert len(widths) == blocks
    assert sum(widths) == 64
    assert max(widths) - min(widths) <= 1


def test_a_table_leads_with_its_chosen_blocks() -> None:
    word = np.array([0x0000_1111_2222_3333], dtype=np.uint64)

    tables = permutations(PermutedConfig(blocks=4, distance_bits=2))

    assert {table.order: f"{int(table.apply(word)[0]):016x}" for table in tables} == {
        (0, 1, 2, 3): "0000111122223333",
        (0, 2, 1, 3): "0000222211113333",
        (0, 3, 1, 2): "0000333311112222",
        (1, 2, 0, 3): "1111222200003333",
        (1, 3, 0, 2): "1111333300002222",
        (2, 3, 0, 1): "2222333300001111",
    }


def test_the_prefix_is_as_wide_as_the_leading_blocks() -> None:
    tables = permutations(PermutedConfig(blocks=6, distance_bits=3))

    assert len(tables) == 20
    assert tables[0].prefix_bits == 11 + 11 + 11
    assert tables[-1].prefix_bits == 11 + 10 + 10


def test_the_tables_of_a_substring_lead_with_its_blocks() -> None:
    tables = permutations(PermutedConfig(blocks=3, distance_bits=3, substrings=2))

    assert [table.order for table in tables] == [
        (0, 1, 2, 3, 4, 5),
        (0, 2, 1, 3, 4, 5),
        (1, 2, 0, 3, 4, 5),
        (3, 4, 0, 1, 2, 5),
        (3, 5, 0, 1, 2, 4),
        (4, 5, 0, 1, 2, 3),
    ]
    assert [table.prefix_bits for table in tables] == [22, 21, 21, 22, 21, 21]


def test_the_blocks_a_table_passed_over_are_those_before_its_last_leading_one() -> None:
    tables = permutations(PermutedConfig(blocks=4, distance_bits=2))

    passed_over = {table.order[:2]: [f"{mask:016x}" for mask in table.passed_over] for table in tables}

    assert passed_over[0, 1] == []
    assert passed_over[1, 3] == ["ffff000000000000", "00000000ffff0000"]


def test_bits_above_the_permuted_ones_stay_in_front() -> None:
    word = np.array([0xABCD_EF01_2345_6789], dtype=np.uint64)

    last = block_permutations((8, 8), distance_bits=1)[-1]

    assert f"{int(last.apply(word)[0]):016x}" == "abcdef0123458967"
    assert last.prefix_bits == 48 + 8


@pytest.mark.parametrize(
    ("blocks", "distance_bits"),
    [
        pytest.param(1, 0, id="one-block-for-equality"),
        pytest.param(4, 3, id="the-default"),
        pytest.param(64, 1, id="most-blocks"),
        pytest.param(64, 63, id="largest-distance"),
        pytest.param(10, 5, id="largest-table-count-in-use"),
        pytest.param(MAX_TABLES // 4, 1, id="a-block-for-each-bit"),
    ],
)
def test_a_config_within_the_limits_is_accepted(blocks: int, distance_bits: int) -> None:
    config = PermutedConfig(blocks, distance_bits)

    assert len(permutations(config)) == config.table_count <= MAX_TABLES


@pytest.mark.parametrize(
    ("blocks", "distance_bits", "message"),
    [
        pytest.param(2, 3, r"blocks \(2\) must be greater than distance_bits \(3\)", id="fewer-blocks"),
        pytest.param(3, 3, r"blocks \(3\) must be greater than distance_bits \(3\)", id="as-many-blocks"),
        pytest.param(0, 0, r"blocks \(0\) must be greater than distance_bits \(0\)", id="no-blocks"),
        pytest.param(65, 1, r"blocks \(65\) must be at most 64", id="more-blocks-than-bits"),
        pytest.param(4, -1, r"distance_bits \(-1\) must not be negative", id="negative-distance"),
        pytest.param(11, 4, r"take 330 tables, the most is 256", id="too-many-tables"),
    ],
)
def test_a_config_beyond_a_limit_names_the_numbers(blocks: int, distance_bits: int, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        PermutedConfig(blocks, distance_bits)


@pytest.mark.parametrize(
    ("blocks", "substrings", "message"),
    [
        pytest.param(3, 0, r"substrings \(0\) must be in \[1, 4\]", id="no-substring"),
        pytest.param(3, 5, r"substrings \(5\) must be in \[1, 4\]", id="more-than-a-match-needs"),
        pytest.param(1, 2, r"blocks \(1\) must be in \[2, 32\] with distance_bits \(3\)", id="few-blocks"),
        pytest.param(33, 2, r"blocks \(33\) must be in \[2, 32\]", id="more-blocks-than-bits"),
    ],
)
def test_substrings_beyond_a_limit_name_the_numbers(blocks: int, substrings: int, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        PermutedConfig(blocks, 3, substrings)


@pytest.mark.parametrize("table_count_offset", [-1, 0, 1], ids=["limit-1", "limit", "limit+1"])
def test_the_table_limit_is_exact(table_count_offset: int, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = PermutedConfig(blocks=6, distance_bits=3).table_count
    monkeypatch.setattr("neardup_stream.bits.permutations.MAX_TABLES", taken - table_count_offset)

    if table_count_offset <= 0:
        PermutedConfig(blocks=6, distance_bits=3)
    else:
        with pytest.raises(ConfigError, match="take 20 tables, the most is 19"):
            PermutedConfig(blocks=6, distance_bits=3)
