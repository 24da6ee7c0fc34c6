import math
from typing import Any

import numpy as np
import pytest

from neardup_stream.errors import ConfigError
from neardup_stream.fingerprints.min_sketch import MinSketch
from neardup_stream.fingerprints.mod_sketch import ModSketch
from neardup_stream.fingerprints.resemblance import exact_overlap
from neardup_stream.hashing.ranks import ranks

IDS = np.arange(10_000, dtype=np.uint64)


@pytest.mark.parametrize("modulus", [1, 2, 25])
def test_a_sketch_is_the_divisible_ranks_in_order(modulus: int) -> None:
    sketch = ModSketch.of(IDS, modulus)

    assert sketch.ranks.tolist() == sorted(rank for rank in ranks(IDS, 0).tolist() if rank % modulus == 0)


def test_modulo_1_the_estimates_are_exact() -> None:
    first, second = IDS[:70], IDS[30:100]

    assert ModSketch.of(first, 1).overlap(ModSketch.of(second, 1)) == exact_overlap(first, second)


@pytest.mark.parametrize(
    ("id_count", "modulus"),
    [(0, 1), (1, 1), (100, 1), (101, 2), (200, 2), (201, 4), (400, 4), (401, 8), (10_000, 128)],
)
def test_the_modulus_is_the_least_power_of_two_that_keeps_the_size(id_count: int, modulus: int) -> None:
    assert ModSketch.bounded(IDS[:id_count], 100).modulus == modulus


@pytest.mark.parametrize("expected_size", [1, 16, 128])
def test_the_size_is_seldom_far_above_what_is_expected(expected_size: int) -> None:
    ids = IDS[: 8 * expected_size]  # just what the modulus 8 is taken for: nowhere are more expected

    sizes = np.array([ModSketch.bounded(ids, expected_size, key).ranks.size for key in range(5000)])

    assert abs(sizes.mean() - expected_size) < 0.02 * expected_size + 0.05
    assert np.mean(sizes > expected_size + 4 * math.sqrt(expected_size)) < 1e-3


def test_of_two_moduli_the_coarser_wins() -> None:
    part, whole = IDS[:500], IDS

    by_length = ModSketch.bounded(part, 300).overlap(ModSketch.bounded(whole, 300))

    assert by_length == ModSketch.of(part, 64).overlap(ModSketch.of(whole, 64))


@pytest.mark.parametrize("key", range(5))
def test_a_set_within_a_larger_one_has_containment_1(key: int) -> None:
    part, whole = ModSketch.bounded(IDS[2000:3000], 100, key), ModSketch.bounded(IDS, 100, key)

    assert part.overlap(whole).first_in_second == 1.0
    assert whole.overlap(part).second_in_first == 1.0


def test_of_a_set_of_which_nothing_was_drawn_nothing_is_said() -> None:
    unlucky = IDS[ranks(IDS, 0) % np.uint64(64) != 0]

    overlap = ModSketch.of(unlucky, 64).overlap(ModSketch.of(IDS, 64))

    assert math.isnan(overlap.first_in_second)
    assert overlap.second_in_first == 0.0


@pytest.mark.parametrize(
    ("modulus", "key"), [(4, 1), (9, 0)], ids=["another-order", "neither-divides-the-other"]
)
def test_samples_that_were_not_drawn_alike_are_refused(modulus: int, key: int) -> None:
    with pytest.raises(ConfigError, match=f"modulo {modulus} with key {key} cannot be compared"):
        ModSketch.of(IDS, 6).overlap(ModSketch.of(IDS, modulus, key))


@pytest.mark.parametrize("modulus", [0, 1 << 64])
def test_a_modulus_that_is_no_word_above_zero_is_refused(modulus: int) -> None:
    with pytest.raises(ConfigError, match=f"modulus of a sketch is {modulus}"):
        ModSketch.of(IDS, modulus)


def test_a_modulus_that_is_not_whole_is_refused() -> None:
    with pytest.raises(TypeError, match=r"modulus of a sketch is 2\.5, must be a whole number"):
        ModSketch.of(IDS, 2.5)  # type: ignore[arg-type]


def test_a_size_may_be_a_number_of_numpy() -> None:
    bounded = ModSketch.bounded(IDS, np.int64(10))  # type: ignore[arg-type]

    assert bounded.ranks.tolist() == ModSketch.bounded(IDS, 10).ranks.tolist()


@pytest.mark.parametrize("sketch", [ModSketch.of, ModSketch.bounded, MinSketch.of])
@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (IDS[:4].reshape(2, 2), "expected uint64 in one dimension, got uint64 in 2"),
        (IDS.astype(np.int64), "expected uint64 in one dimension, got int64 in 1"),
        ([1, 2], "expected an array of uint64, got list"),
    ],
)
def test_ids_that_are_no_array_of_words_are_refused(sketch: Any, ids: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        sketch(ids, 2)


def test_an_expected_size_of_zero_is_refused() -> None:
    with pytest.raises(ConfigError, match="expected_size of a sketch is 0"):
        ModSketch.bounded(IDS, 0)


@pytest.mark.parametrize("sketch", [ModSketch.of, ModSketch.bounded, MinSketch.of])
@pytest.mark.parametrize(
    ("key", "error", "message"),
    [
        ("x", TypeError, "key of a sketch is 'x', must be a whole number"),
        (-1, ConfigError, "key of a sketch is -1, must be 0 to"),
        (1 << 64, ConfigError, f"key of a sketch is {1 << 64}, must be 0 to"),
    ],
)
def test_a_key_that_is_no_word_is_refused(
    sketch: Any, key: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        sketch(IDS, 2, key)


def test_sketches_of_two_kinds_are_not_compared() -> None:
    minimal: Any = MinSketch.of(IDS, 4)
    modular: Any = ModSketch.of(IDS, 1)

    with pytest.raises(TypeError, match="expected a MinSketch, got ModSketch"):
        minimal.resemblance(modular)
    with pytest.raises(TypeError, match="expected a ModSketch, got MinSketch"):
        modular.overlap(minimal)
