"""Write the part `search` of an archive: signatures of pages as bit slices, planned from a sample of pages.

    terms of pages ──► frequent ones (of a sample) ──► classes by the number of the others, widths ──► tiles

Frequent terms get an exact slice each: above some 2.5 % of the pages it is smaller than their bits in
signatures.
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence
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
from neardup_stream.archive.spills import PARTITIONS, PartitionedRows, SpilledColumn
from neardup_stream.archive.writing import ArchiveWriter
from neardup_stream.chunks import in_runs
from neardup_stream.fingerprints.signatures import (
    class_of,
    densities,
    drop_share,
    least_width,
    private_share,
)

__all__ = ["FALSE_DROPS", "SLICES", "SlicesWriter", "sampled_step"]

SLICES: Final = 8
"""Bits that a term sets in a signature."""

FALSE_DROPS: Final = 1.0
"""The accepted false drops of a search for one term in an archive."""

_SAMPLED_PAGES: Final = 16_384
_SAMPLED_BYTES: Final = 1 << 31
"""Bytes of sampled terms: of long pages fewer are sampled, so that one of PARTITIONS has some 8 MiB.
Independent of the available memory, because equal pages must give equal archives.
"""

_TERM_ROW: Final = np.dtype([("term", "<u8")])
_TILE_BYTES: Final = 1 << 25
"""The most bytes of a tile; a tile of long signatures has fewer pages than MAX_TILE_PAGES."""

_TILE_COLUMNS: Final = 128
"""The pages of a tile are a multiple of this, except for the last tile of a class."""

_MARKED_AT_ONCE: Final = 1 << 20
"""Terms processed at once."""

_TERM_BYTES: Final = 8
_TERM_BITS: Final = 64


class _Frequent(NamedTuple):
    """The frequent terms, and an open-addressing table of them for compiled code."""

    terms: NDArray[np.uint64]
    table: NDArray[np.uint64]
    numbers: NDArray[np.int64]


class _Plan(NamedTuple):
    """The plan, made before the first tile is written.

    Attributes:
        frequent: terms with slices of their own.
        hashed: how many other terms each page has, int64[pages].
        classes: of each page, by these numbers, int64[pages].
        widths: of the signatures of each class.
    """

    frequent: _Frequent
    hashed: NDArray[np.int64]
    classes: NDArray[np.int64]
    widths: Mapping[int, int]


class SlicesWriter:
    """Collect the terms of pages, and write the sections `search.*`; see `PartWriter`.

    Args:
        directory: for temporary files.
        memory_bytes: limit of sampled terms in memory.
        false_drops: the accepted false drops of a search for one term.
    """

    name = SEARCH

    def __init__(self, directory: Path, memory_bytes: int, false_drops: float = FALSE_DROPS) -> None:
        self._directory = directory
        self._memory_bytes = memory_bytes
        self._kernel: ModuleType = load_search_kernel()
        self._false_drops = false_drops
        self._terms = SpilledColumn(directory)
        self._counts = array("I")
        self._plan: _Plan | None = None

    def __enter__(self) -> Self:
        """Create the temporary file."""
        self._terms.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        """Remove the temporary file."""
        self._terms.__exit__(*exc)

    def add(self, pages: Sequence[FrozenPage], first_row: int) -> None:  # noqa: ARG002 - rows are counted here
        """See `PartWriter`. Cost: 1 µs a page."""
        for page in pages:
            self._terms.write(page.terms)
            self._counts.append(len(page.terms) // _TERM_BYTES)

    def facts(self) -> Mapping[str, Any]:
        """Return the figures of the plan."""
        plan = self._planned()
        return {
            "slices": SLICES,
            "false_drops": self._false_drops,
            "terms": self._terms.size_bytes // _TERM_BYTES,
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

    def _planned(self) -> _Plan:
        """Return the plan: the frequent terms of a sample, and signature widths for the other terms."""
        if self._plan is None:
            dropped = drop_share(len(self._counts), SLICES, self._false_drops)
            frequent = self._frequent(dropped)
            hashed = self._hashed(frequent)
            classes = class_of(hashed)
            widths = {
                number: min(
                    MAX_WIDTH, least_width(hashed[classes == number].astype(np.float64), SLICES, dropped)
                )
                for number in np.unique(classes).tolist()
            }
            self._plan = _Plan(frequent, hashed, classes, widths | {0: 0})
        return self._plan

    def _hashed(self, frequent: _Frequent) -> NDArray[np.int64]:
        """Return how many terms of each page are not frequent."""
        counts = np.array(self._counts, np.int64)
        hashed = np.empty(counts.size, np.int64)
        first = at = 0
        for group in _groups(counts):
            size = _TERM_BYTES * int(group.sum())
            terms = np.frombuffer(self._terms.read(at, size), "<u8")
            found = hashed[first : first + group.size]
            self._kernel.count_hashed(terms, group, frequent.table, frequent.numbers, found)
            first, at = first + group.size, at + size
        return hashed

    def _frequent(self, dropped: float) -> _Frequent:
        """Return the frequent terms of pages at equal distances in the log, one partition at a time."""
        counts = np.array(self._counts, np.int64)
        step = sampled_step(counts)
        starts = np.cumsum(counts) - counts
        sampled = counts[::step].tolist()
        least = private_share(counts.size, SLICES, dropped, _TERM_BITS) * len(sampled)
        pieces = []
        with PartitionedRows(_TERM_ROW, self._directory, self._memory_bytes) as rows:
            for start, count in zip(starts[::step].tolist(), sampled, strict=True):
                rows.add(np.frombuffer(self._terms.read(_TERM_BYTES * start, _TERM_BYTES * count), _TERM_ROW))
            for number in range(PARTITIONS):
                terms, page_counts = np.unique(rows.partition(number)["term"], return_counts=True)
                pieces.append(terms[page_counts > least])
        chosen = np.concatenate(pieces)
        size = 1 << (2 * chosen.size + 1).bit_length()
        frequent = _Frequent(chosen, np.zeros(size, np.uint64), np.empty(size, np.int64))
        self._kernel.fill_table(*frequent)
        return frequent

    def _tiles(self, plan: _Plan, tiles: list[NDArray[np.void]], rows: list[bytes]) -> Iterator[bytes]:
        """Yield the bytes of all tiles; append the description of each to `tiles` and `rows`."""
        counts = np.array(self._counts, np.int64)
        starts = np.cumsum(counts) - counts
        offset = first = 0
        for number in np.unique(plan.classes).tolist():
            width = plan.widths[number]
            members = np.flatnonzero(plan.classes == number)
            size = _tile_pages(width + plan.frequent.terms.size)
            for begin in range(0, members.size, size):
                own = members[begin : begin + size]
                bits = self._marked(starts[own], counts[own], width, plan.frequent)
                columns = np.full(8 * bits.shape[1], NO_PAGE, "<u4")
                columns[: own.size] = own
                moments = _moments(plan.hashed[own], width)
                tiles.append(np.array([(offset, first, own.size, width, SLICES, number, moments)], TILE))
                rows.append(columns.tobytes())
                offset, first = offset + bits.size, first + columns.size
                yield bits.tobytes()

    def _marked(
        self, starts: NDArray[np.int64], counts: NDArray[np.int64], width: int, frequent: _Frequent
    ) -> NDArray[np.uint8]:
        """Return the tile of pages whose terms begin at `starts`."""
        bits = np.zeros((width + frequent.terms.size, -(-counts.size // 8)), np.uint8)
        column = 0
        for group in _groups(counts):
            own = starts[column : column + group.size]
            pieces = [
                self._terms.read(_TERM_BYTES * start, _TERM_BYTES * count)
                for start, count in zip(own.tolist(), group.tolist(), strict=True)
            ]
            terms = np.frombuffer(b"".join(pieces), "<u8")
            self._kernel.mark_pages(
                terms, group, column, width, SLICES, frequent.table, frequent.numbers, bits
            )
            column += group.size
        return bits


def sampled_step(counts: NDArray[np.int64]) -> int:
    """Return the distance between sampled pages with so many terms each."""
    step = max(1, -(-counts.size // _SAMPLED_PAGES))
    while step < counts.size and _TERM_BYTES * int(counts[::step].sum()) > _SAMPLED_BYTES:
        step *= 2
    return step


def _groups(counts: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Return the numbers of terms of pages, in groups of at most _MARKED_AT_ONCE terms."""
    return (counts[start:end] for start, end in in_runs(counts, _MARKED_AT_ONCE))


def _tile_pages(slice_count: int) -> int:
    """Return the pages of a full tile with so many slices."""
    fitting = 8 * _TILE_BYTES // max(slice_count, 1) // _TILE_COLUMNS * _TILE_COLUMNS
    return min(MAX_TILE_PAGES, max(_TILE_COLUMNS, fitting))


def _moments(hashed: NDArray[np.int64], width: int) -> NDArray[np.float64]:
    """Return the mean of p ** j over pages with so many terms in signatures, float64[j - 1]."""
    lengths, weights = np.unique(hashed, return_counts=True)
    shares = densities(lengths.astype(np.float64), width, SLICES)
    powers = shares[:, None] ** np.arange(1, MOMENTS + 1)
    moments: NDArray[np.float64] = weights @ powers / hashed.size
    return moments
