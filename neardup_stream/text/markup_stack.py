"""Track which elements are open while markup is scanned, by the rules of the HTML standard: compiled code.

An end tag inside a cell, an object or a template closes nothing outside it, and most end tags inside a block
close nothing outside the block. A list item ends the previous item, but not across a block. The scan must not
treat an element as closed that the parser keeps open, because it would not be counted. Open formatting
elements matter most: a parser repeats them in every block.
"""

import numpy as np
from numpy.typing import NDArray

from neardup_stream.text.markup_names import (
    ANNOTATION,
    BUTTON,
    FOREIGN,
    HEADINGS,
    HTML_IN_MATHML,
    HTML_IN_SVG,
    ITEM,
    LINK,
    LISTS,
    MARKERS,
    MATH,
    NEEDS_TABLE,
    OPTION_GROUP,
    PARAGRAPH_GROUP,
    SELECTS,
    SPECIAL,
    TABLES,
    TRANSPARENT,
    compiled,
    group_of,
    is_among,
)

__all__ = [
    "COLUMNS",
    "OPEN",
    "OPEN_FORMATTING",
    "OPEN_LISTS",
    "OPEN_TABLES",
    "STACK_STATE",
    "close",
    "close_foreign",
    "close_formatting",
    "close_same_formatting",
    "cut",
    "end_foreign",
    "imply_end",
    "innermost_meaning",
    "is_foreign",
    "open_element",
    "open_formatting",
    "take_out",
]

_NAME_SLOTS = 1024
STACK_STATE = 7 + _NAME_SLOTS
OPEN, OPEN_FORMATTING, OPEN_LISTS, _OPEN_FOREIGN, OPEN_TABLES, _OPEN_SELECTS, _FLOOR, _OPEN_NAMES = range(8)
"""The last is the first slot of those that count open elements by name; different names may share a slot."""

_NAME, _MEANING, _CONTENT, _OUTER_FLOOR = range(COLUMNS := 4)
"""The columns of an open element: its name; its meaning; what its content is; and the index of the first
formatting element that can be closed inside the element around it.
"""

_HTML, _SVG, _MATHML = range(3)

_SAME_FORMATTING = 3  # open elements of one name with the same attributes that a parser repeats at most


@compiled
def _slot_of(code: int) -> int:
    """Return where the open elements of this name are counted."""
    return _OPEN_NAMES + (code & (_NAME_SLOTS - 1))


@compiled
def is_foreign(stack: NDArray[np.int64], state: NDArray[np.int64]) -> bool:
    """Return whether markup at this point is SVG or MathML."""
    return bool(state[_OPEN_FOREIGN] > 0 and stack[state[OPEN] - 1, _CONTENT] != _HTML)


@compiled
def innermost_meaning(stack: NDArray[np.int64], state: NDArray[np.int64]) -> int:
    """Return the meaning of the innermost open element; 0 if none is open."""
    return int(stack[state[OPEN] - 1, _MEANING]) if state[OPEN] > 0 else 0


@compiled
def open_element(stack: NDArray[np.int64], state: NDArray[np.int64], code: int, meaning: int) -> None:
    """Open an element inside all others; ignores one of HTML that needs a table if there is none.

    An element of SVG or MathML has no meaning but what matters there, whatever HTML has of that name.
    """
    depth = state[OPEN]
    around = stack[depth - 1, _CONTENT] if depth > 0 else _HTML
    if around != _HTML:
        meaning &= FOREIGN | HTML_IN_SVG | HTML_IN_MATHML
    if depth < len(stack) and (state[OPEN_TABLES] > 0 or not is_among(meaning, NEEDS_TABLE)):
        stack[depth, _NAME], stack[depth, _MEANING] = code, meaning
        stack[depth, _CONTENT] = _content_of(around, code, meaning)
        stack[depth, _OUTER_FLOOR] = state[_FLOOR]
        state[OPEN] = depth + 1
        state[_slot_of(code)] += 1
        state[OPEN_LISTS] += is_among(meaning, LISTS)
        state[_OPEN_FOREIGN] += is_among(meaning, FOREIGN)
        state[OPEN_TABLES] += is_among(meaning, TABLES)
        state[_OPEN_SELECTS] += is_among(meaning, SELECTS)
        if is_among(meaning, MARKERS):
            state[_FLOOR] = state[OPEN_FORMATTING]


