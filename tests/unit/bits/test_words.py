import numpy as np
import pytest

from neardup_stream.bits.words import distances, hamming_distance

LARGEST = 2**64 - 1

CASES = [
    pytest.param(0, 0, 0, id="equal"),
    pytest.param(LARGEST, LARGEST, 0, id="equal-largest"),
    pytest.param(0, LARGEST, 64, id="complements"),
    pytest.param(0, 2**63, 1, id="leading-bit"),
    pytest.param(2**64 - 2, LARGEST, 1, id="low-bit-beyond-the-precision-of-a-double"),
]


@pytest.mark.parametrize(("left", "right", "expected"), CASES)
def test_distance_counts_the_bits_that_differ(left: int, right: int, expected: int) -> None:
    assert hamming_distance(left, right) == expected


@pytest.mark.parametrize(("left", "right", "expected"), CASES)
def test_distances_of_arrays_are_those_of_their_words(left: int, right: int, expected: int) -> None:
    words = np.array([left], dtype=np.uint64), np.array([right], dtype=np.uint64)

    assert distances(*words).tolist() == [expected]
