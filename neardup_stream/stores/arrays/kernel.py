"""The compiled half of `ArrayTables`: open hash tables whose groups are treaps (ranges) and lists (words).

    ranges   a group holds all members that one range can hold: same table, same prefix. A treap keeps them
             in the order of (suffix, handle, version byte); members that were removed stay, without life.
    words    a group holds all members with one word, the oldest first, in a linked list.

A group is found by 64 bits: of words they are the word itself, of ranges a hash. Two prefixes with one hash
would only give each other more members, and the distance filter drops what is far.

The three arrays of a hash table are columns of one array of records, so that a slot is one line of a cache.
"""

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

from neardup_stream.stores.arrays.kernel_groups import (
    enter_range,
    enter_word,
    read_range,
    read_word,
    sample_range,
)
from neardup_stream.stores.arrays.kernel_treap import (
    CAPPED,
    I32,
    NOTHING,
    ONE,
    U8,
    U64,
    UNUSED,
    WHOLE,
    Groups,
    Limits,
    Links,
    Members,
    Pages,
    compiled,
    find_member,
    mix,
)

__all__ = ["NOTHING", "UNUSED", "find_members", "insert_keys", "remove_members"]

_DEPTH = 64

_PAGES = "Tuple((uint64[::1], uint8[::1]))"
_GROUPS = "Tuple((uint64[:], int32[:], int32[:]))"
_MEMBERS = "Tuple((uint64[::1], int32[::1], int32[::1], int32[::1], uint8[::1]))"
_LINKS = "Tuple((int32[::1], int32[::1]))"
"""How Numba spells the types of `Pages`, `Groups`, `Members` and `Links`."""

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def _entry(*types: str) -> Callable[[Callable[_Arguments, _Result]], Callable[_Arguments, _Result]]:
    """Compile a function for arguments of these types, or load it, when the module is imported."""

    def compile_entry(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
        signature = f"({', '.join(types)})"
        return cast("Callable[_Arguments, _Result]", njit(signature, cache=True, nogil=True)(function))

    return compile_entry


@compiled
def _slot_of(keys: U64, heads: I32, key: np.uint64) -> int:
    """Where the key stands, or would stand: `heads` says which."""
    last = np.uint64(keys.size - 1)
    slot = mix(key) & last
    while heads[slot] != UNUSED and keys[slot] != key:
        slot = (slot + ONE) & last
    return int(slot)


@_entry("uint64[:]", "int32[:]", "int32[:]", _GROUPS)
def insert_keys(keys: U64, heads: I32, counts: I32, into: Groups) -> None:
    """Copy the groups of one hash table to a larger one, which is empty."""
    for slot in range(keys.size):
        if heads[slot] != UNUSED:
            place = _slot_of(into[0], into[1], keys[slot])
            into[0][place], into[1][place], into[2][place] = keys[slot], heads[slot], counts[slot]


@compiled
def _touch(keys: U64, are_words: U8, ranges: U64, words: U64) -> np.uint64:
    """Read the slots of all keys, none of which waits for another one; they are in the cache afterwards.

    Returns:
        A value of no use, for which the compiler must read them.
    """
    touched, last_range, last_word = np.uint64(0), np.uint64(ranges.size - 1), np.uint64(words.size - 1)
    for entry in range(keys.size):
        slot = mix(keys[entry])
        if are_words[entry]:
            touched |= words[slot & last_word]
        else:
            touched |= ranges[slot & last_range]
    return touched


@_entry(
    "Tuple((int32[::1], uint64[::1], uint64[::1], uint8[::1], int32[::1]))",
    "UniTuple(int64, 5)",
    "uint64",
    "boolean",
    _PAGES,
    _GROUPS,
    _MEMBERS,
    _GROUPS,
    _LINKS,
    "int64[::1]",
)
def find_members(
    entries: tuple[I32, U64, U64, U8, I32],
    limits: Limits,
    turnover: np.uint64,
    is_insert: bool,  # noqa: FBT001 - compiled code has no keywords
    pages: Pages,
    ranges: Groups,
    members: Members,
    words: Groups,
    links: Links,
    used: NDArray[np.int64],
) -> tuple[I32, U64, I32, I32, int]:
    """Probe each entry, and insert it, in order; there is room for all.

    Args:
        entries: of each, its row, the key of its group, its suffix, whether it is a word, and its page.
        limits: see `ProbeLimits`, in its order.
        turnover: one page in so many enters a word that is full.
        is_insert: whether entries are inserted.
        pages: handle and version byte by page number.
        ranges: hash table of range groups: key, root, and how many members live.
        members: of ranges, by number: suffix, page, left, right, whether it lives.
        words: hash table of words: key, oldest link, and how many there are.
        links: of words, by number: page, next.
        used: how many range groups, members, words and links there are; brought up to date.

    Returns:
        Of all found: entry, suffix, page; the truncated entries; how many caps bit.
    """
    rows, keys, suffixes, are_words, owners = entries
    found = (np.empty(64, np.int32), np.empty(64, np.uint64), np.empty(64, np.int32))
    counts = np.zeros(3, np.int64)  # found, truncated, caps
    truncated = np.empty(rows.size, np.int32)
    path = np.empty(_DEPTH, np.int32)
    known = np.zeros(limits[4] + 1, np.int32)
    unread = np.empty(1, np.uint64)
    row = -1
    unread[0] = _touch(keys, are_words, ranges[0], words[0])
    for entry in range(rows.size):
        if rows[entry] != row:
            row, known[0] = rows[entry], 0
        own, key, outcome = (suffixes[entry], owners[entry]), keys[entry], WHOLE
        if are_words[entry]:
            slot = _slot_of(words[0], words[1], key)
            count = words[2][slot]
            group = (words[1][slot], count)
            found, outcome, last, is_there = read_word(
                entry, own, limits, pages, links, group, known, found, counts
            )
            if is_insert and not is_there:
                is_full = count > limits[1]
                enter_word(own[1], key, slot, last, is_full, turnover, pages[0], words, links, used)
        else:
            slot = _slot_of(ranges[0], ranges[1], key)
            root = max(ranges[1][slot], NOTHING)
            if ranges[2][slot] > limits[1]:
                found, path, outcome = sample_range(
                    entry, own, limits, pages, members, root, known, path, found, counts
                )
            else:
                found, path = read_range(entry, own, limits[0], pages, members, root, path, found, counts)
            if is_insert:
                path = enter_range(own, key, slot, pages, ranges, members, path, used)
        if outcome != WHOLE:
            truncated[counts[1]] = entry
            counts[1] += 1
            counts[2] += outcome == CAPPED
    size = counts[0]
    return found[0][:size], found[1][:size], found[2][:size], truncated[: counts[1]], counts[2]


@_entry(
    "Tuple((uint64[::1], uint64[::1], uint8[::1], uint64[::1], uint8[::1]))",
    _PAGES,
    "int64",
    _GROUPS,
    _MEMBERS,
    _GROUPS,
    _LINKS,
)
def remove_members(
    entries: tuple[U64, U64, U8, U64, U8],
    pages: Pages,
    own_page: int,
    ranges: Groups,
    members: Members,
    words: Groups,
    links: Links,
) -> None:
    """Remove exact members; those that are not there are passed over.

    Args:
        entries: of each, the key of its group, its suffix, whether it is a word, its handle and version byte.
        pages: see `find_members`.
        own_page: a number that is not given yet, with which members are looked for.
        ranges: see there, as the others.
        members: the same.
        words: the same.
        links: the same.
    """
    keys, own_suffixes, are_words, own_handles, own_version_bytes = entries
    handles, version_bytes = pages
    lives = members[4]
    for entry in range(keys.size):
        handles[own_page], version_bytes[own_page] = own_handles[entry], own_version_bytes[entry]
        if not are_words[entry]:
            slot = _slot_of(ranges[0], ranges[1], keys[entry])
            at = find_member(pages, members, max(ranges[1][slot], NOTHING), own_suffixes[entry], own_page)
            if at != NOTHING and lives[at]:
                lives[at] = 0
                ranges[2][slot] -= 1
            continue
        slot = _slot_of(words[0], words[1], keys[entry])
        before, at = NOTHING, words[1][slot]
        while at >= 0 and (
            handles[links[0][at]] != own_handles[entry]
            or version_bytes[links[0][at]] != own_version_bytes[entry]
        ):
            before, at = at, links[1][at]
        if at < 0:
            continue
        words[2][slot] -= 1
        if before != NOTHING:
            links[1][before] = links[1][at]
        else:
            words[1][slot] = links[1][at]
