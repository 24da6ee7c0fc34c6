import math

import numpy as np
import pytest

from neardup_stream.bits.words import Words
from neardup_stream.errors import ConfigError
from neardup_stream.fingerprints.resemblance import Overlap, exact_overlap, standard_error, union


def words(*values: int) -> Words:
    return np.array(values, np.uint64)


def test_ratios_follow_their_definitions() -> None:
    overlap = exact_overlap(words(1, 2, 3), words(2, 3, 4, 5, 6))

    assert overlap == Overlap(first_count=3, second_count=5, common_count=2)
    assert overlap.resemblance == 2 / 6
    assert overlap.first_in_second == 2 / 3
    assert overlap.second_in_first == 2 / 5


def test_a_part_is_wholly_contained_in_the_whole() -> None:
    overlap = exact_overlap(words(2, 3), words(1, 2, 3, 4))

    assert (overlap.first_in_second, overlap.second_in_first, overlap.resemblance) == (1.0, 0.5, 0.5)


def test_nothing_compared_to_nothing_is_unknown() -> None:
    overlap = exact_overlap(words(), words())

    assert all(map(math.isnan, (overlap.resemblance, overlap.first_in_second, overlap.second_in_first)))


def test_how_much_of_nothing_is_in_something_is_unknown_and_of_something_in_nothing_none() -> None:
    overlap = exact_overlap(words(), words(1))

    assert math.isnan(overlap.first_in_second)
    assert (overlap.second_in_first, overlap.resemblance) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("first", "second", "expected", "common"),
    [
        (words(), words(), [], []),
        (words(5), words(), [5], []),
        (words(5), words(5), [5], [5]),
        (words(0, 7), words(0, 1 << 63), [0, 7, 1 << 63], [0]),
    ],
    ids=["both-empty", "one-empty", "equal", "extremes"],
)
def test_union_is_ascending_and_marks_what_is_common(
    first: Words, second: Words, expected: list[int], common: list[int]
) -> None:
    both = union(first, second)

    assert both.words.tolist() == expected
    assert both.words[both.is_common].tolist() == common


@pytest.mark.parametrize(
    ("drawn_count", "population_count", "expected"),
    [
        (100, math.inf, 0.05),
        (400, math.inf, 0.025),
        (100, 397, 0.05 * math.sqrt(0.75)),
        (99, 100, 0.5 / 99),
        (100, 100, 0.0),
        (100, 99, 0.0),
        (1, 1, 0.0),
        (0.5, 1, 0.5),
    ],
    ids=[
        "large-set",
        "four-times-as-many",
        "finite-set",
        "all-but-one",
        "all",
        "more-than-all",
        "one-of-one",
        "one-by-halves",
    ],
)
def test_standard_error_of_one_half(drawn_count: float, population_count: float, expected: float) -> None:
    assert standard_error(0.5, drawn_count, population_count) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("expected", "drawn_count", "message"),
    [
        (2, 128, "expected is 2, must be 0 to 1"),
        (-0.1, 128, r"expected is -0\.1, must be 0 to 1"),
        (0.5, 0, "drawn_count is 0, must be above 0"),
        (0.5, -1, "drawn_count is -1, must be above 0"),
    ],
)
def test_no_ratio_and_no_sample_have_no_standard_error(
    expected: float, drawn_count: float, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        standard_error(expected, drawn_count)


def test_the_standard_error_of_an_unknown_ratio_is_unknown() -> None:
    assert math.isnan(standard_error(math.nan, 10))


@pytest.mark.parametrize("certain", [0.0, 1.0])
def test_nothing_and_all_are_estimated_without_error(certain: float) -> None:
    assert standard_error(certain, 10) == 0.0
