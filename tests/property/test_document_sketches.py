"""Laws of shingles and sketches, and their errors on generated pairs of known resemblance."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup_stream.bits.words import Words
from neardup_stream.fingerprints.min_sketch import MinSketch
from neardup_stream.fingerprints.mod_sketch import ModSketch
from neardup_stream.fingerprints.resemblance import exact_overlap, standard_error
from neardup_stream.fingerprints.shingles import ShingleConfig, shingle_ids
from neardup_stream.hashing.polynomials import random_irreducible
from neardup_stream.hashing.rabin import rabin_shift
from neardup_stream.hashing.stable import MASK64, token_hash
from neardup_stream.hashing.windows import window_hashes
from tests.reference import rabin_fingerprint

words = st.integers(0, MASK64)
sequences = st.lists(words, max_size=80) | st.lists(st.integers(1, 4), max_size=80)
widths = st.integers(1, 32)
polynomials = st.integers(0, 9).map(lambda seed: random_irreducible(64, seed))
configs = st.builds(ShingleConfig, st.integers(1, 6), st.sampled_from(["cyclic", "rabin"]), st.booleans())
sets = st.lists(st.integers(0, 60) | words, max_size=60).map(lambda ids: as_words(sorted(set(ids))))


def as_words(values: list[int]) -> Words:
    return np.array(values, np.uint64)


# --- Rabin fingerprints -----------------------------------------------------------------------------------


@given(sequences, widths, polynomials)
def test_fingerprints_of_all_windows_equal_those_from_scratch(
    tokens: list[int], width: int, polynomial: int
) -> None:
    computed = window_hashes(
        as_words(tokens), width, lambda hashes, count: rabin_shift(hashes, count, polynomial)
    )

    full_windows = [tokens[start : start + width] for start in range(len(tokens) - width + 1)]
    expected = full_windows or [tokens][: len(tokens)]
    assert computed.tolist() == [rabin_fingerprint(window, polynomial) for window in expected]


@given(st.lists(st.tuples(words, words), max_size=20), polynomials)
def test_fingerprints_are_linear(pairs: list[tuple[int, int]], polynomial: int) -> None:
    first, second = [left for left, _ in pairs], [right for _, right in pairs]
    total = [left ^ right for left, right in pairs]

    assert rabin_fingerprint(total, polynomial) == (
        rabin_fingerprint(first, polynomial) ^ rabin_fingerprint(second, polynomial)
    )


@given(st.lists(words, min_size=1, max_size=20), words, polynomials)
def test_a_window_slides_by_dropping_one_token_and_taking_another(
    tokens: list[int], following: int, polynomial: int
) -> None:
    def shifted(fingerprint: int, count: int) -> int:
        return int(rabin_shift(as_words([fingerprint]), count, polynomial)[0])

    without_first = rabin_fingerprint(tokens, polynomial) ^ rabin_fingerprint(
        [tokens[0]] + [0] * (len(tokens) - 1), polynomial
    )

    slid = shifted(without_first, 1) ^ following

    assert slid == rabin_fingerprint([*tokens[1:], following], polynomial)


def test_among_some_hundred_thousand_windows_no_two_clash() -> None:
    tokens = np.random.default_rng(1).integers(0, 1000, 300_000, np.uint64)
    triples = tokens[:-2] * np.uint64(1_000_000) + tokens[1:-1] * np.uint64(1000) + tokens[2:]

    fingerprints = window_hashes(tokens, 3, rabin_shift)

    assert np.unique(fingerprints).size == np.unique(triples).size


# --- shingles and sketches --------------------------------------------------------------------------------


@given(st.lists(st.integers(1, 4) | words, max_size=80), configs)
def test_shingle_ids_ascend_and_are_as_many_as_there_are_shingles(
    numbers: list[int], config: ShingleConfig
) -> None:
    tokens = [token_hash(str(number)) for number in numbers]

    ids = shingle_ids(as_words(tokens), config).tolist()

    width = config.shingle_tokens
    shingles = [tuple(tokens[start : start + width]) for start in range(max(1, len(tokens) - width + 1))]
    distinct = shingles if config.is_bag else set(shingles)
    assert ids == sorted(set(ids))
    assert len(ids) == (len(distinct) if tokens else 0)


@given(sets, sets)
def test_exact_overlap_is_that_of_sets(first: Words, second: Words) -> None:
    as_sets = set(first.tolist()), set(second.tolist())

    overlap = exact_overlap(first, second)

    assert overlap == (len(as_sets[0]), len(as_sets[1]), len(as_sets[0] & as_sets[1]))


@given(sets, sets, sets)
def test_one_minus_resemblance_is_a_metric(first: Words, second: Words, third: Words) -> None:
    def apart(left: Words, right: Words) -> float:
        return 1 - exact_overlap(left, right).resemblance if left.size or right.size else 0.0

    assert apart(first, second) == apart(second, first)
    assert apart(first, third) <= apart(first, second) + apart(second, third) + 1e-12
    assert (apart(first, second) == 0) == (first.tolist() == second.tolist())


@given(sets, sets, st.integers(1, 70), words)
def test_min_sketches_agree_with_a_sketch_of_the_union(
    first: Words, second: Words, size: int, key: int
) -> None:
    estimate = MinSketch.of(first, size, key).resemblance(MinSketch.of(second, size, key))

    either = MinSketch.of(np.union1d(first, second), size, key).ranks.tolist()
    both = MinSketch.of(np.intersect1d(first, second), 200, key).ranks.tolist()
    assert not either or estimate == len(set(either) & set(both)) / len(either)


@given(sets, sets, st.integers(1, 70), st.integers(1, 70), words)
def test_mod_sketches_agree_with_the_sketch_of_what_is_common(
    first: Words, second: Words, size: int, other_size: int, key: int
) -> None:
    left, right = ModSketch.bounded(first, size, key), ModSketch.bounded(second, other_size, key)

    overlap = left.overlap(right)

    common = ModSketch.of(np.intersect1d(first, second), max(left.modulus, right.modulus), key)
    assert overlap.common_count == common.ranks.size
    assert right.overlap(left) == (overlap.second_count, overlap.first_count, overlap.common_count)


# --- errors of the estimates ------------------------------------------------------------------------------

UNION_COUNT = 1200
PAIRS_PER_RATIO = 1000
RESEMBLANCES = [tenths / 10 for tenths in range(1, 11)]
SKETCH_SIZE = 128
MODULUS = 4


class Pair(NamedTuple):
    """Two sets and the key of the order in which they are sampled."""

    first: Words
    second: Words
    key: int


PairSource = Callable[[float], Iterator[Pair]]


def many_orders(resemblance: float) -> Iterator[Pair]:
    """Yield one pair of sets without any randomness in it, under one key after the other."""
    ids = np.arange(UNION_COUNT, dtype=np.uint64)
    for key in range(PAIRS_PER_RATIO):
        yield Pair(*cut(ids, resemblance), key)


def many_sets(resemblance: float) -> Iterator[Pair]:
    """Random sets under one and the same key."""
    random = np.random.default_rng(int(resemblance * 10))
    for _ in range(PAIRS_PER_RATIO):
        yield Pair(*cut(random.integers(0, 1 << 64, UNION_COUNT, np.uint64), resemblance), 0)


def cut(ids: Words, resemblance: float) -> tuple[Words, Words]:
    """Two sets whose union are the ids; a third of what is not common is in the first."""
    common_count = round(resemblance * ids.size)
    first_count = common_count + (ids.size - common_count) // 3
    return ids[:first_count], np.concatenate([ids[:common_count], ids[first_count:]])


def assert_unbiased_within(estimates: list[float], ratio: float, predicted: float) -> None:
    """The bounds are 3 to 5 standard errors of the mean of 1,000 estimates, and 6 or more of their spread."""
    assert abs(np.mean(estimates) - ratio) < 0.005
    assert np.std(estimates) <= 1.2 * predicted
    assert np.std(estimates) >= predicted / 1.2


pair_sources = pytest.mark.parametrize("pairs", [many_orders, many_sets])
resemblances = pytest.mark.parametrize("resemblance", RESEMBLANCES)


@pair_sources
@resemblances
def test_min_sketches_estimate_resemblance_within_the_stated_error(
    pairs: PairSource, resemblance: float
) -> None:
    estimates = [
        MinSketch.of(first, SKETCH_SIZE, key).resemblance(MinSketch.of(second, SKETCH_SIZE, key))
        for first, second, key in pairs(resemblance)
    ]

    assert_unbiased_within(estimates, resemblance, standard_error(resemblance, SKETCH_SIZE, UNION_COUNT))


@pair_sources
@resemblances
def test_mod_sketches_estimate_all_three_ratios_within_the_stated_errors(
    pairs: PairSource, resemblance: float
) -> None:
    pair = next(pairs(resemblance))
    exact = exact_overlap(np.sort(pair.first), np.sort(pair.second))

    overlaps = [
        ModSketch.of(first, MODULUS, key).overlap(ModSketch.of(second, MODULUS, key))
        for first, second, key in pairs(resemblance)
    ]

    for ratio, estimates, population_count in (
        (exact.resemblance, [overlap.resemblance for overlap in overlaps], UNION_COUNT),
        (exact.first_in_second, [overlap.first_in_second for overlap in overlaps], exact.first_count),
        (exact.second_in_first, [overlap.second_in_first for overlap in overlaps], exact.second_count),
    ):
        predicted = standard_error(ratio, population_count / MODULUS, population_count)
        assert_unbiased_within(estimates, ratio, predicted)


@pytest.mark.parametrize("containment", RESEMBLANCES)
def test_bounded_sketches_estimate_the_containment_of_a_short_set_in_a_long_one(containment: float) -> None:
    short_count, long_count, size = 1000, 3000, 400
    common_count = round(containment * short_count)
    ids = np.arange(short_count + long_count, dtype=np.uint64)
    short, long = ids[:short_count], ids[short_count - common_count :][:long_count]

    estimates = [
        ModSketch.bounded(short, size, key).overlap(ModSketch.bounded(long, size, key)).first_in_second
        for key in range(PAIRS_PER_RATIO)
    ]

    assert_unbiased_within(estimates, containment, standard_error(containment, short_count / 8, short_count))
