"""Store the frame table of one site: on how many of its pages each line was seen.

    stamp, 8 bytes │ pages counted, 2 bytes │ line hashes, 4 bytes each, ascending │ counts, 1 byte each

Counts are of distinct pages in a sliding window: when MAX_PAGES pages are counted, all counts are halved, so
that the frame of an earlier design disappears. A table is bounded: the rarest lines are dropped, and of
equally rare ones the older. Some room is for lines of the latest pages, however rare: else the frame of a
later section would never be learned.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from neardup_stream.errors import CorruptData
from neardup_stream.ordered import are_first

__all__ = [
    "MAX_PAGES",
    "STAMP_BYTES",
    "FrameTable",
    "LearningStep",
    "LineHashes",
    "distinct_lines",
    "learn_tables",
]

LineHashes = NDArray[np.uint32]
"""Hashes of lines: 32 bits over the sequence of tokens."""

MAX_PAGES = 255
"""The most pages counted, so that a count fits in one byte."""

STAMP_BYTES = 8
"""The first bytes of a packed table. They differ after every write, so a writer detects a concurrent write.
"""

_MOST_ONCE = 1024
"""Lines that are counted once, at most: nearly all of them are content."""

_LATEST = 8
"""One in so many of the lines that are kept may be rarer than those dropped, if the latest pages have it."""

_PAGES_AT_ONCE = MAX_PAGES // 2
_RANKS = 2 * (MAX_PAGES + 1)
_HASH_BITS = np.uint64(32)
_OWNER_BITS = np.uint64(7)
"""As many as the number of a page below _PAGES_AT_ONCE has."""

_HEADER_BYTES = STAMP_BYTES + 2
_LINE_BYTES = 5


def distinct_lines(lines: LineHashes) -> LineHashes:
    """Return the lines of a page in ascending order, each once. Cost: 4 µs, a fourth of `np.unique`."""
    ordered = np.sort(lines)
    return ordered[are_first(ordered)]


class FrameTable(NamedTuple):
    """Line counts of one site.

    Attributes:
        page_count: pages counted, 0 to MAX_PAGES.
        hashes: uint32[lines], ascending and distinct.
        counts: uint8[lines], on how many of those pages each line was, from 1.
    """

    page_count: int
    hashes: LineHashes
    counts: NDArray[np.uint8]

    @classmethod
    def empty(cls) -> Self:
        """Return the table of a site without counted pages."""
        return cls(0, np.empty(0, np.uint32), np.empty(0, np.uint8))

    def counts_of(self, lines: LineHashes) -> NDArray[np.int64]:
        """Return on how many counted pages each of these lines was, 0 for unknown ones.

        Cost: 5 µs for 100 lines.
        """
        if not self.hashes.size:
            return np.zeros(lines.size, np.int64)
        at = np.minimum(self.hashes.searchsorted(lines), self.hashes.size - 1)
        return np.where(self.hashes[at] == lines, self.counts[at], 0).astype(np.int64)

    def learn(self, pages: Sequence[LineHashes], max_lines: int) -> "FrameTable":
        """Return the table with some more pages.

        Args:
            pages: the lines of each page; a line that a page repeats counts once.
            max_lines: lines to keep, from 1.

        Cost: see `learn_tables`.
        """
        (table,) = learn_tables([self], [pages], max_lines)
        return table

    def halved(self) -> "FrameTable":
        """Return the table with half of each count."""
        counts: NDArray[np.uint8] = np.right_shift(self.counts, np.uint8(1))
        return FrameTable(self.page_count // 2, self.hashes[counts > 0], counts[counts > 0])

    def pack(self, stamp: bytes) -> bytes:
        """Return the stored bytes; `stamp` is 8 bytes that no other write has."""
        return b"".join(
            [
                stamp,
                self.page_count.to_bytes(2, "big"),
                self.hashes.astype("<u4").tobytes(),
                self.counts.tobytes(),
            ]
        )

    @staticmethod
    def unpack(packed: bytes | None) -> "FrameTable":
        """Read what `pack` wrote; return the empty table for None.

        Raises:
            CorruptData: `pack` did not write these bytes.
        """
        if packed is None:
            return FrameTable.empty()
        line_count, odd = divmod(len(packed) - _HEADER_BYTES, _LINE_BYTES)
        if line_count < 0 or odd:
            raise CorruptData(f"a frame table of {len(packed)} bytes cannot be read")
        hashes_end = _HEADER_BYTES + 4 * line_count
        table = FrameTable(
            int.from_bytes(packed[STAMP_BYTES:_HEADER_BYTES], "big"),
            np.frombuffer(packed[_HEADER_BYTES:hashes_end], "<u4"),
            np.frombuffer(packed[hashes_end:], np.uint8),
        )
        if not table._is_sound():
            raise CorruptData(f"a frame table of {len(packed)} bytes has invalid contents")
        return table

    def _is_sound(self) -> bool:
        if self.page_count > MAX_PAGES or not np.all(self.hashes[:-1] < self.hashes[1:]):
            return False
        return not self.counts.size or 1 <= self.counts.min() <= self.counts.max() <= self.page_count


class LearningStep(NamedTuple):
    """A table before and after it learned some pages.

    Who holds the very table `before` may take `after` for it instead of learning the same pages once more.
    """

    before: FrameTable
    after: FrameTable


def learn_tables(
    tables: Sequence[FrameTable], pages: Sequence[Sequence[LineHashes]], max_lines: int
) -> list[FrameTable]:
    """Return the tables of some sites, each with more pages of its site.

    Args:
        tables: one of each site.
        pages: of each site, the lines of each page; a line that a page repeats counts once.
        max_lines: lines of a site to keep, from 1.

    Cost: 150 µs, 10 µs a site of some 1,000 lines, up to 2 ms one of 8,192, and 2 µs a page.
    """
    learned = list(tables)
    for start in range(0, max(map(len, pages), default=0), _PAGES_AT_ONCE):
        at = [site for site, of_site in enumerate(pages) if len(of_site) > start]
        more = [pages[site][start : start + _PAGES_AT_ONCE] for site in at]
        for site, table in zip(at, _learn([learned[site] for site in at], more, max_lines), strict=True):
            learned[site] = table
    return learned


def _learn(
    tables: Sequence[FrameTable], pages: Sequence[Sequence[LineHashes]], max_lines: int
) -> Iterator[FrameTable]:
    """Yield the tables with at most _PAGES_AT_ONCE more pages each, and one at least.

    A line is its site's number and its hash in one word, so that lines of all sites are sorted at once.
    """
    known = [
        table.halved() if table.page_count + len(of_site) > MAX_PAGES else table
        for table, of_site in zip(tables, pages, strict=True)
    ]
    former = _of_sites([table.hashes for table in known])
    taught, more = _taught_lines(pages)
    at = former.searchsorted(taught)
    is_new = np.ones(taught.size, np.bool_)
    if former.size:
        is_new = former[np.minimum(at, former.size - 1)] != taught
    lines = np.empty(former.size + np.count_nonzero(is_new), np.uint64)
    taught_at = at + np.cumsum(is_new) - is_new
    was_known = np.ones(lines.size, np.bool_)
    was_known[taught_at[is_new]] = False
    counts = np.zeros(lines.size, np.uint8)
    lines[was_known], counts[was_known] = former, np.concatenate([table.counts for table in known])
    lines[taught_at] = taught
    counts[taught_at] += more
    starts = lines.searchsorted(np.arange(len(tables) + 1, dtype=np.uint64) << _HASH_BITS)
    if (np.diff(starts) > min(max_lines, _MOST_ONCE)).any():
        is_taught = np.zeros(lines.size, np.bool_)
        is_taught[taught_at] = True
        is_kept = _are_in_bounds(counts, is_taught, starts, max_lines)
        lines, counts, starts = lines[is_kept], counts[is_kept], _starts(is_kept, starts)
    hashes = lines.astype(np.uint32)
    for table, of_site, (start, end) in zip(known, pages, pairwise(starts.tolist()), strict=True):
        yield FrameTable(table.page_count + len(of_site), hashes[start:end].copy(), counts[start:end].copy())


def _of_sites(hashes: Sequence[LineHashes]) -> NDArray[np.uint64]:
    """Return lines with the number of their site, given those of each site."""
    sites = np.repeat(np.arange(len(hashes), dtype=np.uint64), [each.size for each in hashes])
    return np.concatenate(hashes) | sites << _HASH_BITS


def _taught_lines(pages: Sequence[Sequence[LineHashes]]) -> tuple[NDArray[np.uint64], NDArray[np.uint8]]:
    """Return the lines of all pages, ascending and distinct, and on how many pages of their site each is."""
    owners = np.concatenate(
        [np.repeat(np.arange(len(of_site)), [page.size for page in of_site]) for of_site in pages]
    )
    lines = _of_sites([np.concatenate(of_site) for of_site in pages])
    owned = np.sort(lines << _OWNER_BITS | owners.astype(np.uint64))
    lines = owned[are_first(owned)] >> _OWNER_BITS
    starts = np.flatnonzero(are_first(lines))
    return lines[starts], np.diff(starts, append=lines.size).astype(np.uint8)


def _starts(is_left: NDArray[np.bool_], starts: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return where the lines of each site begin among those that are left."""
    return np.concatenate([[0], np.cumsum(is_left)])[starts]


