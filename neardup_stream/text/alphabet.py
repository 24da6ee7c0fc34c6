"""Classify characters: the one table that every tokenizer uses.

A letter is a character of category L, N or M (letters, digits, marks); all others separate tokens. A letter
of a script that is written without spaces is a token by itself; consecutive other letters form a token.

The compiled kernel reads the table as an array over code points, an *alphabet*. An entry is

    0                  the character separates tokens
    point              a letter, to be hashed as this code point
    SOLO | point       the same, and a token of its own
    IGNORED            the character is skipped
    UNSETTLED          the result depends on its neighbors: canonicalize the page first

Code points past the end of an alphabet are treated as its last entry. There are two alphabets: one for
canonical text, where letters map to themselves, and one for raw text, which also applies the common case of
canonicalization (one letter becomes one other letter, or nothing, regardless of its neighbors).
"""

import functools
import unicodedata
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from neardup_stream.array_cache import cached_array
from neardup_stream.text.canonical import fold_characters, is_left_out
from neardup_stream.text.unicode_version import UNASSIGNED, without_later_characters

__all__ = [
    "IGNORED",
    "SOLO",
    "UNSETTLED",
    "begins_token",
    "canonical_alphabet",
    "entries_of",
    "is_letter",
    "is_solo",
    "may_join",
    "raw_alphabet",
]

IGNORED = -1
SOLO = 1 << 24
UNSETTLED = 1 << 25

_SOLO_RANGES = (
    (0x0E00, 0x0E7F),  # Thai
    (0x0E80, 0x0EFF),  # Lao
    (0x1000, 0x109F),  # Burmese
    (0x1780, 0x17FF),  # Khmer
    (0x1950, 0x197F),  # Tai Le
    (0x1980, 0x19DF),  # New Tai Lue
    (0x1A20, 0x1AAF),  # Tai Tham
    (0x1B00, 0x1B7F),  # Balinese
    (0x3005, 0x3007),  # Han iteration, closing and zero marks
    (0x3021, 0x3029),  # Hangzhou numerals
    (0x3038, 0x303B),  # more Hangzhou numerals, vertical iteration mark
    (0x3041, 0x30FF),  # Hiragana and Katakana
    (0x31F0, 0x31FF),  # Katakana extensions
    (0x3400, 0x4DBF),  # Han, extension A
    (0x4E00, 0x9FFF),  # Han
    (0xA980, 0xA9DF),  # Javanese
    (0xA9E0, 0xA9FF),  # Burmese, extended B
    (0xAA60, 0xAA7F),  # Burmese, extended A
    (0xAA80, 0xAADF),  # Tai Viet
    (0xF900, 0xFAFF),  # Han, compatibility
    (0x1AFF0, 0x1B16F),  # Kana supplements
    (0x20000, 0x3FFFF),  # Han, all further extensions
)

_SOURCES: Final = [
    Path(__file__).with_name(name)
    for name in ("alphabet.py", "canonical.py", "code_points.py", "unicode_version.py", UNASSIGNED)
]
"""The files that alphabets follow from, beside Python's own Unicode."""

_CANONICAL_SIZE = 0x40000  # above are tags, private use and unassigned: separators
_ASCII_SIZE = 0x80
# Characters to test one by one; Han and Hangul syllables between these ranges map to themselves.
_RAW_RANGES = (
    (_ASCII_SIZE, 0x33FF),  # alphabets, punctuation, symbols, kana
    (0xA000, 0xABFF),  # more alphabets
    (0xF900, 0xFFEF),  # presentation forms, full and half width
    (0x1F000, 0x1FAFF),  # pictographs
)
_RAW_UNCHANGED_RANGES = ((0x3400, 0x9FFF), (0xAC00, 0xD7A3))
_CONJOINING_JAMO = range(0x1100, 0x1200)


def is_letter(character: str) -> bool:
    """Return whether the character belongs to a token: a letter, digit or mark."""
    return unicodedata.category(without_later_characters(character))[0] in "LNM"


