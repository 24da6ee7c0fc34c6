"""The compiled scan of markup: one pass over its bytes counts what makes a parser slow.

It follows the tokenizer of the HTML standard as far as counting needs: quotes, comments, and elements whose
content is no markup. Which elements are open is kept on a stack, which is cut at an element when its end tag
comes, or a start tag that implies it.

A parser keeps text in one node as long as no element begins where the text stands. When it has stored
something else before it adds a piece, it copies the node: time and memory grow with the square of the text.
What it stores in between are attributes of tags that it ignores, comments behind the end of the body, and
texts of cells, while text directly inside a table goes in front of the table.

All compiled code of the scan is in this file, `markup_tokens.py` and `markup_names.py`.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from neardup_stream.text.markup_names import (
    ALONE,
    BARRIERS,
    BREAK,
    DROPPED,
    DROPPED_OUTSIDE_TABLES,
    ENDS_FOREIGN,
    ENDS_PARAGRAPH,
    FOREIGN,
    FORMATTING,
    FOSTERING,
    INTEGRATION,
    ITEM,
    LISTS,
    OPTION,
    PARAGRAPH,
    PARAGRAPH_GROUP,
    PLAIN_TEXT,
    RAW,
    ROOTS,
    TABLES,
    VOID,
    compiled,
    group_of,
    is_among,
    meaning_of,
)
from neardup_stream.text.markup_tokens import attributes as attributes_of
from neardup_stream.text.markup_tokens import end_of_raw, name, next_tag

__all__ = ["COUNTS", "scan_markup"]

COUNTS = ("nodes", "depth", "attributes", "formatting", "options", "indent_bytes", "copied_bytes")
"""What is counted, in the order of the result."""

_NODES, _DEPTH, _ATTRIBUTES, _FORMATTING, _OPTIONS, _INDENT, _COPIED = range(len(COUNTS))

_STATE = 9
(
    _OPEN,
    _OPEN_FORMATTING,
    _OPEN_LISTS,
    _OPEN_FOREIGN,
    _OPEN_TABLES,
    _ROOT_ATTRIBUTES,
    _TEXT,
    _FOSTERED,
    _IS_AFTER_BODY,
) = range(_STATE)

_NAME, _MEANING, _IS_FOREIGN = range(
    _COLUMNS := 3
)  # of an open element; whether what is inside is SVG or MathML

_SAME_FORMATTING = 3  # open elements of one name and the same attributes, parsers repeat no more of them
_INDENT_BYTES = 2  # of each list around an item, in front of its text


@compiled
def _close_formatting(
    names: NDArray[np.int64], looks: NDArray[np.int64], state: NDArray[np.int64], code: int
) -> None:
    """Close the latest formatting element of this name."""
    count = state[_OPEN_FORMATTING]
    at = count - 1
    while at >= 0 and names[at] != code:
        at -= 1
    if at >= 0:
        for i in range(at, count - 1):
            names[i], looks[i] = names[i + 1], looks[i + 1]
        state[_OPEN_FORMATTING] = count - 1


@compiled
def _open_formatting(
    names: NDArray[np.int64], looks: NDArray[np.int64], state: NDArray[np.int64], code: int, look: int
) -> None:
    count = state[_OPEN_FORMATTING]
    same = 0
    for i in range(count):
        same += names[i] == code and looks[i] == look
    if same < _SAME_FORMATTING and count < names.size:
        names[count], looks[count] = code, look
        state[_OPEN_FORMATTING] = count + 1


@compiled
def _cut(stack: NDArray[np.int64], state: NDArray[np.int64], at: int) -> None:
    """Close the element at this place, with all inside it."""
    for i in range(at, state[_OPEN]):
        state[_OPEN_LISTS] -= is_among(stack[i, _MEANING], LISTS)
        state[_OPEN_FOREIGN] -= is_among(stack[i, _MEANING], FOREIGN)
        state[_OPEN_TABLES] -= is_among(stack[i, _MEANING], TABLES)
    state[_OPEN] = at


@compiled
def _innermost(stack: NDArray[np.int64], state: NDArray[np.int64], code: int) -> int:
    """The place of the innermost element of this name; -1 where none is open."""
    at = state[_OPEN] - 1
    while at >= 0 and stack[at, _NAME] != code:
        at -= 1
    return int(at)


@compiled
def _close(stack: NDArray[np.int64], state: NDArray[np.int64], code: int) -> None:
    """Close the innermost element of this name, with all inside it."""
    at = _innermost(stack, state, code)
    if at >= 0:
        _cut(stack, state, at)


@compiled
def _take_out(stack: NDArray[np.int64], state: NDArray[np.int64], code: int) -> None:
    """Close the innermost element of this name, and leave open what is inside it."""
    at = _innermost(stack, state, code)
    if at >= 0:
        for i in range(at, state[_OPEN] - 1):
            stack[i] = stack[i + 1]
        state[_OPEN] -= 1


@compiled
def _end(
    code: int,
    meaning: int,
    stack: NDArray[np.int64],
    names: NDArray[np.int64],
    looks: NDArray[np.int64],
    state: NDArray[np.int64],
) -> None:
    """Do what an end tag does."""
    if is_among(meaning, FORMATTING):
        _close_formatting(names, looks, state, code)
        _take_out(stack, state, code)
    else:
        _close(stack, state, code)


@compiled
def _imply_end(stack: NDArray[np.int64], state: NDArray[np.int64], group: int) -> None:
    """Close the innermost element of this group, with all inside it, up to a barrier."""
    at = state[_OPEN] - 1
    while at >= 0 and not is_among(stack[at, _MEANING], BARRIERS):
        if group_of(stack[at, _MEANING]) == group:
            state[_OPEN] = at  # what is cut holds no list and no table: those are barriers
            return
        at -= 1


@compiled
def _open(stack: NDArray[np.int64], state: NDArray[np.int64], code: int, meaning: int) -> None:
    depth = state[_OPEN]
    if depth < len(stack):
        stays_foreign = _is_foreign(stack, state) and not is_among(meaning, INTEGRATION)
        stack[depth, _NAME], stack[depth, _MEANING] = code, meaning
        stack[depth, _IS_FOREIGN] = stays_foreign or is_among(meaning, FOREIGN)
        state[_OPEN] = depth + 1
        state[_OPEN_LISTS] += is_among(meaning, LISTS)
        state[_OPEN_FOREIGN] += is_among(meaning, FOREIGN)
        state[_OPEN_TABLES] += is_among(meaning, TABLES)


@compiled
def _is_foreign(stack: NDArray[np.int64], state: NDArray[np.int64]) -> bool:
    """Whether markup that comes now is SVG or MathML."""
    return bool(state[_OPEN_FOREIGN] > 0 and stack[state[_OPEN] - 1, _IS_FOREIGN] != 0)


@compiled
def _end_foreign(stack: NDArray[np.int64], state: NDArray[np.int64]) -> None:
    """Close SVG and MathML up to where markup is HTML."""
    while _is_foreign(stack, state):
        _cut(stack, state, state[_OPEN] - 1)


@compiled
def _add_text(
    stack: NDArray[np.int64],
    state: NDArray[np.int64],
    counts: NDArray[np.int64],
    size: int,
    comments: int,
    has_text: bool,  # noqa: FBT001 - compiled functions take no keywords
) -> None:
    """Count what is copied for text, or comments, in front of a tag."""
    depth = state[_OPEN]
    if depth > 0 and is_among(stack[depth - 1, _MEANING], FOSTERING):
        if has_text:
            state[_FOSTERED] += size
            counts[_COPIED] += (1 + comments) * state[_FOSTERED]
        return
    state[_TEXT] += size
    if state[_IS_AFTER_BODY]:
        counts[_COPIED] += comments * state[_TEXT]


@compiled
def _divide_text(
    state: NDArray[np.int64],
    counts: NDArray[np.int64],
    meaning: int,
    is_end: bool,  # noqa: FBT001 - compiled functions take no keywords
    attributes: int,
) -> None:
    """End a text at a start tag that makes an element there, or count that the text is copied."""
    is_outside_tables = state[_OPEN_TABLES] == 0
    if (
        is_end
        or is_among(meaning, DROPPED)
        or (is_outside_tables and is_among(meaning, DROPPED_OUTSIDE_TABLES))
    ):
        counts[_COPIED] += (attributes > 0) * state[_TEXT]
    else:
        state[_TEXT] = 0


@compiled
def _start(
    utf8: NDArray[np.uint8],
    at: int,
    code: int,
    meaning: int,
    closes_itself: bool,  # noqa: FBT001 - compiled functions take no keywords
    stack: NDArray[np.int64],
    state: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> int:
    """Count an element that is neither formatting nor the root; behind it, or its content if that is raw."""
    if is_among(meaning, VOID):
        return at
    counts[_NODES] += state[_OPEN_FORMATTING]  # which the parser may repeat inside
    counts[_OPTIONS] += code == OPTION
    if code == ITEM:
        counts[_INDENT] += state[_OPEN_LISTS] * _INDENT_BYTES
    is_foreign = _is_foreign(stack, state)
    if is_among(meaning, RAW) and not is_foreign:
        return end_of_raw(utf8, at, code)
    group = PARAGRAPH_GROUP if is_among(meaning, ENDS_PARAGRAPH) else group_of(meaning)
    if group >= 0:
        _imply_end(stack, state, group)
    if not (closes_itself and is_foreign):
        _open(stack, state, code, meaning)
    return at


@compiled
def _is_over(counts: NDArray[np.int64], limits: NDArray[np.int64]) -> bool:
    for i in range(counts.size):  # noqa: SIM110 - compiled, it is a plain loop
        if counts[i] > limits[i]:
            return True
    return False


@njit("void(Array(uint8, 1, 'C', readonly=True), int64[::1], int64[::1])", nogil=True, cache=True)
def scan_markup(utf8: NDArray[np.uint8], limits: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
    """Count into `counts`, in the order of COUNTS, and stop where a count exceeds its limit.

    Cost: 1 to 3 ns a byte, and at most a limit's worth of steps for each tag. Releases the GIL.
    """
    stack = np.empty((min(limits[_DEPTH], utf8.size) + 1, _COLUMNS), np.int64)
    names = np.empty(min(limits[_FORMATTING], utf8.size) + 1, np.int64)
    looks = np.empty_like(names)
    state = np.zeros(_STATE, np.int64)
    counts[:] = 0
    behind = 0
    while True:
        at, comments, has_text = next_tag(utf8, behind, _is_foreign(stack, state))
        _add_text(stack, state, counts, at - behind - 1, comments, has_text)
        if at >= utf8.size:
            return
        is_end = utf8[at] == 47
        at, code = name(utf8, at + is_end)
        behind, attributes, look, closes_itself = attributes_of(utf8, at)
        meaning = meaning_of(code)
        is_root = is_among(meaning, ROOTS)
        state[_IS_AFTER_BODY] = is_end and is_root
        _divide_text(state, counts, meaning, is_end, attributes)
        if is_end:
            _end(code, meaning, stack, names, looks, state)
            counts[_NODES] += code in (BREAK, PARAGRAPH)  # makes an element where none is open
        else:
            if is_among(meaning, ENDS_FOREIGN):
                _end_foreign(stack, state)
            if code == PLAIN_TEXT and not _is_foreign(stack, state):
                return
            counts[_NODES] += 1 + attributes
            if is_root:  # all such attributes gather on one element
                state[_ROOT_ATTRIBUTES] += attributes
                attributes = state[_ROOT_ATTRIBUTES]
            elif is_among(meaning, FORMATTING):
                if is_among(meaning, ALONE):
                    _end(code, meaning, stack, names, looks, state)
                _open_formatting(names, looks, state, code, look)
                _open(stack, state, code, meaning)
            else:
                behind = _start(utf8, behind, code, meaning, closes_itself, stack, state, counts)
            counts[_ATTRIBUTES] = max(counts[_ATTRIBUTES], attributes)
        counts[_DEPTH] = max(counts[_DEPTH], state[_OPEN])
        counts[_FORMATTING] = max(counts[_FORMATTING], state[_OPEN_FORMATTING])
        if _is_over(counts, limits):
            return
