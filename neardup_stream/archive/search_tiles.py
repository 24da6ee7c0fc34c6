"""Define the sections `search.*` of an archive: signatures of pages as bit slices, in tiles.

    tile ──► slice 0 ┐ width slices of the signatures: bit c is that of the page in column c
             …       ┘
             …       ◄ one slice for each frequent term

docs/archive-format.md describes every field.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from types import ModuleType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from neardup_stream.archive.kernels import load_search_kernel
from neardup_stream.archive.layout import MAX_PAGES
from neardup_stream.archive.logged import LoggedArchive
from neardup_stream.archive.reading import ArchiveFile
from neardup_stream.errors import CorruptData

__all__ = [
    "MAX_TILE_PAGES",
    "MAX_WIDTH",
    "MOMENTS",
    "NO_PAGE",
    "SEARCH",
    "SECTIONS",
    "TILE",
    "Bitmap",
    "SearchTiles",
    "cleared_bits",
    "cleared_columns",
]

SEARCH: Final = "search"
"""The part's name."""

SECTIONS: Final = ("search.tiles", "search.terms", "search.columns", "search.bits")
MAX_TILE_PAGES: Final = 16_384
MAX_WIDTH: Final = 1 << 21
"""Bits of a signature: enough for 50,000 distinct terms. Longer pages have most of them set."""

MOMENTS: Final = 64
NO_PAGE: Final = MAX_PAGES + 1
"""In a column that no page has: the last ones of a tile, and those that a rewrite emptied."""

TILE: Final = np.dtype(
    [
        ("offset", "<u8"),
        ("first", "<u8"),
        ("pages", "<u4"),
        ("width", "<u4"),
        ("slices", "<u4"),
        ("class", "<u4"),
        ("moments", "<f8", (MOMENTS,)),
    ]
)
"""One item of `search.tiles`."""

Bitmap = NDArray[np.uint8]
"""One bit for each column of all tiles, the lowest of a byte first."""

_CLEARED_AT_ONCE_BYTES: Final = 1 << 22


