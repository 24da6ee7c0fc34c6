"""Writes the part `search` of an archive: signatures of pages as bit slices, planned from a sample of them.

    terms of each page ──► class by their number ──► plan: frequent terms, a width for each class ──► tiles

Frequent terms get an exact slice of their own: from some 2.5 % of pages on it is smaller than their bits in
signatures.
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from neardup_stream.archive.kernels import load_search_kernel
from neardup_stream.archive.pages import FrozenPage
from neardup_stream.archive.search_tiles import (
    MAX_TILE_PAGES,
    MAX_WIDTH,
    MOMENTS,
    NO_PAGE,
    SEARCH,
    TILE,
)
from neardup_stream.archive.spills import SpilledColumn
from neardup_stream.archive.writing import ArchiveWriter
from neardup_stream.fingerprints.signatures import (
    class_of,
    densities,
    drop_share,
    least_width,
    private_share,
)

__all__ = ["FALSE_DROPS", "SLICES", "SlicesWriter"]

SLICES: Final = 8
"""Bits that a term sets in a signature."""

FALSE_DROPS: Final = 1.0
"""Pages of an archive that a search for one term may report though they lack it."""

_SAMPLED_PAGES: Final = 16_384
_TILE_BYTES: Final = 1 << 25
"""A tile of long signatures has fewer pages than MAX_TILE_PAGES, so as to fit into this."""

_TILE_COLUMNS: Final = 128
"""The pages of a tile are a multiple of this, but for the last of a class."""

_MARKED_AT_ONCE: Final = 1 << 20
"""Terms."""

_TERM_BYTES: Final = 8
_TERM_BITS: Final = 64


class _Frequent(NamedTuple):
    """The frequent terms, and an open-addressing table of them for compiled code."""

    terms: NDArray[np.uint64]
    table: NDArray[np.uint64]
    numbers: NDArray[np.int64]


class _Class(NamedTuple):
    """Pages with about as many terms, in the order of the log.

    Attributes:
        terms: of all pages, 8 bytes each.
        rows: of the pages.
        counts: terms of each page.
    """

    terms: SpilledColumn
    rows: "array[int]"
    counts: "array[int]"


class _Plan(NamedTuple):
    """What was decided before the first tile is written.

    Attributes:
        frequent: terms with slices of their own.
        widths: of the signatures of each class.
    """

    frequent: _Frequent
    widths: Mapping[int, int]


class SlicesWriter:
    """Collects the terms of pages, and writes the sections `search.*`; see `PartWriter`.

    Args:
        directory: for temporary files.
        false_drops: pages that a search for one term may report though they lack it.
    """

    name = SEARCH

    def __init__(self, directory: Path, false_drops: float = FALSE_DROPS) -> None:
        self._kernel: ModuleType = load_search_kernel()
        self._directory = directory
        self._false_drops = false_drops
        self._classes: dict[int, _Class] = {}
        self._stack = ExitStack()
        self._count = self._term_count = 0
        self._plan: _Plan | None = None

    def __enter__(self) -> Self:
        """Nothing yet: a class gets its temporary file with its first page."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Remove the temporary files."""
        self._stack.close()

    def add(self, pages: Sequence[FrozenPage], first_row: int) -> None:
        """See `PartWriter`. Cost: 1 µs a page."""
        counts = np.array([len(page.terms) // _TERM_BYTES for page in pages], np.int64)
        for page, count, number in zip(pages, counts.tolist(), class_of(counts).tolist(), strict=True):
            members = self._class(number)
            members.terms.write(page.terms)
            members.rows.append(first_row)
            members.counts.append(count)
            first_row += 1
        self._count += len(pages)
        self._term_count += int(counts.sum())

    def facts(self) -> Mapping[str, Any]:
        """What was planned."""
        plan = self._planned()
        return {
            "slices": SLICES,
            "false_drops": self._false_drops,
            "terms": self._term_count,
            "frequent_terms": plan.frequent.terms.size,
            "widths": [plan.widths[number] for number in sorted(plan.widths)],
        }

    def write(self, writer: ArchiveWriter, page_count: int) -> None:  # noqa: ARG002 - rows are counted here
        """See `PartWriter`. Cost: 12 µs a page of 150 terms."""
        plan = self._planned()
        tiles: list[NDArray[np.void]] = []
        rows: list[bytes] = []
        writer.add("search.bits", self._tiles(plan, tiles, rows), 0)
        column_count = sum(map(len, rows)) // 4
        writer.add("search.tiles", [tile.tobytes() for tile in tiles], len(tiles), 8 * TILE.itemsize)
        writer.add("search.terms", [plan.frequent.terms.tobytes()], plan.frequent.terms.size, _TERM_BITS)
        writer.add("search.columns", rows, column_count, 32)

    def _class(self, number: int) -> _Class:
        if number not in self._classes:
            terms = self._stack.enter_context(SpilledColumn(self._directory))
            self._classes[number] = _Class(terms, array("I"), array("I"))
        return self._classes[number]

    def _planned(self) -> _Plan:
        """The plan, made of pages at equal distances in the log."""
        if self._plan is None:
            dropped = drop_share(self._count, SLICES, self._false_drops)
            step = max(1, -(-self._count // _SAMPLED_PAGES))
            samples = {number: _sample(self._classes[number], step) for number in sorted(self._classes)}
            frequent = self._frequent([sample for sample in samples.values() if sample], dropped)
            widths = {
                number: self._width(number, sample, frequent, dropped) for number, sample in samples.items()
            }
            self._plan = _Plan(frequent, widths)
        return self._plan

    def _frequent(self, samples: Sequence[Sequence[bytes]], dropped: float) -> _Frequent:
        pages = [page for sample in samples for page in sample]
        terms, counts = np.unique(np.frombuffer(b"".join(pages), "<u8"), return_counts=True)
        share = private_share(self._count, SLICES, dropped, _TERM_BITS)
        chosen = terms[counts > share * len(pages)]
        size = 1 << (2 * chosen.size + 1).bit_length()
        frequent = _Frequent(chosen, np.zeros(size, np.uint64), np.empty(size, np.int64))
        self._kernel.fill_table(*frequent)
        return frequent

    def _width(self, number: int, sample: Sequence[bytes], frequent: _Frequent, dropped: float) -> int:
        """Bits of a signature of a class; 0 for pages without terms."""
        if number == 0:
            return 0
        if sample:
            terms = np.frombuffer(b"".join(sample), "<u8")
            counts = np.array([len(page) // _TERM_BYTES for page in sample], np.int64)
            hashed = np.empty(counts.size, np.int64)
            self._kernel.count_hashed(terms, counts, frequent.table, frequent.numbers, hashed)
        else:
            hashed = np.array(self._classes[number].counts, np.int64)
        return min(MAX_WIDTH, least_width(hashed.astype(np.float64), SLICES, dropped))

    def _tiles(self, plan: _Plan, tiles: list[NDArray[np.void]], rows: list[bytes]) -> Iterator[bytes]:
        """The bytes of all tiles; what is to be said of each is appended to `tiles` and `rows`."""
        offset = first = 0
        for number in sorted(self._classes):
            members, width = self._classes[number], plan.widths[number]
            slice_count = width + plan.frequent.terms.size
            start = 0
            at_byte = 0
            while start < len(members.rows):
                end = min(start + _tile_pages(slice_count), len(members.rows))
                counts = np.array(members.counts[start:end], np.int64)
                size = _TERM_BYTES * int(counts.sum())
                bits, hashed = self._marked(members.terms, at_byte, counts, width, plan.frequent)
                own = np.full(8 * bits.shape[1], NO_PAGE, "<u4")
                own[: end - start] = members.rows[start:end]
                rows.append(own.tobytes())
                moments = _moments(hashed, width)
                tiles.append(np.array([(offset, first, end - start, width, SLICES, number, moments)], TILE))
                offset, first = offset + bits.size, first + own.size
                start, at_byte = end, at_byte + size
                yield bits.tobytes()

    def _marked(
        self, terms: SpilledColumn, at_byte: int, counts: NDArray[np.int64], width: int, frequent: _Frequent
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """A tile, and how many terms of each of its pages are in signatures."""
        bits = np.zeros((width + frequent.terms.size, -(-counts.size // 8)), np.uint8)
        hashed = np.empty(counts.size, np.int64)
        column = 0
        at_once = max(1, _MARKED_AT_ONCE // max(1, int(counts.max())))
        while column < counts.size:
            own = counts[column : column + at_once]
            size = _TERM_BYTES * int(own.sum())
            self._kernel.mark_pages(
                *(np.frombuffer(terms.read(at_byte, size), "<u8"), own, column, width, SLICES),
                *(frequent.table, frequent.numbers, bits, hashed[column : column + own.size]),
            )
            at_byte, column = at_byte + size, column + own.size
        return bits, hashed


def _sample(members: _Class, step: int) -> list[bytes]:
    """The terms of those pages of a class whose row is a multiple of `step`."""
    ends = np.cumsum(np.array(members.counts, np.int64)) * _TERM_BYTES
    places = np.flatnonzero(np.array(members.rows, np.int64) % step == 0).tolist()
    sizes = [members.counts[place] * _TERM_BYTES for place in places]
    return [
        members.terms.read(int(ends[place]) - size, size) for place, size in zip(places, sizes, strict=True)
    ]


def _tile_pages(slice_count: int) -> int:
    """The pages of a full tile with so many slices."""
    fitting = 8 * _TILE_BYTES // max(slice_count, 1) // _TILE_COLUMNS * _TILE_COLUMNS
    return min(MAX_TILE_PAGES, max(_TILE_COLUMNS, fitting))


def _moments(hashed: NDArray[np.int64], width: int) -> NDArray[np.float64]:
    """Mean of p ** j over pages with so many terms in signatures, float64[j - 1]."""
    lengths, weights = np.unique(hashed, return_counts=True)
    shares = densities(lengths.astype(np.float64), width, SLICES)
    powers = shares[:, None] ** np.arange(1, MOMENTS + 1)
    moments: NDArray[np.float64] = weights @ powers / hashed.size
    return moments
