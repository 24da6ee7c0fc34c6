import sys
import unicodedata

import pytest

from neardup_stream.text.canonical import canonicalize, is_invisible

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
    "white-space": ("  a \t\r\n\u2003\u3000b\u00a0", "a b"),
    "nul-is-white-space": ("a\0b", "a b"),
}


@pytest.mark.parametrize(("one", "other"), HARMLESS.values(), ids=HARMLESS)
def test_harmless_differences_disappear(one: str, other: str) -> None:
    assert canonicalize(one) == canonicalize(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("a", "b"), ("ab", "a b"), ("e", "\u00e9"), ("a1", "a2"), ("\u6771", "\u4eac")],
    ids=["letter", "word-boundary", "accent", "digit", "ideograph"],
)
def test_other_differences_stay(one: str, other: str) -> None:
    assert canonicalize(one) != canonicalize(other)


def test_nothing_visible_is_empty() -> None:
    assert canonicalize(" \0\u00ad\n\ufeff ") == ""


def test_canonicalizing_every_code_point_twice_changes_nothing_more() -> None:
    every = (chr(point) for point in range(sys.maxunicode + 1))
    once = {character: canonicalize(character) for character in every}

    unstable = [character for character, canonical in once.items() if canonicalize(canonical) != canonical]

    assert unstable == []


def test_every_format_character_is_invisible() -> None:
    every = (chr(point) for point in range(sys.maxunicode + 1))

    visible = [each for each in every if unicodedata.category(each) == "Cf" and not is_invisible(each)]

    assert visible == []


def test_no_folding_brings_in_an_invisible_character() -> None:
    """So it is enough to leave them out once, before the folding."""
    every = (chr(point) for point in range(sys.maxunicode + 1))
    folded = (
        part
        for each in every
        if not is_invisible(each)
        for part in each.casefold() + unicodedata.normalize("NFKC", each)
    )

    assert not any(map(is_invisible, folded))
