"""Counts on how many other pages of its site each line of a batch is, while its pages teach. No I/O."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, pairwise, zip_longest

import numpy as np
from numpy.typing import NDArray

from neardup_stream.frames.lines import FrameConfig
from neardup_stream.frames.table import LineHashes
from neardup_stream.ordered import are_first

__all__ = ["BatchLines", "YoungPages", "waves"]

_Places = NDArray[np.int64]


class BatchLines:
    """Counts the lines of many pages at once.

    Args:
        pages: the lines of each page, one at least; the pages of a site stand together.
        site_pages: how many of them each site has.
        known: on how many pages of its site each line was before the batch, int64[lines of all pages].
        max_lines: of a page so many lines are taught at most.

    Attributes:
        sites: the places of each site's pages.
        starts: where the lines of each page begin among those of all pages, int64[pages].
        sizes: how many lines each page has, int64[pages].

    Cost: 2 µs a page.
    """

    def __init__(
        self,
        pages: Sequence[LineHashes],
        site_pages: Sequence[int],
        known: NDArray[np.int64],
        max_lines: int,
    ) -> None:
        self.sites = [range(start, end) for start, end in pairwise(accumulate(site_pages, initial=0))]
        self.sizes = np.array([page.size for page in pages], np.int64)
        self.starts = np.cumsum(self.sizes) - self.sizes
        self._known = known
        hashes = np.concatenate(pages)
        owners = np.repeat(np.arange(len(pages)), self.sizes)
        sites = np.repeat(np.arange(len(site_pages)), site_pages)
        _, self._ids = np.unique(_pairs(sites[owners], hashes), return_inverse=True)
        self._more = np.zeros(hashes.size, np.int64)
        self._own = np.zeros(len(pages), np.int64)
        order, is_first = _distinct(_pairs(owners, hashes))
        self._taught_at = order[is_first]
        self._taught_hashes = hashes[self._taught_at]
        counts = np.bincount(owners[self._taught_at], minlength=len(pages))
        self._taught_starts = np.cumsum(counts) - counts
        self._taught_sizes = np.minimum(counts, max_lines)

    def lessons(self) -> Iterator[LineHashes]:
        """Yield for each page the lines it teaches, ascending, each once."""
        ends = self._taught_starts + self._taught_sizes
        for start, end in zip(self._taught_starts.tolist(), ends.tolist(), strict=True):
            yield self._taught_hashes[start:end].copy()  # a view would keep the lines of the batch

    def teach(self, places: Sequence[int]) -> None:
        """Count the lines of these pages, for pages of their sites other than themselves."""
        at = np.array(places, np.int64)
        lines = self._taught_at[_spans(self._taught_starts[at], self._taught_sizes[at])]
        np.add.at(self._more, self._ids[lines], 1)
        self._own[at] = 1

    def places_of(self, at: _Places) -> _Places:
        """Return the places of the lines of some pages among those of all pages."""
        return _spans(self.starts[at], self.sizes[at])

    def counts(self, at: _Places) -> NDArray[np.int64]:
        """Return on how many other pages of its site each line of some pages is, as of now."""
        lines = self.places_of(at)
        counts: NDArray[np.int64] = self._known[lines] + self._more[self._ids[lines]]
        return counts - np.repeat(self._own[at], self.sizes[at])


class YoungPages:
    """Which lines of the pages of a batch are content, while the frames of their sites are being learned.

    Args:
        lines: of the pages.
        is_markup: of each page, whether its text was extracted from markup.
        config: when a line is frame.
    """

    def __init__(self, lines: BatchLines, is_markup: Sequence[bool], config: FrameConfig) -> None:
        self.lines = lines
        self._is_markup = np.array(is_markup)
        self._least = np.where(self._is_markup, config.markup_pages, config.text_pages)
        self._is_content = np.ones(int(lines.sizes.sum()), np.bool_)

    def changed(
        self, places: Sequence[int], mask_of: Callable[[int, NDArray[np.int64]], NDArray[np.bool_]]
    ) -> dict[int, NDArray[np.bool_]]:
        """Return for those of some pages for which it changed since the last time which lines are content.

        Args:
            places: of the pages; all their lines are content at first.
            mask_of: called for each page of markup with its place and the counts of its lines; returns which
                of them are content. Of text only counts decide.
        """
        at = np.array(places, np.int64)
        counts, sizes = self.lines.counts(at), self.lines.sizes[at]
        ends = np.cumsum(sizes)
        starts = ends - sizes
        is_content = counts < np.repeat(self._least[at], sizes)
        of_page = [slice(start, end) for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
        for number in np.flatnonzero(self._is_markup[at]).tolist():
            is_content[of_page[number]] = mask_of(places[number], counts[of_page[number]])
        lines = self.lines.places_of(at)
        is_changed = np.logical_or.reduceat(is_content != self._is_content[lines], starts)
        self._is_content[lines] = is_content
        return {places[number]: is_content[of_page[number]] for number in np.flatnonzero(is_changed).tolist()}


def _pairs(numbers: NDArray[np.int64], hashes: LineHashes) -> NDArray[np.uint64]:
    pairs: NDArray[np.uint64] = numbers.astype(np.uint64) << np.uint64(32) | hashes
    return pairs


def _distinct(words: NDArray[np.uint64]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the order of some words, and which of them in that order differ from the one before."""
    order = np.argsort(words, kind="stable")
    return order, are_first(words[order])


def _spans(starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> _Places:
    """Return the numbers from each start on, as many as its size says, one group after the other."""
    ends = np.cumsum(sizes)
    places: _Places = np.repeat(starts - ends + sizes, sizes)
    places += np.arange(places.size)
    return places


def waves(rows_of_sites: Iterable[Sequence[int]]) -> Iterator[list[int]]:
    """Yield the first rows of all sites, then the second ones, and so on."""
    for wave in zip_longest(*rows_of_sites):
        yield [row for row in wave if row is not None]
