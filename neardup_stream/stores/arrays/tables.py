"""Keep tables in arrays: the buckets of one process, probed and filled a batch at a time by compiled code."""

import functools
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup_stream.errors import InvariantBroken
from neardup_stream.kernel_cache import load_compiled
from neardup_stream.ordered import are_first
from neardup_stream.stores.arrays.growing import with_room
from neardup_stream.stores.protocol import (
    WORD_TURNOVER,
    ProbeAnswer,
    ProbeLimits,
    TableEntries,
    TableMembers,
)

__all__ = ["ArrayTables", "load_tables_kernel"]

_KERNEL_FILES: Final = ("kernel", "kernel_groups", "kernel_treap")
_TABLES: Final = 256
_FIRST_ROOM: Final = 1 << 12
_MOST_MEMBERS: Final = (1 << 31) - 1
_UNKNOWN: Final = -1
_SLOT: Final = np.dtype([("key", np.uint64), ("head", np.int32), ("count", np.int32)])

_PREFIX_FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)
_BUCKET_FACTOR: Final = np.uint64(0xD1342543DE82EF95)


@functools.cache
def load_tables_kernel() -> ModuleType:
    """Return the kernel's module. The first call of a process takes 0.1 s, or 5 s to compile it."""
    name = "neardup_stream.stores.arrays.kernel"
    return load_compiled("tables", name, [Path(__file__).with_name(f"{each}.py") for each in _KERNEL_FILES])


class _Groups(NamedTuple):
    """An open hash table of groups: key, first member or root, how many members; columns of one array."""

    keys: NDArray[np.uint64]
    heads: NDArray[np.int32]
    counts: NDArray[np.int32]

    @classmethod
    def empty(cls, size: int) -> "_Groups":
        slots = np.zeros(size, _SLOT)
        slots["head"] = load_tables_kernel().UNUSED
        return cls(slots["key"], slots["head"], slots["count"])

    def with_room(self, used: int, more: int) -> "_Groups":
        """Return this table, or a larger one with the same groups, three quarters of which are enough."""
        size = self.keys.size
        while 4 * (used + more) > 3 * size:
            size *= 2
        if size == self.keys.size:
            return self
        larger = _Groups.empty(size)
        load_tables_kernel().insert_keys(*self, tuple(larger))
        return larger


class _Members(NamedTuple):
    """Members of ranges, by number; see `kernel.find_members`."""

    suffixes: NDArray[np.uint64]
    owners: NDArray[np.int32]
    lefts: NDArray[np.int32]
    rights: NDArray[np.int32]
    lives: NDArray[np.uint8]


class _Links(NamedTuple):
    """Members of words, by number."""

    pages: NDArray[np.int32]
    nexts: NDArray[np.int32]


class _Pages(NamedTuple):
    """Who members are."""

    handles: NDArray[np.uint64]
    version_bytes: NDArray[np.uint8]