def is_solo(character: str) -> bool:
    """Return whether the character belongs to a script written without spaces."""
    return any(first <= ord(character) <= last for first, last in _SOLO_RANGES)


@functools.cache
def canonical_alphabet() -> NDArray[np.int32]:
    """Return the alphabet of canonical text, int32[262144], read-only. Some 30 ms on the first use of all."""
    return _cached("canonical", _make_canonical)


@functools.cache
def raw_alphabet() -> NDArray[np.int32]:
    """Return the alphabet of raw text, int32[129793], read-only. Some 80 ms on the first use of all.

    Text without an UNSETTLED character has the same tokens as its canonical form.
    """
    return _cached("raw", _make_raw)


def _cached(name: str, make: Callable[[], NDArray[np.int32]]) -> NDArray[np.int32]:
    alphabet = cached_array(f"{name}-alphabet", _SOURCES, make)
    alphabet.setflags(write=False)
    return alphabet


def _make_canonical() -> NDArray[np.int32]:
    points = np.arange(_CANONICAL_SIZE, dtype=np.int32)
    characters = without_later_characters("".join(map(chr, range(_CANONICAL_SIZE))))
    categories = "".join(map(unicodedata.category, characters))
    major = np.frombuffer(categories.encode(), np.uint8)[::2]
    alphabet = np.where(np.isin(major, np.frombuffer(b"LNM", np.uint8)), points, 0).astype(np.int32)
    for first, last in _SOLO_RANGES:
        alphabet[first : last + 1] |= np.where(alphabet[first : last + 1], SOLO, 0)
    alphabet[-1] = 0
    return alphabet


def _make_raw() -> NDArray[np.int32]:
    letters = canonical_alphabet()
    alphabet = np.full(_RAW_RANGES[-1][1] + 2, UNSETTLED, np.int32)
    for first, last in _RAW_UNCHANGED_RANGES:
        alphabet[first : last + 1] = letters[first : last + 1]
    for point in range(_ASCII_SIZE):
        alphabet[point] = letters[ord(chr(point).lower())]
    for first, last in _RAW_RANGES:
        alphabet[first : last + 1] = list(_settle(range(first, last + 1), letters))
    return alphabet


def _settle(points: range, letters: NDArray[np.int32]) -> Iterable[int]:
    """Yield what each code point becomes regardless of its neighbors, or UNSETTLED."""
    folded = fold_characters("\n".join(map(chr, points))).split("\n")
    for character, becomes in zip(map(chr, points), folded, strict=True):
        yield _settled_entry(character, becomes, letters)


def _settled_entry(character: str, becomes: str, letters: NDArray[np.int32]) -> int:
    # Dropping a character joins its neighbors. That matters only if the second one joins the character before
    # it, as marks and jamo do (the tests check this for all of Unicode). Such characters are unsettled if
    # they stay.
    if is_left_out(character):
        return IGNORED
    if not becomes or any(map(may_join, character + becomes)):
        return UNSETTLED
    entries = {int(letters[ord(part)]) for part in becomes}
    if entries == {0} or len(becomes) == 1:
        return entries.pop()
    return UNSETTLED


def entries_of(points: NDArray[np.uint32], alphabet: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the entries of code points in an alphabet."""
    entries: NDArray[np.int32] = alphabet[np.minimum(points, alphabet.size - 1)]
    return entries


def begins_token(entries: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return whether each character begins a token, by their entries, none of them IGNORED or UNSETTLED.

    Other letters continue the token of the one before them.
    """
    is_running = (entries > 0) & (entries < SOLO)
    begins = entries > 0
    begins[1:] &= ~(is_running[1:] & is_running[:-1])
    return begins


def may_join(character: str) -> bool:
    """Return whether the character may combine with the one before it."""
    return unicodedata.category(character)[0] == "M" or ord(character) in _CONJOINING_JAMO
