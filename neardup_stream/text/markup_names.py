"""Map element names to numbers and to what they mean for the scan of markup."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = [
    "ALONE",
    "ANNOTATION",
    "BREAK",
    "BUTTON",
    "DROPPED",
    "ENDS_FOREIGN",
    "ENDS_PARAGRAPH",
    "FOREIGN",
    "FORM",
    "FORMATTING",
    "FOSTERING",
    "HEADINGS",
    "HTML_IN_MATHML",
    "HTML_IN_SVG",
    "ITEM",
    "LINK",
    "LISTS",
    "MARKERS",
    "MASK",
    "MATH",
    "MULTIPLIER",
    "NEEDS_TABLE",
    "OPTION",
    "OPTION_GROUP",
    "PARAGRAPH",
    "PARAGRAPH_GROUP",
    "PLAIN_TEXT",
    "RAW",
    "ROOTS",
    "SELECTS",
    "SPECIAL",
    "TABLES",
    "TRANSPARENT",
    "VOID",
    "compiled",
    "group_of",
    "is_among",
    "meaning_of",
]

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

MULTIPLIER = 1099511628211
MASK = (1 << 62) - 1


def _code(name: str) -> int:
    """Return the number of a name."""
    code = 0
    for byte in name.encode():
        code = (code * MULTIPLIER + byte) & MASK
    return code


VOID, ENDS_PARAGRAPH, SPECIAL, FORMATTING, RAW, LISTS, ROOTS, ALONE, FOREIGN = (1 << bit for bit in range(9))
TABLES, FOSTERING, DROPPED, NEEDS_TABLE, HTML_IN_SVG, ENDS_FOREIGN = (1 << bit for bit in range(9, 15))
MARKERS, SELECTS, HEADINGS, TRANSPARENT, HTML_IN_MATHML = (1 << bit for bit in range(15, 20))
_KINDS = {
    VOID: "area base br col embed hr img input link meta param source track wbr keygen frame",
    ENDS_PARAGRAPH: (
        "address article aside blockquote center details dialog dir div dl fieldset figure footer form h1 h2"
        " h3 h4 h5 h6 header hgroup hr main menu nav ol pre section summary table ul"
    ),
    SPECIAL: (
        "address applet article aside blockquote button caption center col colgroup dd details dialog dir div"
        " dl dt fieldset figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 head header hgroup iframe"
        " li listing main marquee menu nav noembed noframes noscript object ol p plaintext pre script search"
        " section select style summary table tbody td template textarea tfoot th thead title tr ul xmp"
    ),
    FORMATTING: "a b big code em font i nobr s small strike strong tt u",
    RAW: "script style textarea title xmp iframe noembed noframes",
    LISTS: "ul ol menu dir",
    ROOTS: "html body",
    ALONE: "a nobr",
    FOREIGN: "svg math",
    TABLES: "table",
    FOSTERING: "table tbody thead tfoot tr",
    DROPPED: (
        "html head body frameset frame form base basefont bgsound link meta noframes script style template"
        " title"
    ),
    NEEDS_TABLE: "caption col colgroup tbody td tfoot th thead tr",
    HTML_IN_SVG: "foreignobject desc title",
    HTML_IN_MATHML: "mi mo mn ms mtext",
    MARKERS: "applet caption marquee object td template th",
    SELECTS: "select",
    HEADINGS: "h1 h2 h3 h4 h5 h6",
    TRANSPARENT: "address div p",
    ENDS_FOREIGN: (
        "b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li"
        " listing menu meta nobr ol p pre ruby s small span strong strike sub sup table tt u ul var"
    ),
}
"""Special: an end tag of another kind does not close anything around it. Alone: one of these closes the
previous one. Fostering: text directly inside moves before the table. Dropped: the parser may ignore the
tag, or move the element, so that the text around it is one text. Needs table: ignored outside tables.
HTML in SVG, HTML in MathML: elements of these that contain HTML. Ends foreign: closes SVG and MathML
around it. Markers: end tags inside do not close elements outside, and formatting does not cross them.
Transparent: an item in one of these ends the item around it.
"""
GROUPS = (
    "p", "li", "dd dt", "td th", "tr", "tbody thead tfoot", "caption", "colgroup", "option",
)  # fmt: skip
"""Elements that are often left open: one of a group ends the previous one of that group."""
PARAGRAPH_GROUP, OPTION_GROUP = GROUPS.index("p"), GROUPS.index("option")
ITEM, OPTION, BREAK, PARAGRAPH = _code("li"), _code("option"), _code("br"), _code("p")
PLAIN_TEXT, FORM, LINK, BUTTON, ANNOTATION, MATH = (
    _code(name) for name in ("plaintext", "form", "a", "button", "annotation-xml", "math")
)

_GROUP_SHIFT = 24
_SLOTS = 1024
"""Slots of a hash table with open addressing, sparse enough that most lookups probe one slot."""


def _meanings() -> dict[int, int]:
    """Return the kinds of every name, and in the higher bits the number of its group, from 1."""
    meanings: dict[int, int] = {}
    for kind, names in _KINDS.items():
        for name in names.split():
            meanings[_code(name)] = meanings.get(_code(name), 0) | kind
    for number, group in enumerate(GROUPS, start=1):
        for name in group.split():
            meanings[_code(name)] = meanings.get(_code(name), 0) | number << _GROUP_SHIFT
    return meanings


def _slots() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    names, meanings = np.zeros(_SLOTS, np.int64), np.zeros(_SLOTS, np.int64)
    for code, meaning in _meanings().items():
        slot = code % _SLOTS
        while names[slot]:
            slot = (slot + 1) % _SLOTS
        names[slot], meanings[slot] = code, meaning
    return names, meanings


_NAMES, _MEANINGS = _slots()
_LAST_SLOT, _ONE = np.uint64(_SLOTS - 1), np.uint64(1)


def compiled(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Compile a function that compiled functions call."""
    return cast("Callable[_Arguments, _Result]", njit(function, forceinline=True))


@compiled
def meaning_of(code: int) -> int:
    """Return the meaning of a name: its kinds, one bit each, and its group."""
    slot = np.uint64(code) & _LAST_SLOT
    while _NAMES[slot] != code:
        if _NAMES[slot] == 0:
            return 0
        slot = (slot + _ONE) & _LAST_SLOT
    return int(_MEANINGS[slot])


@compiled
def is_among(meaning: int, kind: int) -> bool:
    """Return whether a name has this kind."""
    return (meaning & kind) != 0


@compiled
def group_of(meaning: int) -> int:
    """Return the group of an element that is often left open; -1 for others."""
    return (meaning >> _GROUP_SHIFT) - 1
