import numpy as np
import pytest

from neardup_stream.bits.words import Words
from neardup_stream.indexes.split_cost import cheapest_widths


def run_of(words: Words) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    return np.array([words.size])


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def test_random_bits_are_cut_into_blocks_of_about_one_width(rng: np.random.Generator) -> None:
    words = np.sort(rng.integers(0, 2**64, 100_000, dtype=np.uint64))

    widths = cheapest_widths(words, run_of(words), free_bits=64, distance_bits=3)

    assert widths is not None
    assert sum(widths) == 64
    assert max(widths) - min(widths) <= 4


def test_bits_that_a_run_shares_add_nothing_to_a_block(rng: np.random.Generator) -> None:
    words = np.sort(rng.integers(0, 2**24, 100_000, dtype=np.uint64))

    widths = cheapest_widths(words, run_of(words), free_bits=64, distance_bits=1)

    assert widths is not None
    assert sum(widths) == 64
    assert widths[0] > 40
    assert max(widths[1:]) <= 24 // len(widths) + 1


@pytest.mark.parametrize(
    ("words", "free_bits", "distance_bits"),
    [
        pytest.param(np.arange(40), 64, 3, id="a-run-too-short-for-its-tables"),
        pytest.param(np.arange(4096), 12, 12, id="no-block-left-to-agree-on"),
        pytest.param(np.arange(4096), 64, 20, id="tables-beyond-counting"),
        pytest.param(1 << np.arange(62), 64, 3, id="words-with-one-bit-agree-on-most-blocks"),
    ],
)
def test_a_split_that_would_not_pay_is_refused(words: Words, free_bits: int, distance_bits: int) -> None:
    words = words.astype(np.uint64)

    assert cheapest_widths(words, run_of(words), free_bits, distance_bits) is None
