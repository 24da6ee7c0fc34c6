"""Write the sections by which pages are found from their keys: the perfect hash, slots, lists of pages.

A slot holds 16 bits by which it knows its key, and a value: a page, or where in the section `key.posts` the
pages of its key are listed. Copies of a text share all their keys, so equal lists are stored once.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from neardup_stream.archive.kernels import load_archive_kernel
from neardup_stream.archive.perfect import PART_BYTES, PartHasher, part_bits_for
from neardup_stream.archive.post_lists import PostLists
from neardup_stream.archive.spills import PARTITION_BITS, PARTITIONS, PartitionedRows, SpilledColumn, Spilling
from neardup_stream.archive.units import CHECK_BITS
from neardup_stream.archive.writing import ArchiveWriter
from neardup_stream.bits.packed import bits_for, pack
from neardup_stream.ordered import are_first

__all__ = ["KeyTables"]

_PAIR: Final = np.dtype([("key", "<u8"), ("page", "<u4")])


class KeyTables(Spilling):
    """Collects which pages have which keys, and writes the sections `key.*`; a context manager.

    Args:
        directory: for temporary files.
        memory_bytes: what pairs in memory may take.
    """

    def __init__(self, directory: Path, memory_bytes: int) -> None:
        self._pairs = PartitionedRows(_PAIR, directory, memory_bytes)
        self._columns = {
            name: SpilledColumn(directory) for name in ("parts", "owners", "ranks", "items", "posts")
        }
        super().__init__((self._pairs, *self._columns.values()))
        self._hasher = PartHasher()
        self._lists = PostLists()

    def add(self, keys: NDArray[np.uint64], pages: NDArray[np.uint32]) -> None:
        """Take in pairs, in the order of the pages."""
        pairs = np.empty(keys.size, _PAIR)
        pairs["key"], pairs["page"] = keys, pages
        self._pairs.add(pairs)

    def write(self, writer: ArchiveWriter, page_count: int) -> None:
        """Hash all keys, and write the sections.

        Raises:
            StreamUnavailable: the disk is full or failed.
        """
        part_bits = part_bits_for(self._pairs.count)
        for pairs in self._parts(part_bits):
            writer.reach("hash")
            self._add_part(pairs)
        columns, hasher = self._columns, self._hasher
        largest = max(page_count, columns["posts"].size_bytes, 1) - 1
        width = CHECK_BITS + 1 + bits_for(largest)
        writer.add("key.parts", columns["parts"].chunks(), 1 << part_bits, 8 * PART_BYTES)
        writer.add("key.owners", columns["owners"].chunks(), hasher.vertex_count, 2)
        writer.add("key.ranks", columns["ranks"].chunks(), columns["ranks"].size_bytes // 4, 32)
        items = (pack(np.frombuffer(chunk, "<u8"), width) for chunk in columns["items"].chunks(64))
        writer.add("key.slots", items, hasher.slot_count, width)
        writer.add("key.posts", columns["posts"].chunks(), columns["posts"].size_bytes, 8)

    def _parts(self, part_bits: int) -> Iterator[NDArray[Any]]:
        """Yield the pairs of each part, sorted by key and page."""
        if part_bits <= PARTITION_BITS:
            step = PARTITIONS >> part_bits
            for first in range(0, PARTITIONS, step):
                yield _sorted(np.concatenate([self._pairs.partition(first + i) for i in range(step)]))
            return
        within = part_bits - PARTITION_BITS
        for number in range(PARTITIONS):
            pairs = _sorted(self._pairs.partition(number))
            numbers = (pairs["key"] >> np.uint64(64 - part_bits)) & np.uint64((1 << within) - 1)
            yield from np.split(pairs, np.searchsorted(numbers, np.arange(1, 1 << within, dtype=np.uint64)))

    def _add_part(self, pairs: NDArray[Any]) -> None:
        starts = np.flatnonzero(are_first(pairs["key"]))
        keys = np.ascontiguousarray(pairs["key"][starts])
        part = self._hasher.add(keys)
        items = np.empty(keys.size, "<u8")
        items[part.slots - (self._hasher.slot_count - keys.size)] = self._items(pairs, keys, starts)
        columns = self._columns
        columns["parts"].write(part.description)
        columns["owners"].write(part.packed.astype("<u8").tobytes())
        columns["ranks"].write(part.ranks.astype("<u4").tobytes())
        columns["items"].write(items.tobytes())

    def _items(
        self, pairs: NDArray[Any], keys: NDArray[np.uint64], starts: NDArray[np.intp]
    ) -> NDArray[np.uint64]:
        """Return what the slot of each key holds."""
        pages = pairs["page"].copy()
        ends = np.append(starts[1:], pages.size)
        values = pages[starts].astype(np.uint64) << np.uint64(1)
        many = np.flatnonzero(ends - starts > 1)
        offsets, posts = self._lists.add(pages, starts[many], ends[many])
        values[many] = offsets.astype(np.uint64) << np.uint64(1) | np.uint64(1)
        self._columns["posts"].write(posts)
        checks = np.empty(keys.size, np.uint64)
        load_archive_kernel().check_bits(keys, checks)
        return checks | values << np.uint64(CHECK_BITS)


def _sorted(pairs: NDArray[Any]) -> NDArray[Any]:
    """By key; pairs of one key stay in the order of their pages."""
    return pairs[np.argsort(pairs["key"], kind="stable")]
