"""Scan markup with compiled code: one pass over its bytes counts what makes a parser slow.

The scan follows the tokenizer of the HTML standard as far as counting needs: quotes, comments, and elements
whose content is no markup. `markup_stack.py` keeps a stack of the open elements.

A parser keeps consecutive text in one node as long as no element begins there. If the parser has stored
something else before it appends a piece, it copies the node: time and memory grow with the square of the
text. What it stores in between are attributes of tags that it ignores, comments after the end of the body,
and texts of cells, while text directly inside a table moves before the table.

A parser also keeps every name of an element or attribute in a table of fixed size, and walks through the open
elements at most tags: `names` and `steps`.

All compiled code of the scan is in this file, `markup_stack.py`, `markup_tokens.py` and `markup_names.py`.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from neardup_stream.text.markup_names import (
    ALONE,
    BREAK,
    DROPPED,
    ENDS_FOREIGN,
    ENDS_PARAGRAPH,
    FORM,
    FORMATTING,
    FOSTERING,
    ITEM,
    LINK,
    NEEDS_TABLE,
    OPTION,
    PARAGRAPH,
    PARAGRAPH_GROUP,
    PLAIN_TEXT,
    RAW,
    ROOTS,
    VOID,
    compiled,
    group_of,
    is_among,
    meaning_of,
)
from neardup_stream.text.markup_stack import (
    COLUMNS,
    OPEN,
    OPEN_FORMATTING,
    OPEN_LISTS,
    OPEN_TABLES,
    STACK_STATE,
    close,
    close_foreign,
    close_formatting,
    close_same_formatting,
    end_foreign,
    imply_end,
    innermost_meaning,
    is_foreign,
    open_element,
    open_formatting,
    take_out,
)
from neardup_stream.text.markup_tokens import attributes as attributes_of
from neardup_stream.text.markup_tokens import end_of_raw, keep_name, name, next_tag, slots_for

__all__ = ["COUNTS", "scan_markup"]

COUNTS = (
    "nodes",
    "depth",
    "attributes",
    "names",
    "formatting",
    "options",
    "steps",
    "indent_bytes",
    "copied_bytes",
)
"""The names of the counts, in the order of the result."""

_NODES, _DEPTH, _ATTRIBUTES, _NAMES, _FORMATTING, _OPTIONS, _STEPS, _INDENT, _COPIED = range(len(COUNTS))

_STATE = STACK_STATE + 4
_ROOT_ATTRIBUTES, _TEXT, _FOSTERED, _IS_AFTER_BODY = range(STACK_STATE, _STATE)

_INDENT_BYTES = 2  # of each enclosing list, before the text of an item


@compiled
def _end(
    code: int,
    meaning: int,
    stack: NDArray[np.int64],
    names: NDArray[np.int64],
    looks: NDArray[np.int64],
    state: NDArray[np.int64],
) -> None:
    """Process an end tag."""
    if is_foreign(stack, state) and close_foreign(stack, state, code):
        return
    if is_among(meaning, FORMATTING):
        close_formatting(stack, names, looks, state, code)
    elif code == FORM:
        take_out(stack, state, code)
    else:
        close(stack, state, code, meaning)


@compiled
def _add_text(
    stack: NDArray[np.int64],
    state: NDArray[np.int64],
    counts: NDArray[np.int64],
    size: int,
    comments: int,
    has_text: bool,  # noqa: FBT001 - compiled functions take no keywords
) -> None:
    """Count text, or comments, before a tag that the parser copies."""
    if is_among(innermost_meaning(stack, state), FOSTERING):
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
    """End a text at a start tag that creates an element there, or count that the text is copied."""
    is_outside_tables = state[OPEN_TABLES] == 0
    if is_end or is_among(meaning, DROPPED) or (is_outside_tables and is_among(meaning, NEEDS_TABLE)):
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
    """Count an element that is neither formatting nor the root.

    Returns:
        The place after the tag, or after its content if that is raw.
    """
    is_inside_foreign = is_foreign(stack, state)
    if is_among(meaning, VOID) and not is_inside_foreign:
        return at
    counts[_NODES] += state[OPEN_FORMATTING]  # because the parser may repeat these inside
    counts[_OPTIONS] += code == OPTION
    if code == ITEM:
        counts[_INDENT] += state[OPEN_LISTS] * _INDENT_BYTES
    if is_inside_foreign:
        if not closes_itself:
            open_element(stack, state, code, meaning)
        return at
    if is_among(meaning, RAW):
        return end_of_raw(utf8, at, code)
    group = PARAGRAPH_GROUP if is_among(meaning, ENDS_PARAGRAPH) else group_of(meaning)
    if group >= 0:
        imply_end(stack, state, group, meaning)
    open_element(stack, state, code, meaning)
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
    stack = np.empty((min(limits[_DEPTH], utf8.size) + 1, COLUMNS), np.int64)
    names = np.empty(min(limits[_FORMATTING], utf8.size) + 1, np.int64)
    looks = np.empty_like(names)
    kept = np.zeros(slots_for(min(limits[_NAMES], utf8.size)) + 1, np.int64)
    state = np.zeros(_STATE, np.int64)
    counts[:] = 0
    behind = 0
    while True:
        at, comments, has_text = next_tag(utf8, behind, is_foreign(stack, state))
        _add_text(stack, state, counts, at - behind - 1, comments, has_text)
        if at >= utf8.size:
            return
        is_end = utf8[at] == 47
        at, code = name(utf8, at + is_end)
        keep_name(kept, code)
        behind, attributes, look, closes_itself = attributes_of(utf8, at, kept)
        meaning = meaning_of(code)
        is_root = is_among(meaning, ROOTS)
        state[_IS_AFTER_BODY] = is_end and is_root
        _divide_text(state, counts, meaning, is_end, attributes)
        counts[_STEPS] += state[OPEN]
        if is_end:
            _end(code, meaning, stack, names, looks, state)
            counts[_NODES] += code in (BREAK, PARAGRAPH)  # creates an element if none is open
        else:
            if is_among(meaning, ENDS_FOREIGN):
                end_foreign(stack, state)
            if code == PLAIN_TEXT and not is_foreign(stack, state):
                return
            counts[_NODES] += 1 + attributes
            if is_root:  # attributes of all root tags accumulate on one element
                state[_ROOT_ATTRIBUTES] += attributes
                attributes = state[_ROOT_ATTRIBUTES]
            elif is_among(meaning, FORMATTING) and not (code == LINK and is_foreign(stack, state)):
                if is_among(meaning, ALONE):
                    close_same_formatting(stack, names, looks, state, code)
                open_formatting(names, looks, state, code, look)
                open_element(stack, state, code, meaning)
            else:
                behind = _start(utf8, behind, code, meaning, closes_itself, stack, state, counts)
            counts[_ATTRIBUTES] = max(counts[_ATTRIBUTES], attributes)
        counts[_DEPTH] = max(counts[_DEPTH], state[OPEN])
        counts[_NAMES] = kept[-1]
        counts[_FORMATTING] = max(counts[_FORMATTING], state[OPEN_FORMATTING])
        if _is_over(counts, limits):
            return