@compiled
def _content_of(around: int, code: int, meaning: int) -> int:
    """Return what the content of an element is that opens in HTML, SVG or MathML."""
    if around == _HTML:
        if not is_among(meaning, FOREIGN):
            return _HTML
        return _MATHML if code == MATH else _SVG
    return _HTML if _contains_html(around, meaning) else around


@compiled
def _contains_html(around: int, meaning: int) -> bool:
    """Return whether an element of SVG or MathML contains HTML."""
    return is_among(meaning, HTML_IN_SVG if around == _SVG else HTML_IN_MATHML)


@compiled
def cut(stack: NDArray[np.int64], state: NDArray[np.int64], at: int) -> None:
    """Close the element at this index and everything inside it."""
    for i in range(state[OPEN] - 1, at - 1, -1):
        meaning = stack[i, _MEANING]
        state[_slot_of(stack[i, _NAME])] -= 1
        state[OPEN_LISTS] -= is_among(meaning, LISTS)
        state[_OPEN_FOREIGN] -= is_among(meaning, FOREIGN)
        state[OPEN_TABLES] -= is_among(meaning, TABLES)
        state[_OPEN_SELECTS] -= is_among(meaning, SELECTS)
        if is_among(meaning, MARKERS):
            state[OPEN_FORMATTING] = state[_FLOOR]
            state[_FLOOR] = stack[i, _OUTER_FLOOR]
    state[OPEN] = at


@compiled
def _is_boundary(stack: NDArray[np.int64], at: int) -> bool:
    """Return whether end tags inside the element at this index close nothing outside it."""
    meaning = stack[at, _MEANING]
    if at > 0 and stack[at - 1, _CONTENT] != _HTML:
        return _contains_html(stack[at - 1, _CONTENT], meaning) or stack[at, _NAME] == ANNOTATION
    return is_among(meaning, MARKERS | TABLES)


@compiled
def _stops(stack: NDArray[np.int64], at: int, code: int, meaning: int) -> bool:
    """Return whether the search for the element that an end tag closes stops at this index."""
    around = stack[at, _MEANING]
    if is_among(meaning, SELECTS):
        return False
    if is_among(meaning, TABLES | NEEDS_TABLE):
        return is_among(around, TABLES)
    if _is_boundary(stack, at) or (code == ITEM and is_among(around, LISTS)):
        return True
    is_html = at == 0 or stack[at - 1, _CONTENT] == _HTML
    return is_html and is_among(around, SPECIAL) and not is_among(meaning, SPECIAL)


@compiled
def close(stack: NDArray[np.int64], state: NDArray[np.int64], code: int, meaning: int) -> None:
    """Close the element that an end tag of this name closes, and everything inside it."""
    if state[_slot_of(code)] == 0 and not is_among(meaning, HEADINGS):
        return
    at = state[OPEN] - 1
    while at >= 0:
        is_heading = is_among(meaning, HEADINGS) and is_among(stack[at, _MEANING], HEADINGS)
        if stack[at, _NAME] == code or is_heading:
            cut(stack, state, at)
            return
        if _stops(stack, at, code, meaning):
            return
        at -= 1


@compiled
def close_foreign(stack: NDArray[np.int64], state: NDArray[np.int64], code: int) -> bool:
    """Close the element of SVG or MathML that an end tag closes there; return whether there is one."""
    at = state[OPEN] - 1
    while at >= 0:
        is_root = is_among(stack[at, _MEANING], FOREIGN)
        if not is_root and (at == 0 or stack[at - 1, _CONTENT] == _HTML):
            return False
        if stack[at, _NAME] == code:
            cut(stack, state, at)
            return True
        at -= 1
    return False


@compiled
def _remove(stack: NDArray[np.int64], state: NDArray[np.int64], at: int) -> None:
    """Close the element at this index, a form or formatting, and keep what is inside open."""
    state[_slot_of(stack[at, _NAME])] -= 1
    for i in range(at, state[OPEN] - 1):
        stack[i] = stack[i + 1]
    state[OPEN] -= 1


@compiled
def take_out(stack: NDArray[np.int64], state: NDArray[np.int64], code: int) -> None:
    """Close the innermost element of this name, and keep what is inside open."""
    if state[_slot_of(code)] == 0:
        return
    at = state[OPEN] - 1
    while at >= 0 and stack[at, _NAME] != code and not _is_boundary(stack, at):
        at -= 1
    if at >= 0 and stack[at, _NAME] == code:
        _remove(stack, state, at)


