"""The compiled half of `ArrayTables`: open hash tables whose groups are treaps (ranges) and lists (words).

    ranges   a group holds all members that one range can hold: same table, same prefix. A treap keeps them
             in the order of (rest, handle, version byte); members that were removed stay, without life.
    words    a group holds all members with one word, the oldest first, in a linked list.

A group is found by 64 bits: of words they are the word itself, of ranges a hash. Two prefixes with one hash
would only give each other more members, and the distance filter drops what is far.

Every number that is hashed is a uint64 from the start: beside an int64 the compiler would make it a float.
"""

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["NOTHING", "UNUSED", "find_members", "insert_keys", "remove_members"]

NOTHING = -1
"""In place of the number of a member or link."""

UNUSED = -2
"""In place of the first member of a group: the slot of the hash table has no group."""

_MIX1 = np.uint64(0xFF51AFD7ED558CCD)
_MIX2 = np.uint64(0xC4CEB9FE1A85EC53)
_ONE = np.uint64(1)
_DEPTH = 64
_WHOLE, _TRUNCATED, _CAPPED = 0, 1, 2
"""What becomes of a probe: it reads all; passes over some; or a limit that is counted ends it."""

_U64 = NDArray[np.uint64]
_I32 = NDArray[np.int32]
_U8 = NDArray[np.uint8]
_Pages = tuple[_U64, _U8]
_Members = tuple[_U64, _I32, _I32, _I32, _U8]
_Groups = tuple[_U64, _I32, _I32]
_Links = tuple[_I32, _I32]
_Found = tuple[_I32, _U64, _I32]
_Limits = tuple[int, int, int, int, int]

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def _compiled(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    return cast("Callable[_Arguments, _Result]", njit(function))


def _entry(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    return cast("Callable[_Arguments, _Result]", njit(cache=True, nogil=True)(function))


@_compiled
def _mix(word: np.uint64) -> np.uint64:
    word = (word ^ (word >> np.uint64(33))) * _MIX1
    word = (word ^ (word >> np.uint64(33))) * _MIX2
    return word ^ (word >> np.uint64(33))


@_compiled
def _slot_of(keys: _U64, heads: _I32, key: np.uint64) -> int:
    """Where the key stands, or would stand: `heads` says which."""
    last = np.uint64(keys.size - 1)
    slot = _mix(key) & last
    while heads[slot] != UNUSED and keys[slot] != key:
        slot = (slot + _ONE) & last
    return int(slot)


@_entry
def insert_keys(keys: _U64, heads: _I32, counts: _I32, into: _Groups) -> None:
    """Copy the groups of one hash table to a larger one, which is empty."""
    for slot in range(keys.size):
        if heads[slot] != UNUSED:
            place = _slot_of(into[0], into[1], keys[slot])
            into[0][place], into[1][place], into[2][place] = keys[slot], heads[slot], counts[slot]


@_compiled
def _bits(word: np.uint64) -> int:
    count = 0
    while word:
        word &= word - _ONE
        count += 1
    return count


@_compiled
def _is_less(
    pages: _Pages, rests: _U64, owners: _I32, at: int, rest: np.uint64, page: int
) -> tuple[bool, bool]:
    """Whether the member stands before (rest, page), and whether it is that."""
    if rests[at] != rest:
        return rests[at] < rest, False
    handles, version_bytes = pages
    owner = owners[at]
    if handles[owner] != handles[page]:
        return handles[owner] < handles[page], False
    return version_bytes[owner] < version_bytes[page], version_bytes[owner] == version_bytes[page]


@_compiled
def _find(
    pages: _Pages,
    members: _Members,
    root: int,
    rest: np.uint64,
    page: int,
) -> int:
    """The number of a member of a treap, NOTHING where it was never inserted."""
    rests, owners, lefts, rights, _ = members
    at = root
    while at != NOTHING:
        is_less, is_it = _is_less(pages, rests, owners, at, rest, page)
        if is_it:
            return at
        at = rights[at] if is_less else lefts[at]
    return NOTHING


@_compiled
def _priority(pages: _Pages, rests: _U64, owners: _I32, at: int) -> np.uint64:
    page = owners[at]
    return _mix(pages[0][page] + rests[at] * _MIX1 + np.uint64(pages[1][page]))


@_compiled
def _attach(pages: _Pages, members: _Members, root: int, new: int, path: _I32) -> tuple[int, _I32]:
    """Add a member, which is not there, to a treap; the new root, and room for the longest path."""
    rests, owners, lefts, rights, _ = members
    depth, at = 0, root
    while at != NOTHING:
        if depth == path.size:
            path = np.concatenate((path, np.empty_like(path)))
        path[depth] = at
        depth += 1
        is_less, _ = _is_less(pages, rests, owners, at, rests[new], owners[new])
        at = rights[at] if is_less else lefts[at]
    if depth:
        parent = path[depth - 1]
        is_less, _ = _is_less(pages, rests, owners, parent, rests[new], owners[new])
        if is_less:
            rights[parent] = new
        else:
            lefts[parent] = new
    own = _priority(pages, rests, owners, new)
    while depth and _priority(pages, rests, owners, path[depth - 1]) < own:
        parent = path[depth - 1]
        if lefts[parent] == new:
            lefts[parent], rights[new] = rights[new], parent
        else:
            rights[parent], lefts[new] = lefts[new], parent
        depth -= 1
        if depth:
            above = path[depth - 1]
            if lefts[above] == parent:
                lefts[above] = new
            else:
                rights[above] = new
    return (root if depth else new), path


@_compiled
def _next_after(members: _Members, path: _I32, depth: int) -> tuple[int, _I32]:
    """Go on in the order of a treap from the last member of a path."""
    _, _, lefts, rights, _ = members
    at = rights[path[depth - 1]]
    return _lowest(lefts, at, path, depth - 1)


@_compiled
def _lowest(lefts: _I32, at: int, path: _I32, depth: int) -> tuple[int, _I32]:
    while at != NOTHING:
        if depth == path.size:
            path = np.concatenate((path, np.empty_like(path)))
        path[depth] = at
        depth += 1
        at = lefts[at]
    return depth, path


@_compiled
def _above(members: _Members, root: int, rest: np.uint64, path: _I32) -> tuple[int, _I32]:
    """The path to the first member with a greater rest; members whose right side it left are not in it."""
    rests, _, lefts, rights, _ = members
    depth, at = 0, root
    while at != NOTHING:
        if rests[at] <= rest:
            at = rights[at]
            continue
        if depth == path.size:
            path = np.concatenate((path, np.empty_like(path)))
        path[depth] = at
        depth += 1
        at = lefts[at]
    return depth, path


@_compiled
def _report(found: _Found, counts: NDArray[np.int64], entry: int, rest: np.uint64, page: int) -> _Found:
    """Add what an entry finds; `counts` begins with how much was found so far."""
    entries, rests, pages = found
    count = counts[0]
    if count == entries.size:
        entries = np.concatenate((entries, np.empty_like(entries)))
        rests = np.concatenate((rests, np.empty_like(rests)))
        pages = np.concatenate((pages, np.empty_like(pages)))
    entries[count], rests[count], pages[count] = entry, rest, page
    counts[0] += 1
    return entries, rests, pages


@_compiled
def _is_known(pages: _Pages, known: _I32, page: int) -> bool:
    handles, version_bytes = pages
    for each in known[1 : known[0] + 1]:
        if handles[each] == handles[page] and version_bytes[each] == version_bytes[page]:
            return True
    return False


@_compiled
def _sample_range(
    entry: int,
    own: tuple[np.uint64, int],
    limits: _Limits,
    pages: _Pages,
    members: _Members,
    root: int,
    known: _I32,
    path: _I32,
    found: _Found,
    counts: NDArray[np.int64],
) -> tuple[_Found, _I32, int]:
    """Read an oversized range from its lowest member; the last of the answer is one of `_WHOLE` and so on.

    `known` has the pages that oversized buckets have given this row so far, behind their number.
    """
    own_rest, page = own
    distance_bits, _, considered_limit, same_limit, candidates_limit = limits
    handles, rests, owners, lives = pages[0], members[0], members[1], members[4]
    if known[0] == candidates_limit:
        return found, path, _CAPPED
    outcome, considered, of_rest, last_rest = _WHOLE, 0, 0, np.uint64(0)
    depth, path = _lowest(members[2], root, path, 0)
    while depth:
        at = path[depth - 1]
        rest, other = rests[at], owners[at]
        if rest != last_rest:
            last_rest, of_rest = rest, 0
        is_near = _bits(rest ^ own_rest) <= distance_bits
        if not lives[at] or (is_near and handles[other] == handles[page]):
            depth, path = _next_after(members, path, depth)
            continue
        if of_rest == same_limit:
            outcome = _TRUNCATED if is_near else outcome
            depth, path = _above(members, root, rest, path)
            continue
        is_new = is_near and not _is_known(pages, known, other)
        if (is_new and known[0] == candidates_limit) or considered == considered_limit:
            return found, path, _CAPPED
        considered += 1
        of_rest += 1
        if is_near:
            found = _report(found, counts, entry, rest, other)
        if is_new:
            known[0] += 1
            known[known[0]] = other
        depth, path = _next_after(members, path, depth)
    return found, path, outcome


@_compiled
def _read_range(
    entry: int,
    own: tuple[np.uint64, int],
    distance_bits: int,
    pages: _Pages,
    members: _Members,
    root: int,
    path: _I32,
    found: _Found,
    counts: NDArray[np.int64],
) -> tuple[_Found, _I32]:
    own_rest, page = own
    handles, rests, owners, lives = pages[0], members[0], members[1], members[4]
    depth, path = _lowest(members[2], root, path, 0)
    while depth:
        at = path[depth - 1]
        other = owners[at]
        if lives[at] and _bits(rests[at] ^ own_rest) <= distance_bits and handles[other] != handles[page]:
            found = _report(found, counts, entry, rests[at], other)
        depth, path = _next_after(members, path, depth)
    return found, path


@_compiled
def _enter_range(
    own: tuple[np.uint64, int],
    key: np.uint64,
    slot: int,
    pages: _Pages,
    ranges: _Groups,
    members: _Members,
    path: _I32,
    used: NDArray[np.int64],
) -> _I32:
    keys, roots, counts = ranges
    rests, owners, lefts, rights, lives = members
    own_rest, page = own
    root = max(roots[slot], NOTHING)
    at = _find(pages, members, root, own_rest, page)
    if at != NOTHING:
        counts[slot] += 1 - lives[at]
        lives[at] = 1
        return path
    new = used[1]
    rests[new], owners[new], lives[new] = own_rest, page, 1
    lefts[new] = rights[new] = NOTHING
    if root == NOTHING:
        keys[slot], roots[slot] = key, new
        used[0] += 1
    else:
        roots[slot], path = _attach(pages, members, root, new, path)
    used[1] += 1
    counts[slot] += 1
    return path


@_compiled
def _read_word(
    entry: int,
    own: tuple[np.uint64, int],
    limits: _Limits,
    pages: _Pages,
    links: _Links,
    group: tuple[int, int],
    known: _I32,
    found: _Found,
    counts: NDArray[np.int64],
) -> tuple[_Found, int, int, bool]:
    """Read a word from its oldest member; also return its last link and whether the page is there."""
    own_rest, page = own
    first, count = group
    _, cap, considered_limit, same_limit, candidates_limit = limits
    handles, version_bytes = pages
    is_full = count > cap
    outcome = _CAPPED if is_full and known[0] == candidates_limit else _WHOLE
    considered, is_there, last, at = 0, False, NOTHING, first
    while at >= 0:
        other = links[0][at]
        is_own = handles[other] == handles[page]
        is_there = is_there or (is_own and version_bytes[other] == version_bytes[page])
        last, at = at, links[1][at]
        if is_own or outcome == _CAPPED:
            continue
        if is_full:
            if considered == same_limit:
                outcome = _TRUNCATED
                continue
            is_new = not _is_known(pages, known, other)
            if (is_new and known[0] == candidates_limit) or considered == considered_limit:
                outcome = _CAPPED
                continue
            considered += 1
            if is_new:
                known[0] += 1
                known[known[0]] = other
        found = _report(found, counts, entry, own_rest, other)
    return found, outcome, last, is_there


@_compiled
def _enter_word(
    page: int,
    key: np.uint64,
    slot: int,
    last: int,
    is_full: bool,  # noqa: FBT001 - compiled code has no keywords
    turnover: np.uint64,
    handles: _U64,
    words: _Groups,
    links: _Links,
    used: NDArray[np.int64],
) -> None:
    """Add a page behind the last of a word; to a full one in the place of the oldest, or not at all."""
    keys, heads, counts = words
    if is_full:
        if handles[page] % turnover == 0:
            first = heads[slot]
            heads[slot] = links[1][first]
            links[1][last] = first
            links[1][first] = NOTHING
            links[0][first] = page
        return
    new = used[3]
    links[0][new], links[1][new] = page, NOTHING
    if last == NOTHING:
        used[2] += heads[slot] == UNUSED
        keys[slot], heads[slot] = key, new
    else:
        links[1][last] = new
    counts[slot] += 1
    used[3] += 1


@_entry
def find_members(
    entries: tuple[_I32, _U64, _U64, _U8, _I32],
    limits: _Limits,
    turnover: np.uint64,
    is_insert: bool,  # noqa: FBT001 - compiled code has no keywords
    pages: _Pages,
    ranges: _Groups,
    members: _Members,
    words: _Groups,
    links: _Links,
    used: NDArray[np.int64],
) -> tuple[_I32, _U64, _I32, _I32, int]:
    """Probe each entry, and insert it, in order; there is room for all.

    Args:
        entries: of each, its row, the key of its group, its rest, whether it is a word, and its page.
        limits: see `ProbeLimits`, in its order.
        turnover: one page in so many enters a word that is full.
        is_insert: whether entries are inserted.
        pages: handle and version byte by page number.
        ranges: hash table of range groups: key, root, and how many members live.
        members: of ranges, by number: rest, page, left, right, whether it lives.
        words: hash table of words: key, oldest link, and how many there are.
        links: of words, by number: page, next.
        used: how many range groups, members, words and links there are; brought up to date.

    Returns:
        Of all found: entry, rest, page; the truncated entries; how many caps bit.
    """
    rows, keys, rests, are_words, owners = entries
    found = (np.empty(64, np.int32), np.empty(64, np.uint64), np.empty(64, np.int32))
    counts = np.zeros(3, np.int64)  # found, truncated, caps
    truncated = np.empty(rows.size, np.int32)
    path = np.empty(_DEPTH, np.int32)
    known = np.zeros(limits[4] + 1, np.int32)
    row = -1
    for entry in range(rows.size):
        if rows[entry] != row:
            row, known[0] = rows[entry], 0
        own, key, outcome = (rests[entry], owners[entry]), keys[entry], _WHOLE
        if are_words[entry]:
            slot = _slot_of(words[0], words[1], key)
            count = words[2][slot]
            group = (words[1][slot], count)
            found, outcome, last, is_there = _read_word(
                entry, own, limits, pages, links, group, known, found, counts
            )
            if is_insert and not is_there:
                is_full = count > limits[1]
                _enter_word(own[1], key, slot, last, is_full, turnover, pages[0], words, links, used)
        else:
            slot = _slot_of(ranges[0], ranges[1], key)
            root = max(ranges[1][slot], NOTHING)
            if ranges[2][slot] > limits[1]:
                found, path, outcome = _sample_range(
                    entry, own, limits, pages, members, root, known, path, found, counts
                )
            else:
                found, path = _read_range(entry, own, limits[0], pages, members, root, path, found, counts)
            if is_insert:
                path = _enter_range(own, key, slot, pages, ranges, members, path, used)
        if outcome != _WHOLE:
            truncated[counts[1]] = entry
            counts[1] += 1
            counts[2] += outcome == _CAPPED
    size = counts[0]
    return found[0][:size], found[1][:size], found[2][:size], truncated[: counts[1]], counts[2]


@_entry
def remove_members(
    entries: tuple[_U64, _U64, _U8, _U64, _U8],
    pages: _Pages,
    own_page: int,
    ranges: _Groups,
    members: _Members,
    words: _Groups,
    links: _Links,
) -> int:
    """Remove exact members, and return how many were there.

    Args:
        entries: of each, the key of its group, its rest, whether it is a word, its handle and version byte.
        pages: see `find_members`.
        own_page: a number that is not given yet, with which members are looked for.
        ranges: see there, as the others.
        members: the same.
        words: the same.
        links: the same.
    """
    keys, own_rests, are_words, own_handles, own_version_bytes = entries
    handles, version_bytes = pages
    lives = members[4]
    removed = 0
    for entry in range(keys.size):
        handles[own_page], version_bytes[own_page] = own_handles[entry], own_version_bytes[entry]
        if not are_words[entry]:
            slot = _slot_of(ranges[0], ranges[1], keys[entry])
            at = _find(pages, members, max(ranges[1][slot], NOTHING), own_rests[entry], own_page)
            if at != NOTHING and lives[at]:
                lives[at] = 0
                ranges[2][slot] -= 1
                removed += 1
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
        removed += 1
        words[2][slot] -= 1
        if before != NOTHING:
            links[1][before] = links[1][at]
        else:
            words[1][slot] = links[1][at]
    return removed
