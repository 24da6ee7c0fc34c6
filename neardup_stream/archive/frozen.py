"""Look up pages in an archive: which frozen pages share a key with a page, and what is stored of them."""

from pathlib import Path
from types import ModuleType
from typing import Final, NamedTuple, cast, get_args

import numpy as np
from numpy.typing import NDArray

from neardup_stream.archive.columns import WHOLE_ROWS, whole_sizes
from neardup_stream.archive.kernels import load_archive_kernel
from neardup_stream.archive.keys import BANDS_ONLY, KeyKind
from neardup_stream.archive.layout import Section
from neardup_stream.archive.logged import LoggedArchive
from neardup_stream.archive.perfect import PART_BYTES, parts_fit
from neardup_stream.archive.post_lists import MOST_POSTS
from neardup_stream.archive.units import CHECK_BITS
from neardup_stream.bits.packed import MAX_PACKED_BITS, unpack
from neardup_stream.errors import ConfigError, CorruptData

__all__ = ["KEYS", "KEY_KINDS", "Candidates", "FrozenIndex", "FrozenSketch"]

KEYS: Final = "archive"
"""The name of the part that finds near-duplicates."""

KEY_KINDS: Final = "keys"
"""The field of the schema that names the kinds of keys; missing where they are bands."""

_KEY_SECTIONS = ("key.parts", "key.owners", "key.ranks", "key.slots", "key.posts")


class Candidates(NamedTuple):
    """What a probe found; one entry for each pair of a query and a page, each pair once.

    Attributes:
        queries: int64, ascending.
        rows: of the pages, int64; ascending for each query.
        sampled_count: keys of which so many pages are known that only some are listed.
    """

    queries: NDArray[np.int64]
    rows: NDArray[np.int64]
    sampled_count: int


_NO_CANDIDATES: Final = Candidates(np.empty(0, np.int64), np.empty(0, np.int64), 0)


class FrozenSketch(NamedTuple):
    """What is kept of a page to be compared by; see `PageRecord` for the meaning of each field."""

    fingerprint: int
    text_fingerprint: int
    sketch: bytes
    shingle_count: int
    whole: bytes
    whole_count: int
    scope: int


