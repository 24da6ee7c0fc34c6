import sys
import unicodedata
from typing import Literal

import pytest

from neardup_stream.text.canonical import MAX_MARKS, canonicalize, is_left_out
from neardup_stream.text.unicode_version import without_later_characters

NormalizationForm = Literal["NFC", "NFD", "NFKC", "NFKD"]

HARMLESS = {
    "case": ("Straße ΣΑΣ", "STRASSE σας"),
    "full-width": ("\uff21\uff22\uff11", "ab1"),
    "ligature": ("\ufb01ne", "fine"),
    "decomposed-accent": ("cafe\u0301", "caf\u00e9"),
    "soft-hyphen": ("foot\u00adnote", "footnote"),
    "zero-width-space": ("foot\u200bnote", "footnote"),
    "joiner-between-letter-and-accent": ("e\u200d\u0301", "\u00e9"),
    "byte-order-mark": ("\ufeffpage", "page"),
    "variation-selector": ("\u2764\ufe0f", "\u2764"),
    "hangul-filler": ("a\u3164b", "ab"),
    "tag-character": ("a\U000e0041b", "ab"),
    "arabic-vowel-marks": ("\u0643\u064e\u062a\u0651\u064e\u0628\u0652", "\u0643\u062a\u0628"),
    "arabic-superscript-alef": ("\u0647\u0670\u0630\u0627", "\u0647\u0630\u0627"),
    "tatweel": ("\u0633\u0640\u0640\u0644\u0627\u0645", "\u0633\u0644\u0627\u0645"),
    "vowel-on-tatweel-as-one-character": ("\u0633\ufe77\u0644", "\u0633\u0644"),
    "ezafe-hamza": ("\u062e\u0627\u0646\u0647\u0654", "\u062e\u0627\u0646\u0647"),
    "ezafe-hamza-composed": ("\u062e\u0627\u0646\u06c0", "\u062e\u0627\u0646\u0647"),
    "ezafe-hamza-decomposed": ("\u062e\u0627\u0646\u06d5\u0654", "\u062e\u0627\u0646\u0647"),
    "ezafe-hamza-on-heh-goal": ("\u06c2 \u06c1\u0654", "\u06c1 \u06c1"),
    "hamza-alef-decomposed": ("\u0627\u0654", "\u0623"),
    "vowel-between-alef-and-its-hamza": ("\u0627\u064e\u0654", "\u0623"),
    "joiner-between-alef-and-its-hamza": ("\u0627\u200d\u0654", "\u0623"),
    "tatweel-between-alef-and-its-hamza": ("\u0627\u0640\u0654", "\u0623"),
    "hebrew-points": ("\u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd", "\u05e9\u05dc\u05d5\u05dd"),
    "hebrew-accents": (
        "\u05d1\u05bc\u05b0\u05e8\u05b5\u05d0\u05e9\u05b4\u0596\u05d9\u05ea",
        "\u05d1\u05e8\u05d0\u05e9\u05d9\u05ea",
    ),
    "hebrew-letter-composed-with-its-point": ("\ufb2a", "\u05e9"),
    "chillu-and-joiner": ("\u0d05\u0d35\u0d7b", "\u0d05\u0d35\u0d28\u0d4d\u200d"),
    "chillu-and-virama": ("\u0d05\u0d35\u0d7e", "\u0d05\u0d35\u0d33\u0d4d"),
    "white-space": ("  a \t\r\n\u2003\u3000b\u00a0", "a b"),
    "nul-is-white-space": ("a\0b", "a b"),
}


@pytest.mark.parametrize(("one", "other"), HARMLESS.values(), ids=HARMLESS)
def test_harmless_differences_disappear(one: str, other: str) -> None:
    assert canonicalize(one) == canonicalize(other)


DIFFERENT = {
    "letter": ("a", "b"),
    "word-boundary": ("ab", "a b"),
    "accent": ("e", "\u00e9"),
    "cyrillic-short-i": ("\u0438", "\u0439"),
    "digit": ("a1", "a2"),
    "ideograph": ("\u6771", "\u4eac"),
    "alef-with-hamza": ("\u0627", "\u0623"),
    "alef-with-hamza-below": ("\u0627", "\u0625"),
    "alef-with-madda": ("\u0627", "\u0622"),
    "waw-with-hamza": ("\u0648", "\u0624"),
    "yeh-with-hamza": ("\u064a", "\u0626"),
    "indic-vowel-sign": ("\u0d15", "\u0d15\u0d3e"),
    "malayalam-virama": ("\u0d28", "\u0d7b"),
}


@pytest.mark.parametrize(("one", "other"), DIFFERENT.values(), ids=DIFFERENT)
def test_other_differences_stay(one: str, other: str) -> None:
    assert canonicalize(one) != canonicalize(other)


def test_nothing_visible_is_empty() -> None:
    assert canonicalize(" \0\u00ad\n\ufeff ") == ""


def test_canonicalizing_every_code_point_twice_changes_nothing_more() -> None:
    every = (chr(point) for point in range(sys.maxunicode + 1))
    once = {character: canonicalize(character) for character in every}

    unstable = [character for character, canonical in once.items() if canonicalize(canonical) != canonical]

    assert unstable == []


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_every_normalization_of_a_code_point_has_its_canonical_form(form: NormalizationForm) -> None:
    every = (chr(point) for point in range(sys.maxunicode + 1))
    known = (each for each in every if without_later_characters(each) == each)
    forms = ((each, unicodedata.normalize(form, each)) for each in known)

    apart = [each for each, other in forms if each != other and canonicalize(each) != canonicalize(other)]

    assert apart == []


def test_every_chillu_is_a_consonant_without_its_vowel() -> None:
    chillus = "\u0d54\u0d55\u0d56\u0d7a\u0d7b\u0d7c\u0d7d\u0d7e\u0d7f"
    consonants = "\u0d2e\u0d2f\u0d34\u0d23\u0d28\u0d30\u0d32\u0d33\u0d15"

    assert [*map(canonicalize, chillus)] == [consonant + "\u0d4d" for consonant in consonants]


def test_every_format_character_is_left_out() -> None:
    every = (chr(point) for point in range(sys.maxunicode + 1))

    visible = [each for each in every if unicodedata.category(each) == "Cf" and not is_left_out(each)]

    assert visible == []


@pytest.mark.parametrize("mark", ["\u0323", "\u0f73", "\U0001d165"], ids=["mark", "made-of-marks", "musical"])
def test_a_letter_keeps_thirty_marks_and_no_more(mark: str) -> None:
    kept = canonicalize("x" + mark * MAX_MARKS)

    assert canonicalize("x" + mark * (MAX_MARKS + 1)) == kept
    assert canonicalize("x" + mark * (MAX_MARKS - 1)) != kept
    assert canonicalize(kept) == kept


def test_marks_that_only_an_invisible_character_keeps_apart_are_counted_together() -> None:
    marks = "\u0323" * 20

    assert canonicalize(f"x{marks}\u200d{marks}y") == "x" + "\u0323" * MAX_MARKS + "y"


def test_canonicalizing_a_million_marks_ends() -> None:
    assert len(canonicalize("a" + "\u0316\u0300" * 500_000 + " b")) <= MAX_MARKS + 3


def test_runs_of_characters_outside_the_first_plane_are_no_marks() -> None:
    assert canonicalize("\U0001f600" * 100) == "\U0001f600" * 100