class SearchTiles:
    """Reads the tiles of an archive.

    Several threads may ask at once.

    Args:
        archive: opened.

    Attributes:
        archive: as given.
        first_bytes: where the columns of each tile begin in a bitmap, int64[tiles].
        page_counts: pages of each tile, int64[tiles].
        moments: mean of p ** j over the pages of each tile, float64[tiles, j - 1], where p is the expected
            share of bits that are set in a page's signature.
        slices: that a term which is not frequent has.

    Raises:
        ConfigError: the archive was frozen without search.
        CorruptData: it is damaged.
    """

    def __init__(self, archive: LoggedArchive) -> None:
        self._kernel: ModuleType = load_search_kernel()
        self.archive = archive
        self._file = archive.file
        self._bits = archive.require_part(SEARCH, "search.bits")
        tiles = archive.require_part(SEARCH, "search.tiles")
        self._columns = archive.require_part(SEARCH, "search.columns")
        terms = archive.require_part(SEARCH, "search.terms")
        for section, item_bytes in ((terms, 8), (tiles, TILE.itemsize)):
            if section.size_bytes != section.item_count * item_bytes:
                raise _not_fitting(self._file)
        self._terms = self._file.section(terms.name).view("<u8")
        directory = self._file.section(tiles.name).view(TILE)
        self._offsets, firsts, self.page_counts, self._widths = (
            directory[name].astype(np.int64) for name in ("offset", "first", "pages", "width")
        )
        self.first_bytes: NDArray[np.int64] = firsts >> 3
        self._strides: NDArray[np.int64] = (self.page_counts + 7) >> 3
        self.moments: NDArray[np.float64] = np.ascontiguousarray(directory["moments"])
        self.slices = int(directory["slices"].max(initial=0))
        self._require_geometry(directory)

    @property
    def bitmap_bytes(self) -> int:
        """Return the size of a bitmap."""
        return self._columns.item_count // 8

    @cached_property
    def pages(self) -> Bitmap:
        """Return the columns that a page has; computed at the first call.

        Raises:
            CorruptData: a page of the file that was needed is damaged.
        """
        rows = self._file.section(self._columns.name).view("<u4")
        return np.packbits(rows != NO_PAGE, bitorder="little")

    def rows(self, columns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows of the pages in these columns.

        Raises:
            CorruptData: a page of the file that was needed is damaged.
        """
        rows = self._file.rows_of(self._columns, columns).view("<u4").reshape(-1).astype(np.int64)
        if rows.size and rows.max() >= self.archive.header.page_count:
            raise CorruptData(f"{self._file.path}: section 'search.columns' names a page that is not there")
        return rows

    def private_slice(self, term: int) -> int:
        """Return the number of the slice that a frequent term has for itself; -1 for other terms."""
        place = int(np.searchsorted(self._terms, np.uint64(term)))
        return place if place < self._terms.size and int(self._terms[place]) == term else -1

    def find(self, term: int) -> Bitmap:
        """Return the columns of the pages that have all bits of a term.

        Raises:
            CorruptData: a page of the file that was needed is damaged.

        Cost: 0.1 ms for a million pages once the file is in memory.
        """
        found = np.zeros(self.bitmap_bytes, np.uint8)
        file = self._file
        damaged = self._kernel.find_term(
            *(file.data, file.words, file.checks, file.seen, self._bits.offset),
            *(self._offsets, self._strides, self._widths, self.first_bytes),
            *(self.slices, self.private_slice(term), np.uint64(term), found),
        )
        file.require_sound(damaged)
        return found

    def own_slices(self, term: int, others: Sequence[int]) -> NDArray[np.int64]:
        """Return how many slices of each tile only this term sets, none of some others, int64[tiles].

        Args:
            term: without a slice of its own.
            others: likewise.
        """
        counts = np.zeros(self._widths.size, np.int64)
        theirs = np.array(others, np.uint64)
        self._kernel.count_own_slices(np.uint64(term), theirs, self.slices, self._widths, counts)
        return counts

    def drop_rates(self, slice_counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how likely a page of each tile has the bits of so many slices by chance, float64[tiles]."""
        rates = self.moments[np.arange(slice_counts.size), np.clip(slice_counts, 1, MOMENTS) - 1]
        return np.where(self._widths == 0, 0.0, np.where(slice_counts == 0, 1.0, rates))

    def extents(self) -> Iterator[tuple[int, int, int]]:
        """Yield for each tile: where its columns begin in a bitmap, the bytes of a slice, and of the tile."""
        sizes = (self._widths + self._terms.size) * self._strides
        yield from zip(self.first_bytes.tolist(), self._strides.tolist(), sizes.tolist(), strict=True)

    def _require_geometry(self, directory: NDArray[np.void]) -> None:
        """Hold what compiled code relies on; only a file that was not written by us fails.

        Raises:
            CorruptData: sections do not fit each other.
        """
        sizes = (self._widths + self._terms.size) * self._strides
        columns = 8 * self._strides
        is_sound = (
            self._columns.item_bits == 32
            and bool(np.all(self.page_counts > 0))
            and self._columns.size_bytes == 4 * self._columns.item_count
            and np.array_equal(8 * self.first_bytes, np.cumsum(columns) - columns)
            and self._columns.item_count == int(columns.sum())
            and np.array_equal(self._offsets, np.cumsum(sizes) - sizes)
            and self._bits.size_bytes == int(sizes.sum())
            and bool(np.all(self._widths <= MAX_WIDTH))
            and bool(np.all(directory["slices"] == self.slices))
            and self.slices <= MOMENTS
        )
        if not is_sound:
            raise _not_fitting(self._file)


def cleared_columns(tiles: SearchTiles, gone: NDArray[np.bool_]) -> bytes:
    """Return the section `search.columns` without the pages that are gone."""
    file = tiles.archive.file
    rows = file.section("search.columns").view("<u4").copy()
    taken = np.flatnonzero(rows != NO_PAGE)
    if np.any(rows[taken] >= gone.size):
        raise _not_fitting(file)
    rows[taken[gone[rows[taken]]]] = NO_PAGE
    return rows.tobytes()


def cleared_bits(tiles: SearchTiles, gone: NDArray[np.bool_]) -> Iterator[bytes]:
    """Yield the section `search.bits` without the bits of the pages that are gone."""
    file, section = tiles.archive.file, tiles.archive.file.require("search.bits")
    rows = np.frombuffer(cleared_columns(tiles, gone), "<u4")
    kept = np.packbits(rows != NO_PAGE, bitorder="little")
    at = 0
    for start, stride, size in tiles.extents():
        mask = kept[start : start + stride]
        at_once = max(1, _CLEARED_AT_ONCE_BYTES // stride) * stride
        for begin in range(at, at + size, at_once):
            end = min(begin + at_once, at + size)
            yield (file.bytes_of(section, begin, end).reshape(-1, stride) & mask).tobytes()
        at += size


def _not_fitting(file: ArchiveFile) -> CorruptData:
    return CorruptData(f"{file.path}: its sections of search do not fit each other")