class FrozenIndex(LoggedArchive):
    """Finds pages of one archive file by their keys.

    Args:
        path: of the file.

    Attributes:
        key_kinds: by which pages are found beside their texts.

    Raises:
        ConfigError: there is no such file, it is no archive, or it was frozen without keys, or with keys of
            a later version.
        CorruptData: it is damaged or cut off.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._kernel: ModuleType = load_archive_kernel()
        self.require_part(KEYS, _KEY_SECTIONS[0])
        self._parts, self._owners, self._ranks, self._slots, self._posts = map(
            self.file.require, _KEY_SECTIONS
        )
        self._require_geometry()
        self.key_kinds = self._read_key_kinds()

    def values(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return what the slot of each key holds, and -1 where a key is not among those of the archive.

        Of unknown keys one in 65,536 is taken for a known one.

        Raises:
            CorruptData: a page of the file that was needed is damaged.

        Cost: 0.06 to 0.15 µs a key once the file is in memory.
        """
        values = np.empty(keys.size, np.int64)
        file = self.file
        damaged = self._kernel.probe(
            *(file.words, file.checks, file.seen),
            *(self._parts.offset, self._owners.offset, self._ranks.offset),
            self._parts.item_count.bit_length() - 1,
            *(self._slots.offset, self._slots.item_count, self._slots.item_bits),
            keys,
            values,
        )
        file.require_sound(damaged)
        return values

    def probe(self, keys: NDArray[np.uint64], queries: NDArray[np.int64]) -> Candidates:
        """Return the pages that have some of these keys.

        Args:
            keys: of all queries.
            queries: to which query each key belongs, ascending.

        Raises:
            CorruptData: a page of the file that was needed is damaged.
        """
        values = self.values(keys)
        known = np.flatnonzero(values != self._kernel.ABSENT)
        if not known.size:
            return _NO_CANDIDATES
        values, queries = values[known], queries[known]
        room = int(np.sum(np.where(values & 1, MOST_POSTS, 1)))
        rows, found_for, counts = np.empty(room, np.int64), np.empty(room, np.int64), np.zeros(2, np.int64)
        file = self.file
        damaged = self._kernel.expand_posts(
            *(file.data, file.words, file.checks, file.seen),
            *(self._posts.offset, self._posts.size_bytes, self.header.page_count, MOST_POSTS),
            *(values, queries, rows, found_for, counts),
        )
        file.require_sound(damaged)
        count, sampled_count = counts.tolist()
        pairs = np.unique(found_for[:count] << 32 | rows[:count])
        return Candidates(pairs >> 32, pairs & 0xFFFFFFFF, sampled_count)

    def sketches(self, rows: NDArray[np.int64]) -> list[FrozenSketch]:
        """Return what is kept of these pages.

        Raises:
            CorruptData: a page of the file that was needed is damaged, or there is no such row.

        Cost: 100 µs, and 2 µs a page.
        """
        file = self.file
        sketch = file.require("sketch")
        return [
            FrozenSketch(*fields)
            for fields in zip(
                self._words("simhash", rows),
                self._words("text", rows),
                [row.tobytes() for row in file.rows_of(sketch, rows)],
                self._counts("shingles", rows),
                self._wholes(rows),
                self._counts("whole.count", rows),
                self._words("scope", rows),
                strict=True,
            )
        ]

    def _words(self, name: str, rows: NDArray[np.int64]) -> list[int]:
        if name not in self.file.sections:
            return [0] * rows.size
        words: list[int] = self.file.rows_of(self.file.sections[name], rows).view("<u8").reshape(-1).tolist()
        return words

    def _counts(self, name: str, rows: NDArray[np.int64]) -> list[int]:
        section = self.file.sections.get(name)
        if section is None:
            return [0] * rows.size
        self.file.touch(section, rows)
        counts: list[int] = unpack(self.file.data[section.offset :], section.item_bits, rows).tolist()
        return counts

    def _wholes(self, rows: NDArray[np.int64]) -> list[bytes]:
        if "whole" not in self.file.sections:
            return [b""] * rows.size
        return [self._whole(row) for row in rows.tolist()]

    def _whole(self, row: int) -> bytes:
        """Return `whole` of a page: it lies where its group of rows begins, behind those before it there."""
        file, group = self.file, row // WHOLE_ROWS
        sizes = whole_sizes(file, group * WHOLE_ROWS, row + 1)
        starts = file.bytes_of(file.require("whole.starts"), 8 * group, 8 * group + 8)
        start = int(starts.view("<u8")[0]) + int(sizes[:-1].sum())
        return file.bytes_of(file.require("whole"), start, start + int(sizes[-1])).tobytes()

    def _read_key_kinds(self) -> frozenset[KeyKind]:
        """Return the kinds of its keys: its schema names them only where they are others than bands."""
        schema = self.facts.get("schema")
        named = schema.get(KEY_KINDS) if isinstance(schema, dict) else None
        if named is None:
            return BANDS_ONLY
        kinds = frozenset(str(named).split(","))
        if not kinds <= set(get_args(KeyKind)):
            raise ConfigError(
                f"{self.file.path} was frozen with keys that this program does not know: {named}"
            )
        return cast("frozenset[KeyKind]", kinds)

    def _require_geometry(self) -> None:
        """Hold what compiled code relies on; only a file that was not written by us fails.

        Raises:
            CorruptData: sections do not fit each other.
        """
        pages = self.header.page_count
        parts, slots = self._parts, self._slots
        sketch = self.file.require("sketch")
        present = self.file.sections.keys()
        words = map(self.file.require, ("simhash", "text", *({"scope"} & present)))
        counts = map(self.file.require, ("shingles", *({"whole.count"} & present)))
        is_sound = (
            parts.item_count.bit_count() == 1
            and _holds(parts, 8 * PART_BYTES)
            and _holds(self._owners, 2)
            and _holds(self._ranks, 32)
            and CHECK_BITS < slots.item_bits <= MAX_PACKED_BITS
            and all(_holds(each, 64, pages) for each in words)
            and all(0 < each.item_bits <= MAX_PACKED_BITS and each.item_count == pages for each in counts)
            and sketch.item_count == pages
            and sketch.item_bits % 8 == 0
            and parts_fit(
                self.file.bytes_of(parts, 0, parts.item_count * PART_BYTES),
                *(slots.item_count, self._owners.item_count, self._ranks.item_count),
            )
        )
        if not is_sound:
            raise CorruptData(f"{self.file.path}: its sections do not fit each other")


def _holds(section: Section, item_bits: int, items: int | None = None) -> bool:
    """Return whether the items of a section are of this width, and as many as they must be."""
    return section.item_bits == item_bits and items in (None, section.item_count)