def _are_in_bounds(
    counts: NDArray[np.uint8], is_taught: NDArray[np.bool_], starts: NDArray[np.intp], max_lines: int
) -> NDArray[np.bool_]:
    """Return which lines stay, so that each site has `max_lines` at most."""
    by_count = 2 * counts.astype(np.int64) + is_taught
    is_once = counts == 1
    is_kept: NDArray[np.bool_] = ~is_once | _are_kept(is_once, by_count, starts, _MOST_ONCE)
    if (np.diff(_starts(is_kept, starts)) > max_lines).any():
        latest = max_lines // _LATEST
        are_frequent = _are_kept(is_kept, by_count, starts, max_lines - latest)
        by_time = (MAX_PAGES + 1) * is_taught.astype(np.int64) + counts
        is_kept = are_frequent | _are_kept(is_kept & ~are_frequent, by_time, starts, latest)
    return is_kept


def _are_kept(
    is_left: NDArray[np.bool_], rank: NDArray[np.int64], starts: NDArray[np.intp], most: int
) -> NDArray[np.bool_]:
    """Return which of the lines that are left stay: of each site those of the highest ranks.

    Args:
        is_left: of each line.
        rank: of each line, below _RANKS; of equal ones the last stay.
        starts: where the lines of each site begin, and the last of them ends.
        most: of a site.
    """
    are_kept = np.zeros(is_left.size, np.bool_)
    are_kept[is_left] = _are_highest(rank[is_left], _starts(is_left, starts), most)
    return are_kept


def _are_highest(rank: NDArray[np.int64], starts: NDArray[np.intp], most: int) -> NDArray[np.bool_]:
    """Return which lines have the highest ranks of their site, `most` of each; see `_are_kept`."""
    sizes = np.diff(starts)
    site_count, sites = sizes.size, np.repeat(np.arange(sizes.size), sizes)
    up_to = (
        np.bincount(sites * _RANKS + rank, minlength=site_count * _RANKS)
        .reshape(site_count, _RANKS)
        .cumsum(1)
    )
    dropped = np.maximum(sizes - most, 0)
    bound = np.count_nonzero(up_to <= dropped[:, np.newaxis], axis=1)
    of_bound = dropped - np.where(bound > 0, up_to[np.arange(site_count), bound - 1], 0)
    is_bound = rank == bound[sites]
    numbers = np.concatenate([[0], np.cumsum(is_bound)])
    number_there = numbers[1:] - numbers[starts[:-1]][sites]
    is_kept: NDArray[np.bool_] = (rank > bound[sites]) | (is_bound & (number_there > of_bound[sites]))
    return is_kept
