import sys
import unicodedata

import pytest

from neardup_stream.text.alphabet import (
    IGNORED,
    SOLO,
    UNSETTLED,
    canonical_alphabet,
    is_letter,
    is_solo,
    raw_alphabet,
)
from neardup_stream.text.canonical import canonicalize


def _conjoining_jamo(character: str) -> bool:
    return "\u1100" <= character <= "\u11ff"


def test_canonical_alphabet_agrees_with_the_definition_of_letters() -> None:
    alphabet = canonical_alphabet().tolist()

    def entry(point: int) -> int:
        if not is_letter(chr(point)):
            return 0
        return point | (SOLO if is_solo(chr(point)) else 0)

    assert alphabet == [entry(point) for point in range(len(alphabet))]


def test_past_the_canonical_alphabet_nothing_visible_is_a_letter() -> None:
    beyond = map(chr, range(canonical_alphabet().size, sys.maxunicode + 1))

    assert {canonicalize(each) for each in beyond if is_letter(each)} == {""}


def test_settled_letters_are_what_canonicalizing_makes_of_them() -> None:
    letters = {}
    for point, entry in enumerate(raw_alphabet().tolist()):
        if 0 < entry < UNSETTLED:
            letters[chr(point)] = chr(entry & (SOLO - 1))

    assert letters == {each: canonicalize(each) for each in letters}


def test_settled_separators_become_separators() -> None:
    separators = (chr(point) for point, entry in enumerate(raw_alphabet().tolist()) if entry == 0)

    assert not any(is_letter(part) for each in separators for part in canonicalize(each))


def test_ignored_characters_leave_nothing() -> None:
    ignored = (chr(point) for point, entry in enumerate(raw_alphabet().tolist()) if entry == IGNORED)

    assert {canonicalize(f"a{each}b") for each in ignored} == {"ab"}


def test_only_marks_and_jamo_join_a_character_before_them() -> None:
    """What makes a character settled whatever stands beside it."""
    compositions = (unicodedata.decomposition(chr(point)).split() for point in range(sys.maxunicode + 1))
    joining = {chr(int(parts[1], 16)) for parts in compositions if len(parts) == 2 and "<" not in parts[0]}
    reordered = {chr(point) for point in range(sys.maxunicode + 1) if unicodedata.combining(chr(point))}

    others = {each for each in joining | reordered if not unicodedata.category(each).startswith("M")}

    assert {each for each in others if not _conjoining_jamo(each)} == set()


@pytest.mark.parametrize(
    "character",
    [
        "\u00df",
        "\u0301",
        "\u0654",
        "\u0d7b",
        "\u1161",
        "\uff9e",
        "\uffc2",
        "\u0130",
        "\u00bd",
        "\ud800",
    ],
    ids=[
        "two-letters",
        "mark",
        "hamza-that-may-compose",
        "chillu",
        "jamo",
        "kana-mark",
        "jamo-form",
        "dotted-i",
        "fraction",
        "half",
    ],
)
def test_what_needs_its_neighbors_is_unsettled(character: str) -> None:
    assert raw_alphabet()[ord(character)] == UNSETTLED


@pytest.mark.parametrize(
    "text",
    [
        "\u2019\u201c\u2014\u2026\u00a0",
        "\u00e9\u00c9\u0416\u03a3",
        "\u6771\u3042\uac00",
        "\U0001f600\ufe0f",
        "a\u00adb\u200b",
        "\u0643\u064e\u062a\u0651\u0640\u0623",
        "\u0645\u06cc\u200c\u06c0",
        "\u05e9\u05c1\u05b8",
    ],
    ids=["punctuation", "letters", "asian", "emoji", "invisible", "arabic", "persian", "hebrew"],
)
def test_common_characters_are_settled(text: str) -> None:
    assert all(raw_alphabet()[ord(character)] < UNSETTLED for character in text)
