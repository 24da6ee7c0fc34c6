"""Read and fill one group of the tables: the treap of a range, or the list of a word."""

import numpy as np
from numpy.typing import NDArray

from neardup_stream.stores.arrays.kernel_treap import (
    CAPPED,
    I32,
    NOTHING,
    TRUNCATED,
    U64,
    UNUSED,
    WHOLE,
    Found,
    Groups,
    Limits,
    Links,
    Members,
    Pages,
    above,
    attach_member,
    compiled,
    count_bits,
    find_member,
    lowest,
    next_after,
)

__all__ = ["enter_range", "enter_word", "read_range", "read_word", "sample_range"]


@compiled
def _report(found: Found, counts: NDArray[np.int64], entry: int, suffix: np.uint64, page: int) -> Found:
    """Add what an entry finds; `counts` begins with how much was found so far."""
    entries, suffixes, pages = found
    count = counts[0]
    if count == entries.size:
        entries = np.concatenate((entries, np.empty_like(entries)))
        suffixes = np.concatenate((suffixes, np.empty_like(suffixes)))
        pages = np.concatenate((pages, np.empty_like(pages)))
    entries[count], suffixes[count], pages[count] = entry, suffix, page
    counts[0] += 1
    return entries, suffixes, pages


@compiled
def _is_known(pages: Pages, known: I32, page: int) -> bool:
    handles, version_bytes = pages
    for each in known[1 : known[0] + 1]:
        if handles[each] == handles[page] and version_bytes[each] == version_bytes[page]:
            return True
    return False


@compiled
def sample_range(
    entry: int,
    own: tuple[np.uint64, int],
    limits: Limits,
    pages: Pages,
    members: Members,
    root: int,
    known: I32,
    path: I32,
    found: Found,
    counts: NDArray[np.int64],
) -> tuple[Found, I32, int]:
    """Read an oversized range from its lowest member; the last of the answer is one of `WHOLE` and so on.

    `known` has the pages that oversized buckets have given this row so far, behind their number.
    """
    own_suffix, page = own
    distance_bits, _, considered_limit, same_limit, candidates_limit = limits
    handles, suffixes, owners, lives = pages[0], members[0], members[1], members[4]
    if known[0] == candidates_limit:
        return found, path, CAPPED
    outcome, considered, of_suffix, last_suffix = WHOLE, 0, 0, np.uint64(0)
    depth, path = lowest(members[2], root, path, 0)
    while depth:
        at = path[depth - 1]
        suffix, other = suffixes[at], owners[at]
        if suffix != last_suffix:
            last_suffix, of_suffix = suffix, 0
        is_near = count_bits(suffix ^ own_suffix) <= distance_bits
        if not lives[at] or (is_near and handles[other] == handles[page]):
            depth, path = next_after(members, path, depth)
            continue
        if of_suffix == same_limit:
            outcome = TRUNCATED if is_near else outcome
            depth, path = above(members, root, suffix, path)
            continue
        is_new = is_near and not _is_known(pages, known, other)
        if (is_new and known[0] == candidates_limit) or considered == considered_limit:
            return found, path, CAPPED
        considered += 1
        of_suffix += 1
        if is_near:
            found = _report(found, counts, entry, suffix, other)
        if is_new:
            known[0] += 1
            known[known[0]] = other
        depth, path = next_after(members, path, depth)
    return found, path, outcome


@compiled
def read_range(
    entry: int,
    own: tuple[np.uint64, int],
    distance_bits: int,
    pages: Pages,
    members: Members,
    root: int,
    path: I32,
    found: Found,
    counts: NDArray[np.int64],
) -> tuple[Found, I32]:
    """Report the near members of a range that is read whole."""
    own_suffix, page = own
    handles, suffixes, owners, lives = pages[0], members[0], members[1], members[4]
    depth, path = lowest(members[2], root, path, 0)
    while depth:
        at = path[depth - 1]
        other = owners[at]
        if (
            lives[at]
            and count_bits(suffixes[at] ^ own_suffix) <= distance_bits
            and handles[other] != handles[page]
        ):
            found = _report(found, counts, entry, suffixes[at], other)
        depth, path = next_after(members, path, depth)
    return found, path


@compiled
def enter_range(
    own: tuple[np.uint64, int],
    key: np.uint64,
    slot: int,
    pages: Pages,
    ranges: Groups,
    members: Members,
    path: I32,
    used: NDArray[np.int64],
) -> I32:
    """Insert a member into its range, or let one live again that was removed."""
    keys, roots, counts = ranges
    suffixes, owners, lefts, rights, lives = members
    own_suffix, page = own
    root = max(roots[slot], NOTHING)
    at = find_member(pages, members, root, own_suffix, page)
    if at != NOTHING:
        counts[slot] += 1 - lives[at]
        lives[at] = 1
        return path
    new = used[1]
    suffixes[new], owners[new], lives[new] = own_suffix, page, 1
    lefts[new] = rights[new] = NOTHING
    if root == NOTHING:
        keys[slot], roots[slot] = key, new
        used[0] += 1
    else:
        roots[slot], path = attach_member(pages, members, root, new, path)
    used[1] += 1
    counts[slot] += 1
    return path


@compiled
def read_word(
    entry: int,
    own: tuple[np.uint64, int],
    limits: Limits,
    pages: Pages,
    links: Links,
    group: tuple[int, int],
    known: I32,
    found: Found,
    counts: NDArray[np.int64],
) -> tuple[Found, int, int, bool]:
    """Read a word from its oldest member; also return its last link and whether the page is there."""
    own_suffix, page = own
    first, count = group
    _, cap, considered_limit, same_limit, candidates_limit = limits
    handles, version_bytes = pages
    is_full = count > cap
    outcome = CAPPED if is_full and known[0] == candidates_limit else WHOLE
    considered, is_there, last, at = 0, False, NOTHING, first
    while at >= 0:
        other = links[0][at]
        is_own = handles[other] == handles[page]
        is_there = is_there or (is_own and version_bytes[other] == version_bytes[page])
        last, at = at, links[1][at]
        if is_own or outcome == CAPPED:
            continue
        if is_full:
            if considered == same_limit:
                outcome = TRUNCATED
                continue
            is_new = not _is_known(pages, known, other)
            if (is_new and known[0] == candidates_limit) or considered == considered_limit:
                outcome = CAPPED
                continue
            considered += 1
            if is_new:
                known[0] += 1
                known[known[0]] = other
        found = _report(found, counts, entry, own_suffix, other)
    return found, outcome, last, is_there


@compiled
def enter_word(
    page: int,
    key: np.uint64,
    slot: int,
    last: int,
    is_full: bool,  # noqa: FBT001 - compiled code has no keywords
    turnover: np.uint64,
    handles: U64,
    words: Groups,
    links: Links,
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
