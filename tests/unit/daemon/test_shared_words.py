"""What two texts share, marked in both."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from neardup_daemon.inspect.shared_words import ShownText, shown_texts

from neardup_stream.fingerprints.simhash import SimhashConfig, fingerprint_lines

NO_FRAMES: tuple[frozenset[int], frozenset[int]] = (frozenset(), frozenset())
texts = st.lists(st.sampled_from(["a", "b", "c", "d", "e", ", ", "\n", "東", "é"]), max_size=40).map(" ".join)


def shown(first: str, second: str, width: int = 3, characters: int = 10_000) -> tuple[ShownText, ShownText]:
    return shown_texts((first, second), NO_FRAMES, width, characters)


def marked(text: ShownText) -> list[str]:
    return [part.text for line in text.lines for part in line.parts if part.is_shared]


def test_words_in_common_shingles_are_marked_from_the_first_to_the_last() -> None:
    first, second = shown("x one two three four y", "one, two THREE four z")

    assert (marked(first), marked(second)) == (["one two three four"], ["one, two THREE four"])


def test_fewer_words_in_common_than_a_shingle_has_are_not_marked() -> None:
    first, second = shown("one two x three four", "one two y three four")

    assert marked(first) == marked(second) == []


def test_a_stretch_over_several_lines_is_marked_on_each_of_them() -> None:
    first, _ = shown("x one\n\ntwo three\nfour y", "one two three four")

    assert marked(first) == ["one", "two three", "four"]
    assert len(first.lines) == 3


@pytest.mark.parametrize(("characters", "is_cut"), [(17, False), (16, True)])
def test_of_a_long_text_so_many_characters_are_shown(characters: int, *, is_cut: bool) -> None:
    text = "one two three fou"

    first, second = shown(text, "one two three", characters=characters)

    assert (first.is_cut, second.is_cut) == (is_cut, False)
    assert "".join(part.text for line in first.lines for part in line.parts) == text[:characters]


def test_a_line_of_the_frame_is_one_by_the_hash_of_its_tokens() -> None:
    _, (lines,) = fingerprint_lines(["Home, News"], SimhashConfig())

    first, second = shown_texts(
        ("home news\ncontent", "home news"), (frozenset(lines.hashes.tolist()), frozenset()), 3, 100
    )

    assert [line.is_frame for line in first.lines] == [True, False]
    assert [line.is_frame for line in second.lines] == [False]


@given(texts, texts)
def test_texts_are_shown_whole_and_marked_alike_from_both_sides(one: str, other: str) -> None:
    first, second = shown(one, other)
    turned = shown(other, one)

    assert (first, second) == (turned[1], turned[0])
    assert bool(marked(first)) == bool(marked(second))
    lines = ["".join(part.text for part in line.parts) for line in first.lines]
    assert lines == [line for line in one.split("\n") if line.strip()]


@given(texts)
def test_a_text_shares_all_words_with_itself(text: str) -> None:
    first, second = shown(text, text)

    assert first == second
    assert letters("".join(marked(first))) == letters(text)


def letters(text: str) -> str:
    return "".join(filter(str.isalpha, text))
