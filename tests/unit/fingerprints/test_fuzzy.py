"""Fuzzy-fingerprints: what the construction promises, on made-up texts."""

import numpy as np
import pytest

from neardup_stream.errors import ConfigError
from neardup_stream.fingerprints.fuzzy import (
    CLASSES,
    MOST_PREFIXES,
    SCHEMES,
    count_prefixes,
    fuzzy_codes,
    learn_reference,
)
from neardup_stream.text.canonical import canonicalize
from neardup_stream.text.tokens import split_tokens
from tests.pipelines import essay

TEXTS = [essay(number) for number in range(60)]
REFERENCE = learn_reference([count_prefixes(text) for text in TEXTS])


def codes(text: str) -> list[int]:
    (of_text,) = fuzzy_codes([count_prefixes(text)], REFERENCE).tolist()
    return list(of_text)


def test_a_text_has_one_code_for_each_scheme_a_digit_for_each_class() -> None:
    assert len(codes(TEXTS[0])) == len(SCHEMES)
    assert all(0 <= code < 2**CLASSES for code in codes(TEXTS[0]))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "don't ask, A 東京 2020",
        "naïve Straße ﬁne e\u0301te\u0301 zero\u00adwidth",
        "\ud800 x \U0002000bb",
        "a東b",
    ],
)
def test_words_are_counted_by_the_first_two_letters_of_canonical_tokens(text: str) -> None:
    expected: dict[int, int] = {}
    for token in split_tokens(canonicalize(text)):
        prefix = (ord(token[0]) << 16 ^ (ord(token[1]) if len(token) > 1 else 0)) & 0xFFFFFFFF
        expected[prefix] = expected.get(prefix, 0) + 1

    counted = count_prefixes(text)

    assert dict(zip(counted["prefix"].tolist(), counted["count"].tolist(), strict=True)) == expected
    assert (np.diff(counted["prefix"].astype(np.int64)) > 0).all()


def test_codes_depend_on_words_alone_not_on_their_order_or_case() -> None:
    words = TEXTS[1].split()

    assert codes(" ".join(reversed(words)).upper()) == codes(TEXTS[1])


def test_a_text_twice_as_long_with_the_same_shares_has_the_same_codes() -> None:
    assert codes(f"{TEXTS[2]} {TEXTS[2]}") == codes(TEXTS[2])


def test_a_page_has_the_same_codes_in_any_batch() -> None:
    counted = [count_prefixes(text) for text in (*TEXTS[:3], "ζζζζ " * 20, "")]

    together = fuzzy_codes(counted, REFERENCE).tolist()

    assert together == [fuzzy_codes([each], REFERENCE).tolist()[0] for each in counted]
    assert fuzzy_codes([], REFERENCE).shape == (0, len(SCHEMES))


def test_a_reference_without_a_word_is_refused() -> None:
    with pytest.raises(ConfigError, match="texts with words"):
        learn_reference([count_prefixes(" ?! "), count_prefixes("…")])


def test_expected_shares_add_up_to_one_and_classes_are_filled_alike() -> None:
    assert REFERENCE.expected.sum() == pytest.approx(1)
    assert set(REFERENCE.classes.tolist()) <= set(range(CLASSES))


def test_only_the_most_frequent_prefixes_get_a_class_of_their_own() -> None:
    letters = [chr(0xAC00 + n) for n in range(100)]
    words = [one + other for one in letters for other in letters]

    reference = learn_reference([count_prefixes(" ".join([*words, "up up"]))])

    assert reference.prefixes.size == MOST_PREFIXES
    assert ord("u") << 16 ^ ord("p") in reference.prefixes
