"""Laws of the term search: certain ⊆ truth ⊆ possible, and queries are read as they were written."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from neardup_stream.archive.gone import write_gone
from neardup_stream.archive.texts import KeptTexts
from neardup_stream.errors import ConfigError
from neardup_stream.indexes.queries import And, Not, Or, Query, Words, parse_query
from neardup_stream.indexes.settling import settle_by_kept_texts
from neardup_stream.indexes.sliced import SlicedIndex
from tests.searches import build_searched

WORDS = ("cold", "war", "peace", "東京", "don't", "naïve", "and", "x7", "press", "release")

plain_words = st.builds(Words, st.sampled_from(WORDS), st.just(False))  # noqa: FBT003 - is_quoted
phrases = st.builds(
    Words,
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join),
    st.just(True),  # noqa: FBT003
)


def joined(kind: type[And | Or], parts: list[Query]) -> Query:
    """Parts side by side, as the parser leaves them: none of them of the same kind."""
    flat = [each for part in parts for each in (part.parts if isinstance(part, kind) else (part,))]
    return kind(tuple(flat))


queries = st.recursive(
    plain_words | phrases,
    lambda parts: (
        st.builds(Not, parts)
        | st.lists(parts, min_size=2, max_size=3).map(lambda each: joined(And, each))
        | st.lists(parts, min_size=2, max_size=3).map(lambda each: joined(Or, each))
    ),
    max_leaves=8,
)
texts = st.lists(
    st.lists(st.sampled_from(WORDS) | st.integers(0, 300).map("w{}".format), max_size=30).map(" ".join),
    max_size=40,
)


def is_true(query: Query, text: str) -> bool:
    """Brute force over the words of a text."""
    if isinstance(query, Words):
        wanted, said = query.text.split(), text.split()
        return any(said[i : i + len(wanted)] == wanted for i in range(len(said)))
    if isinstance(query, Not):
        return not is_true(query.part, text)
    return (all if isinstance(query, And) else any)(is_true(part, text) for part in query.parts)


@given(queries)
def test_a_query_is_read_as_it_was_written(query: Query) -> None:
    assert parse_query(str(query)) == query


@given(st.text(max_size=40))
def test_any_text_is_a_query_or_an_error_with_a_position(text: str) -> None:
    complaint = ""
    try:
        query = parse_query(text)
    except ConfigError as error:
        complaint = str(error)
    else:
        assert parse_query(str(query)) == query
    assert complaint == "" or complaint.startswith("query, character ")


@settings(max_examples=60)
@given(texts, st.lists(queries, min_size=1, max_size=4), st.sets(st.integers(0, 39), max_size=5))
def test_certain_is_within_the_truth_and_the_truth_within_possible(
    said: list[str], asked: list[Query], forgotten: set[int]
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "searched.nda"
        rows = build_searched(path, said)
        gone = {number for number in forgotten if number < len(said)}
        write_gone(path, SlicedIndex.open(path).archive.header, [rows[number] for number in gone])
        index = SlicedIndex.open(path)
        living = [number for number in range(len(said)) if number not in gone]
        for query in asked:
            truth = {rows[number] for number in living if is_true(query, said[number])}

            answer = index.search(query)

            certain, maybe = set(answer.yes.tolist()), set(answer.maybe.tolist())
            assert certain <= truth <= certain | maybe
            assert not certain & maybe
            assert 0 <= answer.expected_false_drops <= len(maybe)
            settled = settle_by_kept_texts(answer, KeptTexts(index.archive))
            assert set(settled.yes.tolist()) == truth
            assert settled.maybe.size == 0
