import numpy as np
import pytest

from neardup_stream.errors import ConfigError
from neardup_stream.fingerprints.resemblance import exact_overlap
from neardup_stream.fingerprints.shingles import (
    ShingleConfig,
    ShingleHash,
    shingle_ids,
    token_hashes,
)
from neardup_stream.fingerprints.sketch import MAX_SHINGLE_TOKENS
from neardup_stream.hashing.stable import token_hash

HASHES: list[ShingleHash] = ["cyclic", "rabin"]
every_hash = pytest.mark.parametrize("shingle_hash", HASHES)


def shingle_count(text: str, config: ShingleConfig) -> int:
    return shingle_ids(token_hashes(text), config).size


@every_hash
@pytest.mark.parametrize(
    ("text", "set_count", "bag_count"),
    [
        ("a rose is a rose is a rose", 3, 5),
        ("", 0, 0),
        ("a rose", 1, 1),
        ("a rose is a", 1, 1),
        ("a rose is a rose", 2, 2),
    ],
    ids=["broder-s-example", "empty", "too-short", "just-one", "two"],
)
def test_a_set_counts_a_shingle_once_and_a_bag_each_time(
    shingle_hash: ShingleHash, text: str, set_count: int, bag_count: int
) -> None:
    assert shingle_count(text, ShingleConfig(4, shingle_hash)) == set_count
    assert shingle_count(text, ShingleConfig(4, shingle_hash, is_bag=True)) == bag_count


@every_hash
@pytest.mark.parametrize(
    ("is_bag", "resemblance"), [(False, 1.0), (True, 1 / 3)], ids=["a-set-does-not", "a-bag-does"]
)
def test_distinguishing_a_word_from_its_repetition(
    shingle_hash: ShingleHash, *, is_bag: bool, resemblance: float
) -> None:
    config = ShingleConfig(1, shingle_hash, is_bag=is_bag)

    overlap = exact_overlap(
        shingle_ids(token_hashes("a"), config), shingle_ids(token_hashes("a a a"), config)
    )

    assert overlap.resemblance == resemblance


# With the widths and resemblances of Broder 1997, section 2.
@every_hash
@pytest.mark.parametrize(
    ("width", "is_bag", "resemblance"),
    [(1, True, 0.7), (2, True, 0.5), (3, True, 0.3), (1, False, 0.6), (2, False, 0.5), (3, False, 3 / 7)],
)
def test_one_flower_among_roses(
    shingle_hash: ShingleHash, width: int, *, is_bag: bool, resemblance: float
) -> None:
    config = ShingleConfig(width, shingle_hash, is_bag=is_bag)
    roses = shingle_ids(token_hashes("a rose is a rose is a rose"), config)
    flower = shingle_ids(token_hashes("a rose is a flower which is a rose"), config)

    assert exact_overlap(roses, flower).resemblance == pytest.approx(resemblance)


@every_hash
def test_without_repeats_the_bag_is_the_set(shingle_hash: ShingleHash) -> None:
    tokens = np.arange(1, 100, dtype=np.uint64)

    as_set = shingle_ids(tokens, ShingleConfig(3, shingle_hash))
    as_bag = shingle_ids(tokens, ShingleConfig(3, shingle_hash, is_bag=True))

    assert as_bag.tolist() == as_set.tolist()


@every_hash
def test_order_within_a_shingle_matters_and_order_of_shingles_does_not(shingle_hash: ShingleHash) -> None:
    config = ShingleConfig(2, shingle_hash)

    forth, back, moved = (
        shingle_ids(token_hashes(text), config) for text in ("a b c a", "c b a c", "b c a b")
    )

    assert exact_overlap(forth, back).common_count == 0
    assert moved.tolist() == forth.tolist()


def test_tokens_are_those_of_canonical_text() -> None:
    expected = [token_hash("don"), token_hash("t"), token_hash("ask")]

    assert token_hashes("  DON'T\u00a0ask ").tolist() == expected


@pytest.mark.parametrize("width", [1, MAX_SHINGLE_TOKENS], ids=["least", "most"])
def test_a_width_at_the_limit_is_taken(width: int) -> None:
    assert ShingleConfig(width).shingle_tokens == width


@pytest.mark.parametrize("width", [0, MAX_SHINGLE_TOKENS + 1], ids=["below-least", "above-most"])
def test_a_width_beyond_the_limit_is_refused(width: int) -> None:
    with pytest.raises(ConfigError, match=f"shingle_tokens is {width}"):
        ShingleConfig(width)


def test_a_width_that_is_no_whole_number_is_refused() -> None:
    with pytest.raises(TypeError, match=r"shingle_tokens is 2\.5, must be a whole number"):
        ShingleConfig(2.5)  # type: ignore[arg-type]


def test_a_hash_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ConfigError, match="hash is 'md5', must be one of cyclic, rabin"):
        ShingleConfig(hash="md5")  # type: ignore[arg-type]