class ArrayTables:
    """A TableStore in arrays of this process, which are lost with it.

    Of each table, all ranges must be of one width, as those of an `IndexLayout` are: a group is what one
    range can hold. Calls do not wait, so each is atomic.

    Cost: 21 bytes a member of a range and 16 a group of them, 8 bytes a member of a word and 16 a word, up to
    2.7 times as much for groups and twice for members, because arrays grow by doubling; 9 bytes a page.
    Two thousand million members at most.
    """

    def __init__(self) -> None:
        self._ranges, self._words = _Groups.empty(_FIRST_ROOM), _Groups.empty(_FIRST_ROOM)
        self._members = _Members(*(np.empty(_FIRST_ROOM, dtype) for dtype in ("u8", "i4", "i4", "i4", "u1")))
        self._links = _Links(np.empty(_FIRST_ROOM, np.int32), np.empty(_FIRST_ROOM, np.int32))
        self._pages = _Pages(np.empty(_FIRST_ROOM, np.uint64), np.empty(_FIRST_ROOM, np.uint8))
        self._page_count = 0
        self._used = np.zeros(4, np.int64)  # range groups, members, words, links
        self._open_bits = np.full(_TABLES, _UNKNOWN, np.int64)

    @property
    def size_bytes(self) -> int:
        """What the arrays take."""
        arrays = (*self._ranges, *self._words, *self._members, *self._links, *self._pages)
        return sum(array.nbytes for array in arrays)

    async def probe_and_insert(self, entries: TableEntries, limits: ProbeLimits) -> ProbeAnswer:
        """See the contract."""
        return self._run(entries, limits, insert=True)

    async def probe(self, entries: TableEntries, limits: ProbeLimits) -> ProbeAnswer:
        """See the contract."""
        return self._run(entries, limits, insert=False)

    async def remove(self, members: TableMembers) -> None:
        """See the contract."""
        if not members.tables.size:
            return
        self._make_room(0, 1)
        load_tables_kernel().remove_members(
            (
                self._keys(members),
                _for_kernel(members.suffixes),
                _are_words(members),
                _for_kernel(members.handles),
                _for_kernel(members.version_bytes),
            ),
            tuple(self._pages),
            self._page_count,
            tuple(self._ranges),
            tuple(self._members),
            tuple(self._words),
            tuple(self._links),
        )

    def _run(self, entries: TableEntries, limits: ProbeLimits, *, insert: bool) -> ProbeAnswer:
        members = entries.members
        self._learn_widths(entries)
        owners = self._enter_pages(members)
        self._make_room(members.tables.size if insert else 0, 0)
        at, suffixes, pages, truncated, cap_hits = load_tables_kernel().find_members(
            (
                entries.rows.astype(np.int32),
                self._keys(members),
                _for_kernel(members.suffixes),
                _are_words(members),
                owners,
            ),
            tuple(limits),
            np.uint64(WORD_TURNOVER),
            insert,
            tuple(self._pages),
            tuple(self._ranges),
            tuple(self._members),
            tuple(self._words),
            tuple(self._links),
            self._used,
        )
        if insert and owners.size:
            self._page_count = int(owners[-1]) + 1
        found = members.take(at)._replace(
            suffixes=suffixes,
            handles=self._pages.handles[pages],
            version_bytes=self._pages.version_bytes[pages],
        )
        return ProbeAnswer(at.astype(np.uint32), found, truncated.astype(np.uint32), cap_hits)

    def _learn_widths(self, entries: TableEntries) -> None:
        """Remember how many bits are open in the ranges of each table."""
        open_bits = np.bitwise_count(entries.highs ^ entries.lows).astype(np.int64)
        tables, is_range = entries.members.tables, entries.members.suffix_bytes > 0
        known = self._open_bits[tables]
        if np.array_equal(known[is_range], open_bits[is_range]):
            return
        self._open_bits[tables[is_range]] = np.where(known < 0, open_bits, known)[is_range]
        if not np.array_equal(self._open_bits[tables][is_range], open_bits[is_range]):
            raise InvariantBroken("ranges of one table differ in width")

    def _keys(self, members: TableMembers) -> NDArray[np.uint64]:
        """Return the key of the group of each member: of a word exactly, of a range by a hash."""
        tables, leading_bytes, buckets = (column.astype(np.uint64) for column in members[:3])
        where = tables << np.uint64(56) | leading_bytes << np.uint64(48) | buckets << np.uint64(16)
        open_bits = np.maximum(self._open_bits[members.tables], 0).astype(np.uint64)
        prefixes = members.suffixes >> np.minimum(open_bits, np.uint64(63))
        ranges = where * _BUCKET_FACTOR + prefixes * _PREFIX_FACTOR
        keys: NDArray[np.uint64] = np.where(_are_words(members), where | members.suffixes, ranges)
        return keys

    def _enter_pages(self, members: TableMembers) -> NDArray[np.int32]:
        """Return the number of the page of each member; rows of one page that follow each other share it."""
        handles, version_bytes = members.handles, members.version_bytes
        is_first = are_first(handles) | are_first(version_bytes)
        numbers = self._page_count - 1 + np.cumsum(is_first)
        if handles.size:
            self._make_room(0, int(numbers[-1]) + 1 - self._page_count)
            self._pages.handles[numbers] = handles
            self._pages.version_bytes[numbers] = version_bytes
        return numbers.astype(np.int32)

    def _make_room(self, more_members: int, more_pages: int) -> None:
        range_count, member_count, word_count, link_count = self._used.tolist()
        if max(member_count, link_count) + more_members > _MOST_MEMBERS:
            raise InvariantBroken(f"the tables hold {_MOST_MEMBERS} members, which is the most")
        self._ranges = self._ranges.with_room(range_count, more_members)
        self._words = self._words.with_room(word_count, more_members)
        self._members = _Members(*with_room(self._members, member_count + more_members))
        self._links = _Links(*with_room(self._links, link_count + more_members))
        self._pages = _Pages(*with_room(self._pages, self._page_count + more_pages))


def _for_kernel(column: NDArray[Any]) -> NDArray[Any]:
    """Return a column as the kernel's types declare it: contiguous, and not read-only."""
    return np.require(column, requirements=("C", "W"))


def _are_words(members: TableMembers) -> NDArray[np.uint8]:
    is_word: NDArray[np.bool_] = members.suffix_bytes == 0
    return is_word.view(np.uint8)
