"""Laws of searching a set of words for close pairs."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from neardup_stream.bits.words import Words, distances
from neardup_stream.indexes.components import clusters
from neardup_stream.indexes.pairs import sorted_pairs

distances_bits = st.integers(0, 63)


@st.composite
def word_sets(draw: st.DrawFn) -> Words:
    """Up to some hundred words around a few centers, close together in some bits and spread in others."""
    centers = draw(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=3))
    mask = np.uint64(draw(st.integers(0, 2**64 - 1)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    noise = rng.integers(0, 2**64, (len(centers), draw(st.integers(1, 150))), dtype=np.uint64) & mask
    return np.unique(np.array(centers, dtype=np.uint64)[:, None] ^ noise)


@given(word_sets(), distances_bits)
def test_pairs_are_those_of_comparing_all_with_all(words: Words, distance_bits: int) -> None:
    left, right = np.nonzero(np.triu(distances(words[:, None], words) <= distance_bits, k=1))

    assert np.array_equal(sorted_pairs(words, distance_bits), (words[left], words[right]))


@given(word_sets(), distances_bits)
def test_clusters_are_closed_and_disjoint(words: Words, distance_bits: int) -> None:
    found = clusters(words, distance_bits)

    members = [word for cluster in found for word in cluster]
    assert len(set(members)) == len(members)
    cluster_of = {word: number for number, cluster in enumerate(found) for word in cluster}
    left, right = sorted_pairs(words, distance_bits)
    assert {*left.tolist(), *right.tolist()} == set(members)
    assert all(cluster_of[a] == cluster_of[b] for a, b in zip(left.tolist(), right.tolist(), strict=True))


@given(word_sets(), distances_bits, st.integers(0, 2**64 - 1))
def test_flipping_the_same_bits_everywhere_keeps_the_pairs(
    words: Words, distance_bits: int, flip: int
) -> None:
    left, right = sorted_pairs(words, distance_bits)

    flipped = [side ^ np.uint64(flip) for side in sorted_pairs(words ^ np.uint64(flip), distance_bits)]

    found = {frozenset(pair) for pair in zip(*(side.tolist() for side in flipped), strict=True)}
    assert found == {frozenset(pair) for pair in zip(left.tolist(), right.tolist(), strict=True)}
