"""Canonical text: what is left when every harmless difference is removed.

Harmless are: letter case, compatibility forms (ligatures, full width, superscripts), composed or
decomposed accents, characters nobody sees (soft hyphens, zero-width joiners, byte order marks), and how
much white space stands between words. A NUL counts as white space.

Each step can undo another's work (folding case leaves text that composes anew, an invisible character
may have kept an accent from its letter), so the steps are repeated until nothing changes: canonicalizing
twice is canonicalizing once, by construction.
"""

import functools
import itertools
import re
import unicodedata

__all__ = ["canonicalize", "fold_characters", "is_invisible"]

# Default_Ignorable_Code_Point of the Unicode character database, as far as it is not of category Cf.
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
_FIRST_PLANE_END = 0xFFFF
_FORMAT_PLANES = range(0x20000)  # and plane 14, which is ignorable as a whole


def canonicalize(text: str) -> str:
    r"""The canonical form of visible text; canonicalizing it again changes nothing.

    >>> canonicalize("  The\u00a0\ufb01ne  NA\u00ad\u00cfVE\x00Stra\u00dfe ")
    'the fine naïve strasse'

    Cost: linear; some 30 µs for 3.5 KB of ASCII, four times that for other text.
    """
    return " ".join(fold_characters(text).replace("\0", " ").split())


def fold_characters(text: str) -> str:
    """Canonical text but for its white space, which no token contains.

    Cost: linear in the text, a few rounds: the last one only sees that nothing changes any more.
    """
    if text.isascii():
        return text.lower()
    text = _without_invisible(text)
    while (folded := unicodedata.normalize("NFKC", text.casefold())) != text:
        text = folded
    return text


def is_invisible(character: str) -> bool:
    """Whether canonical text leaves this character out: a format character, or ignorable by default."""
    return ord(character) in _invisible_table()


def _without_invisible(text: str) -> str:
    """The text without invisible characters; neither of the foldings brings one in."""
    return text.translate(_invisible_table()) if _perhaps_invisible().search(text) else text


@functools.cache
def _invisible_table() -> dict[int, None]:
    """Code points to delete, for `str.translate`."""
    format_points = (point for point in _FORMAT_PLANES if unicodedata.category(chr(point)) == "Cf")
    ignorable = (range(first, last + 1) for first, last in _OTHER_IGNORABLE)
    return dict.fromkeys(itertools.chain(format_points, *ignorable))


@functools.cache
def _perhaps_invisible() -> re.Pattern[str]:
    """Matches an invisible character, or any outside the first plane: exact sets of those search slowly."""
    first_plane = "".join(chr(point) for point in _invisible_table() if point <= _FIRST_PLANE_END)
    return re.compile(f"[{re.escape(first_plane)}\U00010000-\U0010ffff]")
