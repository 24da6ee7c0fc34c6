"""Queries of the term search: how they are read, and where errors are."""

import numpy as np
import pytest

from neardup_stream.errors import ConfigError
from neardup_stream.fingerprints.simhash import SimhashConfig, fingerprint_lines
from neardup_stream.indexes.queries import And, Not, Or, Words, leaves, parse_query
from neardup_stream.indexes.query_logic import bind_query, holds


def tokens_of(text: str) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return fingerprint_lines([text], SimhashConfig())[1][0].tokens


def test_words_side_by_side_mean_and_which_binds_more_than_or_and_less_than_not() -> None:
    query = parse_query('NOT a b OR "c d" (e OR f)')

    a, b, c, e, f = (Words(text, " " in text) for text in ("a", "b", "c d", "e", "f"))
    assert query == Or((And((Not(a), b)), And((c, Or((e, f))))))
    assert str(query) == 'NOT a AND b OR "c d" AND (e OR f)'


def test_operators_are_written_in_capitals() -> None:
    assert [str(each) for each in leaves(parse_query("and not or"))] == ["and", "not", "or"]


@pytest.mark.parametrize(
    ("query", "position", "complaint"),
    [
        ("", 1, "is empty"),
        ("  ", 1, "is empty"),
        ("a AND", 6, "the query ends"),
        ("a AND OR b", 7, "there is 'OR'"),
        ("a (b", 3, "not closed"),
        ("a) b", 2, "closes nothing"),
        ("()", 2, "there is"),
        ('a "b c', 3, "quotation mark is not closed"),
        ("NOT", 4, "the query ends"),
        (65 * "(" + "a" + 65 * ")", 65, "nested more than 64 deep"),
        ("NOT " * 65 + "a", 257, "nested more than 64 deep"),
        ("war -- peace", 5, "no letter and no digit"),
        ('""', 1, "no letter and no digit"),
        (" ".join(f"w{n}" for n in range(65)), 247, "more than 64 words"),
        ('x "' + "東" * 64 + '"', 3, "more than 64 words"),
    ],
)
def test_an_error_names_its_position(query: str, position: int, complaint: str) -> None:
    with pytest.raises(ConfigError, match=rf"^query, character {position}: .*{complaint}"):
        bind_query(query)


def test_as_many_words_as_are_allowed_are_asked() -> None:
    assert len(bind_query(" ".join(f"w{n}" for n in range(64))).distinct) == 64


def test_a_word_of_several_tokens_is_a_phrase() -> None:
    bound = bind_query("don't OR 東京")

    assert [len(terms) for terms in bound.terms.values()] == [2, 2]
    assert holds(bound, tokens_of("they don't know"))
    assert not holds(bound, tokens_of("they don know t"))
    assert holds(bound, tokens_of("in 東京都"))
    assert not holds(bound, tokens_of("京東"))


def test_words_are_folded_as_pages_are() -> None:
    assert holds(bind_query("NAÏVE STRASSE"), tokens_of("a naïve Straße"))


@pytest.mark.parametrize(
    ("query", "text", "answer"),
    [
        ('"press release"', "a press release today", True),
        ('"press release"', "release the press", False),
        ('"press press"', "press", False),
        ('"press press"', "press press", True),
        ("press NOT release", "the press", True),
        ("press NOT release", "", False),
        ("NOT release", "", True),
        ("(a OR b) (c OR d)", "b d", True),
        ("(a OR b) (c OR d)", "a b", False),
    ],
)
def test_a_text_fulfils_a_query_or_not(query: str, text: str, answer: bool) -> None:  # noqa: FBT001
    assert holds(bind_query(query), tokens_of(text)) is answer
