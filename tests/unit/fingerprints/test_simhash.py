import dataclasses
from typing import Any

import numpy as np
import pytest

from neardup_stream.errors import ConfigError
from neardup_stream.fingerprints.simhash import (
    MAX_WINDOW_TOKENS,
    RECENT_WINDOWS,
    Fingerprints,
    SimhashConfig,
    fingerprint_texts,
    schema_fields,
)
from neardup_stream.hashing.stable import rotate, token_hash
from neardup_stream.text.tokens import MAX_TOKEN_CHARACTERS
from tests.reference import fingerprint_page

WIDTH = 3
THREE = SimhashConfig(window_tokens=WIDTH)


def _numbered(count: int) -> str:
    return " ".join(f"w{number}" for number in range(count))


CASES = {
    "empty": "",
    "one-token": "a",
    "below-the-window": _numbered(WIDTH - 1),
    "one-window": _numbered(WIDTH),
    "two-windows": _numbered(WIDTH + 1),
    "byte-lanes-full": _numbered(255 + WIDTH - 1),
    "byte-lanes-emptied-once": _numbered(256 + WIDTH - 1),
    "more-windows-than-16-bits-count": _numbered(65_537),
    "letter-case": "The Quick BROWN Fox",
    "han": "我能吞下玻璃而不伤身体" * 9,
    "thai": "ฉันกินกระจกได้ แต่มันไม่ทำให้ฉันเจ็บ" * 3,
    "cyrillic-capitals": "Съешь ЖЕ Ещё",
    "greek-sigmas": "ΣΑΣ σας Σ",
    "needs-neighbors": "Stra\u00dfe e\u0301 \u1112\u1161\u11ab foot\u00adnote \ufb01ne",
    "four-byte-letters": "\U00020000 \U0001d400\U0001f600\U00010400",
    "lone-surrogate": "a \ud800 b\udfff c",
    "nul": "a\0b",
    "one-block-of-hash": "x" * 16,
    "one-byte-more": "x" * 17,
    "letters-across-blocks": "xé" * 40,
    "longest-token": "é" * MAX_TOKEN_CHARACTERS,
    "longer-token": "é" * (MAX_TOKEN_CHARACTERS + 1) + "x y",
    "word-repeated": "spam " * 1000,
    "phrase-as-long-as-memory": _numbered(RECENT_WINDOWS) + " " + _numbered(RECENT_WINDOWS),
    "phrase-longer-than-memory": _numbered(RECENT_WINDOWS + 1) + " " + _numbered(RECENT_WINDOWS + 1),
}


@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_kernel_equals_the_reference(text: str) -> None:
    computed = fingerprint_texts([text], THREE)

    assert tuple(int(values[0]) for values in computed[:3]) == fingerprint_page(text, THREE)


@pytest.mark.parametrize(
    "behind",
    ["", " ", "\n", "-", "\0", "é", "\u2019", "東", "\u0301"],
    ids=["end", "space", "line-feed", "hyphen", "nul", "letter", "quote", "solo", "mark"],
)
def test_a_token_is_the_same_at_any_length_and_place_whatever_is_behind_it(behind: str) -> None:
    texts = [f"{'a ' * start}{'bc' * length}{behind}" for start in range(8) for length in range(1, 20)]
    texts += [f"{'a' * start} {'b' * length}{behind}c\nd" for start in range(1, 9) for length in range(6, 18)]

    computed = fingerprint_texts(texts, THREE)

    rows = zip(*(values.tolist() for values in computed[:3]), strict=True)
    assert list(rows) == [fingerprint_page(text, THREE) for text in texts]


def test_a_batch_is_its_pages_one_by_one() -> None:
    texts = list(CASES.values())

    batch = fingerprint_texts(texts, THREE)

    alone = [fingerprint_texts([text], THREE) for text in texts]
    for name in Fingerprints._fields:
        parts = [getattr(one, name) for one in alone]
        assert getattr(batch, name).tolist() == np.concatenate(parts).tolist()


