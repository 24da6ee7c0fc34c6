"""Pairs and clusters against brute force, on every shape of input that the search treats in its own way."""

from collections.abc import Callable

import numpy as np
import pytest

from neardup_stream.bits.words import Words, distances
from neardup_stream.indexes.components import clusters
from neardup_stream.indexes.pairs import Pairs, matching_pairs, sorted_pairs

MakeWords = Callable[[np.random.Generator], Words]


def random_words(rng: np.random.Generator) -> Words:
    return rng.integers(0, 2**64, 1_500, dtype=np.uint64)


def planted_words(rng: np.random.Generator) -> Words:
    originals = random_words(rng)
    copies = originals[:500].copy()
    for _ in range(4):
        copies ^= np.uint64(1) << rng.integers(0, 64, copies.size).astype(np.uint64)
    return np.concatenate([originals, copies])


def hot_bucket(rng: np.random.Generator) -> Words:
    return np.uint64(0xABCDEF1234 << 24) | rng.integers(0, 2**24, 2_000, dtype=np.uint64)


def hot_bucket_at_the_low_end(rng: np.random.Generator) -> Words:
    return (rng.integers(0, 2**16, 2_000, dtype=np.uint64) << np.uint64(48)) | np.uint64(0xABCDEF123456)


def two_hot_buckets_among_others(rng: np.random.Generator) -> Words:
    return np.concatenate(
        [hot_bucket(rng)[:700], hot_bucket_at_the_low_end(rng)[:700], planted_words(rng)[::4]]
    )


def every_word_of_ten_bits(_rng: np.random.Generator) -> Words:
    return np.arange(2**10, dtype=np.uint64) << np.uint64(27)


def few_bits_set(rng: np.random.Generator) -> Words:
    return random_words(rng) & random_words(rng) & random_words(rng) & random_words(rng) & random_words(rng)


SHAPES = [
    random_words,
    planted_words,
    hot_bucket,
    hot_bucket_at_the_low_end,
    two_hot_buckets_among_others,
    every_word_of_ten_bits,
    few_bits_set,
]


@pytest.mark.parametrize("distance_bits", [0, 1, 2, 3, 4, 6, 9, 20, 63])
@pytest.mark.parametrize("make_words", SHAPES, ids=lambda make: make.__name__)
def test_every_pair_within_distance_is_found_once(make_words: MakeWords, distance_bits: int) -> None:
    words = np.unique(make_words(np.random.default_rng(distance_bits)))

    found = sorted_pairs(words, distance_bits)

    assert np.array_equal(found, brute_force_pairs(words, distance_bits))


@pytest.mark.parametrize("distance_bits", [0, 1, 3, 6])
@pytest.mark.parametrize("make_words", SHAPES, ids=lambda make: make.__name__)
def test_clusters_are_what_brute_force_pairs_connect(make_words: MakeWords, distance_bits: int) -> None:
    words = np.unique(make_words(np.random.default_rng(distance_bits)))

    assert clusters(words, distance_bits) == united(*brute_force_pairs(words, distance_bits))


@pytest.mark.parametrize("size", [0, 1, 2, 15, 16, 17, 18], ids=lambda size: f"{size}-words")
def test_runs_around_the_length_that_is_compared_at_once_are_searched_alike(size: int) -> None:
    words = np.arange(size, dtype=np.uint64)

    found = sorted_pairs(words, 2)

    assert np.array_equal(found, brute_force_pairs(words, 2))


def test_the_extremes_of_64_bits_are_words_like_others() -> None:
    words = np.array([0, 1, 2**63, 2**64 - 2, 2**64 - 1], dtype=np.uint64)

    left, right = sorted_pairs(words, 1)

    assert list(zip(left.tolist(), right.tolist(), strict=True)) == [
        (0, 1),
        (0, 2**63),
        (2**64 - 2, 2**64 - 1),
    ]


def test_the_order_of_the_words_does_not_matter() -> None:
    words = np.unique(planted_words(np.random.default_rng(1)))
    shuffled = np.random.default_rng(2).permutation(words)

    assert np.array_equal(sorted_pairs(shuffled, 4), sorted_pairs(words, 4))


def test_a_hot_bucket_is_not_compared_all_against_all(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []
    count = np.bitwise_count

    def counting(differences: Words) -> object:
        compared.append(differences.size)
        return count(differences)

    monkeypatch.setattr(np, "bitwise_count", counting)
    words = np.unique(hot_bucket(np.random.default_rng(1)))

    found = sum(left.size for left, _ in matching_pairs(words, 1))

    assert found > 0
    assert sum(compared) < words.size * 10


def test_a_chain_is_one_cluster_though_its_ends_are_far_apart() -> None:
    chain = [(1 << bit) - 1 for bit in range(65)]
    words = np.array([*chain, 0b1010 << 32], dtype=np.uint64)

    assert clusters(np.sort(words), 1) == [chain]


def test_pairs_beyond_one_batch_still_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("neardup_stream.indexes.components._BATCH_PAIRS", 3)
    words = np.arange(2**8, dtype=np.uint64)

    assert clusters(words, 1) == [words.tolist()]


def brute_force_pairs(words: Words, distance_bits: int) -> Pairs:
    left, right = np.nonzero(np.triu(distances(words[:, None], words) <= distance_bits, k=1))
    return words[left], words[right]


def united(left: Words, right: Words) -> list[list[int]]:
    neighbors: dict[int, set[int]] = {}
    for one, other in zip(left.tolist(), right.tolist(), strict=True):
        neighbors.setdefault(one, set()).add(other)
        neighbors.setdefault(other, set()).add(one)
    components = []
    while neighbors:
        reached, frontier = set[int](), {min(neighbors)}
        while frontier:
            reached |= frontier
            frontier = set[int]().union(*(neighbors.pop(word) for word in frontier)) - reached
        components.append(sorted(reached))
    return components
