"""The planner of signature files: its equations, the worked example, and what lengths do to it."""

import math
from typing import Any

import numpy as np
import pytest

from neardup_stream.errors import ConfigError
from neardup_stream.fingerprints.signatures import (
    SignaturePlan,
    class_least_terms,
    class_of,
    class_widths,
    densities,
    drop_share,
    effect_of_lengths,
    least_width,
    lognormal_lengths,
    private_share,
)

EXAMPLE = SignaturePlan(document_count=741_856, terms=182, slices=8, false_drops=1)


def test_the_worked_example_is_reproduced_to_the_digit() -> None:
    assert round(EXAMPLE.density, 3) == 0.185
    assert EXAMPLE.marks == 1456
    assert EXAMPLE.approximate_width == 7134
    assert EXAMPLE.bytes_of(7134) == 661_550_088
    assert round(EXAMPLE.bytes_of(7134) / (1 << 20)) == 631


def test_the_exact_values_stand_beside_it() -> None:
    assert round(EXAMPLE.density, 5) == 0.18459
    assert round(EXAMPLE.exact_width, 2) == 7135.47
    assert EXAMPLE.least_width == 7136
    assert round(EXAMPLE.false_drops_of(7134), 4) == 1.0015
    assert EXAMPLE.false_drops_of(7136) <= 1 < EXAMPLE.false_drops_of(7135)


def test_the_exact_width_fulfils_both_equations() -> None:
    width, density = EXAMPLE.exact_width, EXAMPLE.density

    assert 1 - ((width - 1) / width) ** EXAMPLE.marks == pytest.approx(density)
    assert density**8 * EXAMPLE.document_count == pytest.approx(1)


def test_signatures_set_as_many_bits_as_planned() -> None:
    rng = np.random.default_rng(5)
    width, terms, slices = 2000, 50, 8

    shares = [len(np.unique(rng.integers(0, width, terms * slices))) / width for _ in range(300)]

    assert np.mean(shares) == pytest.approx(densities(np.array([50.0]), width, slices)[0], rel=0.005)


def test_one_width_drops_many_times_more_where_lengths_differ_and_classes_do_not() -> None:
    effect = effect_of_lengths(EXAMPLE, lognormal_lengths(182, 0.5))

    assert 50 < effect.one_width_drops < 70
    assert effect.one_width > 1.9 * EXAMPLE.least_width
    assert effect.mean_width < 1.04 * EXAMPLE.least_width
    assert sum(each.share for each in effect.classes) == pytest.approx(1)


def test_pages_of_one_length_need_no_more_than_planned() -> None:
    effect = effect_of_lengths(EXAMPLE, lognormal_lengths(182, 0))

    assert effect.one_width == effect.mean_width == 7136
    assert effect.one_width_drops <= 1


def test_every_class_drops_what_is_allowed_and_not_with_a_bit_less() -> None:
    lengths = np.random.default_rng(3).integers(1, 3000, 5000)
    share = 1e-5

    for each in class_widths(lengths, 8, share):
        terms = lengths[class_of(lengths) == each.number].astype(np.float64)
        assert terms.min() >= each.least_terms
        assert np.mean(densities(terms, each.width, 8) ** 8) <= share
        assert np.mean(densities(terms, each.width - 1, 8) ** 8) > share


def test_classes_are_half_an_octave_of_terms() -> None:
    terms = np.arange(1, 5000)
    numbers = class_of(terms)

    for number in np.unique(numbers).tolist():
        members = terms[numbers == number]
        assert members[0] == class_least_terms(number)
        assert members[-1] < members[0] * math.sqrt(2) + 1
    assert class_of(np.array([0])).tolist() == [0]


def test_small_collections_get_signatures_at_most_half_full() -> None:
    share = drop_share(3, slices=8, false_drops=1)

    assert densities(np.array([100.0]), least_width(np.array([100.0]), 8, share), 8)[0] <= 0.5


def test_terms_on_a_fortieth_of_many_pages_are_cheaper_with_slices_of_their_own() -> None:
    assert private_share(741_856, 8, drop_share(741_856, 8, 1), 64) == pytest.approx(0.0255, abs=1e-4)
    assert private_share(30, 8, drop_share(30, 8, 1), 64) > 0.25


@pytest.mark.parametrize(
    ("numbers", "complaint"),
    [
        ((0, 182, 8, 1), "above 0"),
        ((10, 0, 8, 1), "above 0"),
        ((10, math.nan, 8, 1), "above 0"),
        ((10, math.inf, 8, 1), "at most"),
        ((10, 182, 0, 1), "slices is 0"),
        ((10, 182, 65, 1), "slices is 65"),
        ((10, 182, 8, 0), "0 false drops are allowed"),
        ((10, 182, 8, 10), "10 false drops are allowed"),
    ],
)
def test_numbers_out_of_range_are_refused(numbers: tuple[int, float, int, float], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        SignaturePlan(*numbers)


@pytest.mark.parametrize(
    ("numbers", "complaint"),
    [
        ((10.5, 182, 8, 1), r"document_count is 10\.5"),
        ((10, 182, 8.5, 1), r"slices is 8\.5"),
    ],
)
def test_counts_that_are_no_whole_numbers_are_refused(
    numbers: tuple[Any, float, Any, float], complaint: str
) -> None:
    with pytest.raises(TypeError, match=f"{complaint}, must be a whole number"):
        SignaturePlan(*numbers)
