import pytest

from neardup_stream.hashing.polynomials import (
    degree,
    is_irreducible,
    multiply,
    random_irreducible,
    remainder,
)


@pytest.mark.parametrize(
    ("wanted_degree", "irreducible_count"),
    [(1, 2), (2, 1), (3, 2), (4, 3), (5, 6), (6, 9), (7, 18), (8, 30), (9, 56), (10, 99)],
)
def test_as_many_polynomials_are_irreducible_as_the_counting_formula_says(
    wanted_degree: int, irreducible_count: int
) -> None:
    candidates = range(1 << wanted_degree, 2 << wanted_degree)

    assert sum(is_irreducible(candidate) for candidate in candidates) == irreducible_count


def test_irreducible_are_those_that_trial_division_leaves() -> None:
    for polynomial in range(2, 1 << 9):
        divisors = range(2, 1 << (degree(polynomial) // 2 + 1))

        assert is_irreducible(polynomial) == all(remainder(polynomial, divisor) for divisor in divisors)


@pytest.mark.parametrize("constant", [0, 1])
def test_constants_are_not_irreducible(constant: int) -> None:
    assert not is_irreducible(constant)


def test_a_product_of_two_of_half_the_degree_is_reported() -> None:
    product = multiply(random_irreducible(32, seed=1), random_irreducible(32, seed=2))

    assert degree(product) == 64
    assert not is_irreducible(product)


def test_a_square_is_reported() -> None:
    factor = random_irreducible(32, seed=1)

    assert not is_irreducible(multiply(factor, factor))


@pytest.mark.parametrize("wanted_degree", [1, 2, 8, 63, 64, 65])
def test_drawn_polynomials_are_irreducible_and_of_the_wanted_degree(wanted_degree: int) -> None:
    for seed in range(5):
        drawn = random_irreducible(wanted_degree, seed)

        assert degree(drawn) == wanted_degree
        assert is_irreducible(drawn)


def test_a_seed_always_draws_the_same_and_another_draws_another() -> None:
    assert random_irreducible(64, seed=7) == random_irreducible(64, seed=7)
    assert len({random_irreducible(64, seed) for seed in range(20)}) == 20


def test_remainder_is_of_smaller_degree_and_zero_for_a_multiple() -> None:
    assert remainder(0b1011, 0b111) == 0b10
    assert remainder(0b1, 0b111) == 0b1
    assert remainder(multiply(0b1101, 0b111), 0b111) == 0
