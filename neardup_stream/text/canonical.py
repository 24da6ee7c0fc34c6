"""Canonicalize text: remove every difference that does not change what a reader sees.

Such differences are: letter case, compatibility forms (ligatures, full width, superscripts), composed or
decomposed accents, invisible characters (soft hyphens, zero-width joiners, byte order marks), marks that
writers may omit (vowel points of Arabic and Hebrew), two spellings that readers of a script treat as one, and
the amount of white space between words. A NUL counts as white space.

One step can undo another (case folding leaves text that composes again; an invisible character may have
separated an accent from its letter), so the steps repeat until nothing changes. Canonicalization is
idempotent by construction. The first step is a Unicode normalization, so texts that are equal by the standard
are equal from there on.
"""

import functools
import itertools
import unicodedata

from neardup_stream.text.unicode_version import without_later_characters

__all__ = ["MAX_EXPANSION", "MAX_MARKS", "canonicalize", "fold_characters", "is_left_out"]

MAX_EXPANSION = 11
"""The largest growth of canonical text, in bytes of UTF-8: U+FDFA becomes a sentence."""

MAX_MARKS = 30
"""The most combining marks on one character; more are dropped. No language needs as many (UAX 15, stream-safe
text), and normalization time grows with the square of their number.
"""

# Default_Ignorable_Code_Point of the Unicode character database, except category Cf.
_OTHER_IGNORABLE = (
    (0x034F, 0x034F),  # combining grapheme joiner
    (0x115F, 0x1160),  # Hangul fillers
    (0x17B4, 0x17B5),  # Khmer inherent vowels
    (0x180B, 0x180F),  # Mongolian variation selectors and vowel separator
    (0x2065, 0x2065),  # reserved among the invisible operators
    (0x3164, 0x3164),  # Hangul filler
    (0xFE00, 0xFE0F),  # variation selectors
    (0xFFA0, 0xFFA0),  # half width Hangul filler
    (0xFFF0, 0xFFF8),  # reserved among the specials
    (0xE0000, 0xE0FFF),  # tags and more variation selectors
)
_OPTIONAL_MARKS = (
    (0x0591, 0x05BD),  # Hebrew accents and vowel points
    (0x05BF, 0x05BF),  # Hebrew rafe
    (0x05C1, 0x05C2),  # Hebrew shin and sin dots
    (0x05C4, 0x05C5),  # Hebrew upper and lower dots
    (0x05C7, 0x05C7),  # Hebrew small qamats
    (0x0640, 0x0640),  # Arabic tatweel, which only lengthens a word
    (0x064B, 0x0652),  # Arabic vowel, doubling and rest marks
    (0x0670, 0x0670),  # Arabic superscript alef
)
# Applied to composed text: the hamza of a letter of its own (alef, waw, yeh) has composed with it.
_USUAL_SPELLINGS = {
    "\u0654": "",  # Arabic hamza above, which marks the Persian ezafe
    "\u06c0": "\u0647",  # the same, composed with heh
    "\u06c2": "\u06c1",  # the same, composed with heh goal
    "\u0d54": "\u0d2e\u0d4d",  # Malayalam chillus: a consonant and the sign that no vowel follows
    "\u0d55": "\u0d2f\u0d4d",
    "\u0d56": "\u0d34\u0d4d",
    "\u0d7a": "\u0d23\u0d4d",
    "\u0d7b": "\u0d28\u0d4d",
    "\u0d7c": "\u0d30\u0d4d",
    "\u0d7d": "\u0d32\u0d4d",
    "\u0d7e": "\u0d33\u0d4d",
    "\u0d7f": "\u0d15\u0d4d",
}
_MARKS_IN_DISGUISE = "\u0344\u0f73\u0f75\u0f81"  # of combining class 0, but made of marks that are not
_SHORT_TEXT = 30  # characters; a loop is faster for these
_CODE_POINTS = 0x110000
_FIRST_PLANES = range(0x20000)
"""All code points with marks or of category Cf, except plane 14, which is ignorable as a whole."""


def canonicalize(text: str) -> str:
    r"""Return the canonical form of visible text; canonicalizing it again changes nothing.

    >>> canonicalize("  The\u00a0\ufb01ne  NA\u00ad\u00cfVE\x00Stra\u00dfe ")
    'the fine naïve strasse'

    Cost: linear; some 30 µs for 3.5 KB of ASCII, four times that for other text.
    """
    return " ".join(fold_characters(text).replace("\0", " ").split())


def fold_characters(text: str) -> str:
    """Return canonical text with its white space unchanged; no token contains white space.

    Cost: linear in the text, a few rounds: the last one only checks that nothing changes any more.
    """
    if text.isascii():
        return text.lower()
    text = _normalize(without_later_characters(text))
    while (folded := _fold_once(text)) != text:
        text = folded
    return text


def is_left_out(character: str) -> bool:
    """Return whether canonical text never contains this character: invisible ones and optional marks."""
    return _left_out()[ord(character)] == 1


def _fold_once(text: str) -> str:
    """Return the text after one more step, or the same text; both are normalized.

    Spellings are replaced only when nothing else changes: a hamza composes with its letter first.
    """
    for change in (_fold_letters, _fold_spellings):
        # Normalization may compose what case folding decomposed.
        if (changed := change(text)) != text and (folded := _normalize(changed)) != text:
            return folded
    return text


def _normalize(text: str) -> str:
    """Return the text composed twice: the first pass may decompose a character into more marks."""
    for _ in range(2):
        former, text = text, unicodedata.normalize("NFKC", _with_fewer_marks(text))
        if text == former:
            break
    return text


def _with_fewer_marks(text: str) -> str:
    """Return the text without all but the first MAX_MARKS of consecutive marks."""
    if len(text) <= MAX_MARKS:
        return text
    from neardup_stream.text.code_points import shorten_runs  # noqa: PLC0415 - only long text needs NumPy

    return shorten_runs(text, _marks(), MAX_MARKS)


def _fold_letters(text: str) -> str:
    if len(text) <= _SHORT_TEXT:
        return "".join(itertools.filterfalse(is_left_out, text)).casefold()
    from neardup_stream.text.code_points import without  # noqa: PLC0415 - only long text needs NumPy

    return without(text, _left_out()).casefold()


def _fold_spellings(text: str) -> str:
    for spelling, usual in _USUAL_SPELLINGS.items():
        text = text.replace(spelling, usual)
    return text


@functools.cache
def _marks() -> bytes:
    """Return for every code point 1 if normalization may reorder it among its neighbors, else 0."""
    marks = bytes(unicodedata.combining(chr(point)) != 0 for point in _FIRST_PLANES)
    table = bytearray(marks.ljust(_CODE_POINTS, b"\0"))
    for character in _MARKS_IN_DISGUISE:
        table[ord(character)] = 1
    return bytes(table)


@functools.cache
def _left_out() -> bytes:
    """Return for every code point 1 if canonical text omits it, else 0."""
    formats = bytes(unicodedata.category(chr(point)) == "Cf" for point in _FIRST_PLANES)
    table = bytearray(formats.ljust(_CODE_POINTS, b"\0"))
    for first, last in itertools.chain(_OTHER_IGNORABLE, _OPTIONAL_MARKS):
        table[first : last + 1] = b"\1" * (last + 1 - first)
    return bytes(table)
