import numpy as np
import pytest

from neardup_stream.hashing.polynomials import degree, is_irreducible, multiply, random_irreducible, remainder
from neardup_stream.hashing.rabin import POLYNOMIAL, rabin_shift
from neardup_stream.hashing.stable import MASK64
from tests.reference import rabin_fingerprint


def test_the_polynomial_is_irreducible_of_degree_64_and_drawn_from_a_seed() -> None:
    assert degree(POLYNOMIAL) == 64
    assert is_irreducible(POLYNOMIAL)
    assert random_irreducible(64, seed=0) == POLYNOMIAL


def test_a_single_token_is_its_own_fingerprint() -> None:
    assert rabin_fingerprint([(1 << 64) - 1]) == (1 << 64) - 1


def test_no_tokens_have_fingerprint_0() -> None:
    assert rabin_fingerprint([]) == 0


def test_fingerprints_never_change() -> None:
    assert rabin_fingerprint([1, 2, 3]) == remainder(1 << 128 | 2 << 64 | 3, POLYNOMIAL)
    assert rabin_fingerprint([1, 2, 3]) == 0x4D335CF282743FA9


@pytest.mark.parametrize("tokens", [1, 2, 31])
def test_shifting_multiplies_by_a_power_of_x(tokens: int) -> None:
    words = [0, 1, 1 << 63, 0x0123456789ABCDEF]

    shifted = rabin_shift(np.array(words, np.uint64), tokens)

    expected = [remainder(multiply(word, 1 << 64 * tokens), POLYNOMIAL) for word in words]
    assert shifted.tolist() == expected


def test_a_clash_needs_a_polynomial_that_divides_the_difference() -> None:
    unlucky = random_irreducible(64, seed=5)
    first, second = [0, 1], [1, (unlucky ^ 1) & MASK64]  # they differ by just this polynomial

    assert rabin_fingerprint(first, unlucky) == rabin_fingerprint(second, unlucky)
    assert rabin_fingerprint(first) != rabin_fingerprint(second)