def test_an_empty_batch_gives_nothing() -> None:
    assert [values.size for values in fingerprint_texts([], THREE)] == [0] * len(Fingerprints._fields)


def test_one_feature_gives_its_own_hash() -> None:
    a, b, c = map(token_hash, "abc")

    fingerprint = int(fingerprint_texts(["A b, c!"], THREE).fingerprints[0])

    assert fingerprint == rotate(a, 2) ^ rotate(b, 1) ^ c


@pytest.mark.parametrize("count", [254, 255, 256, 511])
def test_a_bit_that_every_vote_has_is_counted_past_a_byte(count: int) -> None:
    odd = [f"w{number}" for number in range(4 * count) if token_hash(f"w{number}") & 1][:count]

    computed = fingerprint_texts([" ".join(odd)], SimhashConfig(window_tokens=1))

    assert int(computed.fingerprints[0]) & 1 == 1
    assert int(computed.fingerprints[0]) == fingerprint_page(" ".join(odd), SimhashConfig(1)).fingerprint


def test_a_hidden_run_of_a_phrase_votes_once() -> None:
    page, phrase = _numbered(300), " ".join(f"seo{number}" for number in range(RECENT_WINDOWS))

    once, often = fingerprint_texts(
        [f"{page} {phrase}", page + f" {phrase}" * 500], SimhashConfig()
    ).fingerprints

    assert int(once ^ often).bit_count() <= 3


def test_text_fingerprints_distinguish_equal_tokens_from_others() -> None:
    texts = ["A b  c", "a, b\u00a0C", "a c b", "a b", "a b c c", "ab c"]

    first, second, *others = fingerprint_texts(texts, THREE).text_fingerprints.tolist()

    assert first == second
    assert first not in others
    assert len(set(others)) == len(others)


@pytest.mark.parametrize(
    ("window_tokens", "min_tokens"),
    [(0, 10), (MAX_WINDOW_TOKENS + 1, 10), (2, 0), (-1, 1)],
    ids=["no-window", "window-over-limit", "no-tokens", "negative-window"],
)
def test_a_config_out_of_range_is_refused(window_tokens: int, min_tokens: int) -> None:
    with pytest.raises(ConfigError, match="must be"):
        SimhashConfig(window_tokens, min_tokens)


@pytest.mark.parametrize(("window_tokens", "min_tokens"), [(1, 1), (MAX_WINDOW_TOKENS, 1), (2, 10**6)])
def test_a_config_within_range_is_taken(window_tokens: int, min_tokens: int) -> None:
    config = SimhashConfig(window_tokens, min_tokens)

    text = _numbered(100)
    assert (
        int(fingerprint_texts([text], config).fingerprints[0]) == fingerprint_page(text, config).fingerprint
    )


@pytest.mark.parametrize("changed", [{"window_tokens": 4}, {"min_tokens": 11}])
def test_whatever_the_config_says_is_in_the_schema(changed: dict[str, int]) -> None:
    assert schema_fields(dataclasses.replace(THREE, **changed)) != schema_fields(THREE)


def test_fingerprints_never_change_without_a_new_schema() -> None:
    """Stored fingerprints stay comparable: a failure here means that the schema fields must change too."""
    computed = fingerprint_texts(["The quick brown fox jumps over the lazy dog; 東京 café."], SimhashConfig())

    assert [int(values[0]) for values in computed[:3]] == [
        10_662_140_980_906_295_968,
        12,
        10_823_081_480_914_839_182,
    ]


def test_texts_may_come_from_a_generator_also_where_some_must_be_canonicalized() -> None:
    texts = ["plain words", "caf\u0065\u0301 words"]

    found = fingerprint_texts(iter(texts), THREE)

    assert found.fingerprints.tolist() == fingerprint_texts(texts, THREE).fingerprints.tolist()


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("one text", r"give several texts: \['one text'\]"),
        (["a", b"b"], r"expected a text \(str\), got bytes"),
    ],
)
def test_what_is_not_several_texts_is_refused(texts: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        fingerprint_texts(texts, THREE)
