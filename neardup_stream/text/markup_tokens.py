"""Find where tags, comments and attributes of markup begin and end, by the HTML standard."""

import numpy as np
from numpy.typing import NDArray

from neardup_stream.text.markup_names import MASK, MULTIPLIER, compiled

__all__ = ["attributes", "end_of_raw", "keep_name", "name", "next_tag", "slots_for"]

_CDATA = np.frombuffer(b"<![CDATA[", np.uint8).copy()


@compiled
def _is_space(byte: int) -> bool:
    return byte in (32, 10, 9, 13, 12)


@compiled
def _lower(byte: int) -> int:
    return byte + 32 if 65 <= byte <= 90 else byte


@compiled
def _is_letter(byte: int) -> bool:
    return 97 <= _lower(byte) <= 122


@compiled
def _behind_comment(utf8: NDArray[np.uint8], at: int) -> int:
    """Return the place after a comment whose text begins at `at`.

    A comment ends at `-->` or `--!>`, or at once at `>` or `->`.
    """
    if at < utf8.size and utf8[at] == 62:
        return at + 1
    if at + 1 < utf8.size and utf8[at] == 45 and utf8[at + 1] == 62:
        return at + 2
    while at + 2 < utf8.size:
        if utf8[at] == 45 and utf8[at + 1] == 45:
            if utf8[at + 2] == 62:
                return at + 3
            if utf8[at + 2] == 33 and at + 3 < utf8.size and utf8[at + 3] == 62:
                return at + 4
        at += 1
    return utf8.size


@compiled
def _behind_cdata(utf8: NDArray[np.uint8], at: int) -> int:
    """Return the place after the `]]>` that ends a CDATA section."""
    while at + 2 < utf8.size:
        if utf8[at] == 93 and utf8[at + 1] == 93 and utf8[at + 2] == 62:
            return at + 3
        at += 1
    return utf8.size


@compiled
def _begins_cdata(utf8: NDArray[np.uint8], at: int) -> bool:
    if at + _CDATA.size > utf8.size:
        return False
    for i in range(_CDATA.size):  # noqa: SIM110 - compiled, it is a plain loop
        if utf8[at + i] != _CDATA[i]:
            return False
    return True


@compiled
def _behind(utf8: NDArray[np.uint8], at: int, byte: int) -> int:
    while at < utf8.size and utf8[at] != byte:
        at += 1
    return at + 1


@compiled
def end_of_raw(utf8: NDArray[np.uint8], at: int, code: int) -> int:
    """Return the place of the end tag of an element whose content is no markup."""
    while at + 1 < utf8.size:
        if utf8[at] == 60 and utf8[at + 1] == 47:
            end, found = name(utf8, at + 2)
            if found == code:
                return at
            at = end
        else:
            at += 1
    return utf8.size


@compiled
def name(utf8: NDArray[np.uint8], at: int) -> tuple[int, int]:
    """Return the place after a tag's name, and the code of the name."""
    code = 0
    while at < utf8.size:
        byte = utf8[at]
        if _is_space(byte) or byte in (47, 62):
            break
        code = (code * MULTIPLIER + _lower(byte)) & MASK
        at += 1
    return at, code


@compiled
def slots_for(most: int) -> int:
    """Return how many slots `keep_name` needs for one name more than `most`: a power of two."""
    slots = 4
    while slots < 2 * (most + 2):
        slots *= 2
    return slots


@compiled
def keep_name(kept: NDArray[np.int64], code: int) -> None:
    """Add a name to the hash table `kept`, whose last slot counts them; a full table stays unchanged."""
    slots = kept.size - 1
    if 2 * kept[slots] >= slots:
        return
    slot = ((code >> 23) ^ code) & (slots - 1)
    while kept[slot] != 0:
        if kept[slot] == code:
            return
        slot = (slot + 1) & (slots - 1)
    kept[slot] = code
    kept[slots] += 1


@compiled
def _value(utf8: NDArray[np.uint8], at: int) -> tuple[int, int]:
    """Return the place after an attribute's value, and a hash of the value."""
    while at < utf8.size and _is_space(utf8[at]):
        at += 1
    code = 0
    if at < utf8.size and utf8[at] in (34, 39):
        quote = utf8[at]
        at += 1
        while at < utf8.size and utf8[at] != quote:
            code = (code * MULTIPLIER + utf8[at]) & MASK
            at += 1
        return at + 1, code
    while at < utf8.size and not _is_space(utf8[at]) and utf8[at] != 62:
        code = (code * MULTIPLIER + utf8[at]) & MASK
        at += 1
    return at, code


@compiled
def attributes(utf8: NDArray[np.uint8], at: int, kept: NDArray[np.int64]) -> tuple[int, int, int, bool]:
    """Parse the attributes of a tag and add their names to `kept`.

    Returns:
        The place after the tag, the number of attributes, a hash of them, and whether the tag closes itself.
    """
    count, code, closes = 0, 0, False
    while at < utf8.size:
        byte = utf8[at]
        if byte == 62:
            return at + 1, count, code, closes
        if _is_space(byte) or byte == 47:
            closes = byte == 47
            at += 1
            continue
        closes = False
        count += 1
        named = _lower(byte) + 1
        at += 1  # the first character belongs to the name, even a `=`
        while at < utf8.size and not _is_space(utf8[at]) and utf8[at] not in (47, 61, 62):
            named = (named * MULTIPLIER + _lower(utf8[at])) & MASK
            at += 1
        keep_name(kept, named)
        code = (code * MULTIPLIER + named) & MASK
        behind = at
        while behind < utf8.size and _is_space(utf8[behind]):
            behind += 1
        if behind < utf8.size and utf8[behind] == 61:
            at, value = _value(utf8, behind + 1)
            code = (code * MULTIPLIER + value) & MASK
    return utf8.size, count, code, closes


@compiled
def next_tag(utf8: NDArray[np.uint8], at: int, is_foreign: bool) -> tuple[int, int, bool]:  # noqa: FBT001 - compiled functions take no keywords
    """Find the next tag.

    Declarations and other ignored constructs count as comments. Text that only looks like a tag is text, and
    so is a CDATA section, which only `is_foreign` markup has.

    Returns:
        The place after the `<` of the tag, the number of comments before it, and whether text precedes it.
    """
    comments, has_text = 0, False
    while at + 1 < utf8.size:
        if utf8[at] != 60:
            has_text = has_text or not _is_space(utf8[at])
            at += 1
            continue
        byte = utf8[at + 1]
        if byte == 33:
            if is_foreign and _begins_cdata(utf8, at):
                at, has_text = _behind_cdata(utf8, at), True
                continue
            comments += 1
            is_comment = at + 3 < utf8.size and utf8[at + 2] == 45 and utf8[at + 3] == 45
            at = _behind_comment(utf8, at + 4) if is_comment else _behind(utf8, at, 62)
        elif byte == 63 or (byte == 47 and at + 2 < utf8.size and not _is_letter(utf8[at + 2])):
            comments += 1
            at = _behind(utf8, at, 62)
        elif _is_letter(byte) or byte == 47:
            return at + 1, comments, has_text
        else:
            at, has_text = at + 1, True
    return utf8.size, comments, has_text
