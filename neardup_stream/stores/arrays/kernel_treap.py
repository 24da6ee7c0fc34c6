"""Treaps of members in arrays, and what all parts of the kernel share: types, constants and the hash.

Every number that is hashed is a uint64 from the start: beside an int64 the compiler would make it a float.

The compiler's cache detects changes of files of this kernel only: small functions that kernels of other
packages need too, as `mix`, are copies.
"""

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = [
    "CAPPED",
    "I32",
    "NOTHING",
    "ONE",
    "TRUNCATED",
    "U8",
    "U64",
    "UNUSED",
    "WHOLE",
    "Found",
    "Groups",
    "Limits",
    "Links",
    "Members",
    "Pages",
    "above",
    "attach_member",
    "compiled",
    "count_bits",
    "find_member",
    "lowest",
    "mix",
    "next_after",
]

NOTHING = -1
"""In place of the number of a member or link."""

UNUSED = -2
"""In place of the first member of a group: the slot of the hash table has no group."""

WHOLE, TRUNCATED, CAPPED = 0, 1, 2
"""What becomes of a probe: it reads all; passes over some; or a limit that is counted ends it."""

ONE = np.uint64(1)
_MIX1 = np.uint64(0xFF51AFD7ED558CCD)
_MIX2 = np.uint64(0xC4CEB9FE1A85EC53)

U64 = NDArray[np.uint64]
I32 = NDArray[np.int32]
U8 = NDArray[np.uint8]
Pages = tuple[U64, U8]
Members = tuple[U64, I32, I32, I32, U8]
Groups = tuple[U64, I32, I32]
Links = tuple[I32, I32]
Found = tuple[I32, U64, I32]
Limits = tuple[int, int, int, int, int]

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def compiled(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Return a function that is compiled where a compiled one calls it."""
    return cast("Callable[_Arguments, _Result]", njit(function))


@compiled
def mix(word: np.uint64) -> np.uint64:
    """Return a hash of 64 bits."""
    word = (word ^ (word >> np.uint64(33))) * _MIX1
    word = (word ^ (word >> np.uint64(33))) * _MIX2
    return word ^ (word >> np.uint64(33))


@compiled
def count_bits(word: np.uint64) -> int:
    """Return how many bits are set."""
    count = 0
    while word:
        word &= word - ONE
        count += 1
    return count


@compiled
def _is_less(
    pages: Pages, suffixes: U64, owners: I32, at: int, suffix: np.uint64, page: int
) -> tuple[bool, bool]:
    """Whether the member stands before (suffix, page), and whether it is that."""
    if suffixes[at] != suffix:
        return suffixes[at] < suffix, False
    handles, version_bytes = pages
    owner = owners[at]
    if handles[owner] != handles[page]:
        return handles[owner] < handles[page], False
    return version_bytes[owner] < version_bytes[page], version_bytes[owner] == version_bytes[page]


@compiled
def find_member(
    pages: Pages,
    members: Members,
    root: int,
    suffix: np.uint64,
    page: int,
) -> int:
    """Return the number of a member of a treap, NOTHING where it was never inserted."""
    suffixes, owners, lefts, rights, _ = members
    at = root
    while at != NOTHING:
        is_less, is_it = _is_less(pages, suffixes, owners, at, suffix, page)
        if is_it:
            return at
        at = rights[at] if is_less else lefts[at]
    return NOTHING


@compiled
def _priority(pages: Pages, suffixes: U64, owners: I32, at: int) -> np.uint64:
    page = owners[at]
    return mix(pages[0][page] + suffixes[at] * _MIX1 + np.uint64(pages[1][page]))


@compiled
def attach_member(pages: Pages, members: Members, root: int, new: int, path: I32) -> tuple[int, I32]:
    """Add a member, which is not there, to a treap; return the new root, and room for the longest path."""
    suffixes, owners, lefts, rights, _ = members
    depth, at = 0, root
    while at != NOTHING:
        depth, path = _pushed(path, depth, at)
        is_less, _ = _is_less(pages, suffixes, owners, at, suffixes[new], owners[new])
        at = rights[at] if is_less else lefts[at]
    if depth:
        parent = path[depth - 1]
        is_less, _ = _is_less(pages, suffixes, owners, parent, suffixes[new], owners[new])
        if is_less:
            rights[parent] = new
        else:
            lefts[parent] = new
    own = _priority(pages, suffixes, owners, new)
    while depth and _priority(pages, suffixes, owners, path[depth - 1]) < own:
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


@compiled
def _pushed(path: I32, depth: int, at: int) -> tuple[int, I32]:
    if depth == path.size:
        path = np.concatenate((path, np.empty_like(path)))
    path[depth] = at
    return depth + 1, path


@compiled
def next_after(members: Members, path: I32, depth: int) -> tuple[int, I32]:
    """Go on in the order of a treap from the last member of a path."""
    _, _, lefts, rights, _ = members
    at = rights[path[depth - 1]]
    return lowest(lefts, at, path, depth - 1)


@compiled
def lowest(lefts: I32, at: int, path: I32, depth: int) -> tuple[int, I32]:
    """Return the path to the lowest member at or below a member of a treap, behind `depth` others."""
    while at != NOTHING:
        depth, path = _pushed(path, depth, at)
        at = lefts[at]
    return depth, path


@compiled
def above(members: Members, root: int, suffix: np.uint64, path: I32) -> tuple[int, I32]:
    """The path to the first member with a greater suffix; members whose right side it left are not in it."""
    suffixes, _, lefts, rights, _ = members
    depth, at = 0, root
    while at != NOTHING:
        if suffixes[at] <= suffix:
            at = rights[at]
            continue
        depth, path = _pushed(path, depth, at)
        at = lefts[at]
    return depth, path