@compiled
def _latest_formatting(names: NDArray[np.int64], state: NDArray[np.int64], code: int) -> int:
    """Return the index of the latest formatting element of this name that can be closed; -1 for none."""
    for at in range(state[OPEN_FORMATTING] - 1, state[_FLOOR] - 1, -1):
        if names[at] == code:
            return at
    return -1


@compiled
def _forget_formatting(
    names: NDArray[np.int64], looks: NDArray[np.int64], state: NDArray[np.int64], code: int
) -> bool:
    """Stop repeating the latest formatting element of this name; return whether there was one."""
    count = state[OPEN_FORMATTING]
    at = _latest_formatting(names, state, code)
    if at < 0:
        return False
    for i in range(at, count - 1):
        names[i], looks[i] = names[i + 1], looks[i + 1]
    state[OPEN_FORMATTING] = count - 1
    return True


@compiled
def close_formatting(
    stack: NDArray[np.int64],
    names: NDArray[np.int64],
    looks: NDArray[np.int64],
    state: NDArray[np.int64],
    code: int,
) -> None:
    """Close the latest formatting element of this name, unless there is a boundary in between."""
    if state[_slot_of(code)] == 0 and _latest_formatting(names, state, code) < 0:
        return
    at = state[OPEN] - 1
    while at >= 0 and stack[at, _NAME] != code:
        if _is_boundary(stack, at) or is_among(stack[at, _MEANING], SELECTS):
            return
        at -= 1
    _forget_formatting(names, looks, state, code)
    if at >= 0:
        _remove(stack, state, at)


@compiled
def _take_out_link(
    stack: NDArray[np.int64],
    names: NDArray[np.int64],
    looks: NDArray[np.int64],
    state: NDArray[np.int64],
    code: int,
) -> None:
    """Close the latest link, as the start of another link does; only markers prevent that."""
    if _forget_formatting(names, looks, state, code):
        at = state[OPEN] - 1
        while at >= 0 and stack[at, _NAME] != code:
            at -= 1
        if at >= 0:
            _remove(stack, state, at)


@compiled
def close_same_formatting(
    stack: NDArray[np.int64],
    names: NDArray[np.int64],
    looks: NDArray[np.int64],
    state: NDArray[np.int64],
    code: int,
) -> None:
    """Close the latest element of this name if a new one of that name ends it."""
    if code == LINK:
        _take_out_link(stack, names, looks, state, code)
    else:
        close_formatting(stack, names, looks, state, code)


@compiled
def open_formatting(
    names: NDArray[np.int64], looks: NDArray[np.int64], state: NDArray[np.int64], code: int, look: int
) -> None:
    """Mark a formatting element as repeated in every following block."""
    count = state[OPEN_FORMATTING]
    same = 0
    for i in range(state[_FLOOR], count):
        same += names[i] == code and looks[i] == look
    if same < _SAME_FORMATTING and count < names.size:
        names[count], looks[count] = code, look
        state[OPEN_FORMATTING] = count + 1


@compiled
def imply_end(stack: NDArray[np.int64], state: NDArray[np.int64], group: int, meaning: int) -> None:
    """Close the innermost element of this group, and everything inside it, if a start tag ends it."""
    if is_among(meaning, NEEDS_TABLE) and state[OPEN_TABLES] == 0:
        return
    at = state[OPEN] - 1
    while at >= 0:
        around = stack[at, _MEANING]
        if group_of(around) == group:
            cut(stack, state, at)
            return
        if is_among(meaning, NEEDS_TABLE):
            stops = is_among(around, TABLES)
        elif group == PARAGRAPH_GROUP:
            stops = _is_boundary(stack, at) or stack[at, _NAME] == BUTTON
        elif group == OPTION_GROUP and state[_OPEN_SELECTS] == 0:
            stops = True
        else:
            is_block = is_among(around, SPECIAL) and not is_among(around, TRANSPARENT)
            stops = is_block or _is_boundary(stack, at)
        if stops:
            return
        at -= 1


@compiled
def end_foreign(stack: NDArray[np.int64], state: NDArray[np.int64]) -> None:
    """Close SVG and MathML up to the nearest element that contains HTML."""
    while is_foreign(stack, state):
        cut(stack, state, state[OPEN] - 1)
