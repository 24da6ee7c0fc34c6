"""Which pages of an archive share a passage with a text, and where.

    text ──► tokens ──► chosen shingles ──► pages that have some ──► chains of hits ──► passages

Where an archive keeps texts, every hit is extended to the whole common run of tokens, on both sides. Where it
does not, a passage is estimated: from the first to the last hit of a chain.
"""

from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from neardup_stream.archive.gone import read_gone
from neardup_stream.archive.log_blocks import LoggedPage
from neardup_stream.archive.logged import LoggedArchive
from neardup_stream.archive.passage_reading import PassageLists
from neardup_stream.archive.texts import KeptTexts
from neardup_stream.errors import ConfigError
from neardup_stream.fingerprints.located import LocatedTokens, locate_tokens
from neardup_stream.fingerprints.selective import (
    QUERY_SHINGLES,
    SHINGLE_TOKENS,
    choose_shingles,
    window_of,
)
from neardup_stream.indexes.common_runs import CommonRun, common_runs, covered

__all__ = ["LEAST_HITS", "LEAST_TOKENS", "Overlap", "Overlaps", "Passage", "PassageIndex"]

LEAST_TOKENS: Final = 30
"""A passage is reported from so many tokens on, if nothing else is asked for."""

LEAST_HITS: Final = 2
"""Of 28 bits one in so many pages has one by chance; two of them next to none."""


class Passage(NamedTuple):
    """A part of a text that a page has too.

    Attributes:
        start: its first character in the visible text that was asked about.
        end: the character behind it.
        token_count: of its tokens.
        page_start: the same in the visible text of the page; None where the archive keeps no texts.
        page_end: the same.
    """

    start: int
    end: int
    token_count: int
    page_start: int | None = None
    page_end: int | None = None


class Overlap(NamedTuple):
    """A page that shares passages with a text.

    Attributes:
        row: of the page.
        page: its id, URL and time.
        hit_count: chosen shingles of the text that the page has.
        share: of the text's tokens, those in the passages.
        page_share: of the page's tokens, those in the passages.
        is_exact: whether the passages were read in both texts, not estimated.
        passages: in their order in the text.
    """

    row: int
    page: LoggedPage
    hit_count: int
    share: float
    page_share: float
    is_exact: bool
    passages: tuple[Passage, ...]


class Overlaps(NamedTuple):
    """The pages that share passages with a text.

    Attributes:
        token_count: of the text.
        chosen_count: shingles of it that were looked for.
        common_count: of these, the ones on so many pages that they were set aside.
        found: pages, the largest shares of the text first.
    """

    token_count: int
    chosen_count: int
    common_count: int
    found: tuple[Overlap, ...]


class _Hits(NamedTuple):
    """Chosen shingles of a text that pages have; ascending by page and place.

    Attributes:
        rows: int64.
        places: int64, tokens of the text.
        windows: int64, the larger window of the text and the page.
    """

    rows: NDArray[np.int64]
    places: NDArray[np.int64]
    windows: NDArray[np.int64]


class PassageIndex:
    """Finds pages of one archive that share passages with texts.

    Several threads may ask at once.

    Args:
        archive: opened.
        gone: for each page whether it is forgotten.

    Attributes:
        archive: the same.
        has_texts: whether it keeps texts, so that passages are exact.

    Raises:
        ConfigError: it was frozen without passages.
        CorruptData: it is damaged.
    """

    def __init__(self, archive: LoggedArchive, gone: NDArray[np.bool_]) -> None:
        self.archive = archive
        self._gone = gone
        self._lists = PassageLists(archive)
        self.has_texts = "texts.frames" in archive.file.sections
        self._texts = KeptTexts(archive) if self.has_texts else None

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open an archive with the forgets that are noted beside it.

        Raises:
            ConfigError: there is no such file, it is no archive, or it was frozen without passages.
            CorruptData: it is damaged, or its forgets are.
        """
        archive = LoggedArchive(path)
        return cls(archive, read_gone(path, archive.header))

    @property
    def common_pages(self) -> int:
        """Hashes on more pages were set apart when the archive was frozen."""
        return self._lists.facts.common

    def overlaps(
        self,
        text: str,
        *,
        min_tokens: int = LEAST_TOKENS,
        common_pages: int | None = None,
        min_hits: int = LEAST_HITS,
    ) -> Overlaps:
        """The pages that share passages with a visible text.

        A common run of W + 7 tokens has one hit, of 2W + 7 two, where W is the larger window of the two texts
        (`window_of`), unless its hashes are common ones.

        Args:
            text: as it is, not canonical.
            min_tokens: shorter passages are left out.
            common_pages: hashes on more pages are set aside; at most what the archive was frozen with.
            min_hits: a page with fewer is left out; where passages are estimated, also a passage.

        Raises:
            ConfigError: `common_pages` is more than the archive knows.
            CorruptData: a page of the file that was needed is damaged.

        Cost: 1 ms for a text of 1,000 shingles; where texts are kept 0.5 ms for each page more.
        """
        common = self.common_pages if common_pages is None else common_pages
        if common > self.common_pages:
            raise ConfigError(
                f"{self.archive.file.path} was frozen with --common {self.common_pages}: hashes on more pages"
                f" are not listed; ask for at most so many instead of {common}, or freeze it again"
            )
        tokens = locate_tokens(text)
        chosen = choose_shingles(tokens.hashes, QUERY_SHINGLES)
        hashes, which = np.unique(chosen.hashes, return_inverse=True)
        shared = self._lists.find(hashes, common)
        hits = self._hits(shared.queries, shared.rows, which, chosen.places, tokens.hashes.size)
        bounds = np.flatnonzero(np.diff(hits.rows, prepend=-1, append=-1))
        found = []
        for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            if end - start >= min_hits:
                page_hits = _Hits(*(column[start:end] for column in hits))
                overlap = self._overlap(tokens, page_hits, min_tokens, min_hits)
                if overlap.passages:
                    found.append(overlap)
        found.sort(key=lambda overlap: (-overlap.share, -overlap.page_share, overlap.row))
        is_common = shared.is_common[which]
        return Overlaps(tokens.hashes.size, chosen.places.size, int(is_common.sum()), tuple(found))

    def _hits(
        self,
        queries: NDArray[np.int64],
        rows: NDArray[np.int64],
        which: NDArray[np.intp],
        places: NDArray[np.int64],
        token_count: int,
    ) -> _Hits:
        """Bring the pages of each distinct hash to all places where the text has it."""
        is_living = ~self._gone[rows]
        queries, rows = queries[is_living], rows[is_living]
        order = np.argsort(which, kind="stable")
        first_places = np.searchsorted(which[order], np.arange(which.size + 1))
        counts = (first_places[1:] - first_places[:-1])[queries]
        firsts = np.repeat(first_places[queries], counts)
        within = np.arange(firsts.size) - np.repeat(np.cumsum(counts) - counts, counts)
        hit_rows, hit_places = np.repeat(rows, counts), places[order[firsts + within]]
        sorting = np.lexsort((hit_places, hit_rows))
        hit_rows = hit_rows[sorting]
        own = window_of(token_count, QUERY_SHINGLES)
        wanted = self._lists.facts.shingles
        pages, page_of = np.unique(hit_rows, return_inverse=True)
        sizes = self._lists.token_counts(pages).tolist()
        windows = np.array([max(own, window_of(size, wanted)) for size in sizes], np.int64)
        return _Hits(hit_rows, hit_places[sorting], windows[page_of])

    def _overlap(self, tokens: LocatedTokens, hits: _Hits, min_tokens: int, min_hits: int) -> Overlap:
        row = int(hits.rows[0])
        page_tokens = None
        if self._texts is None:
            runs = _estimated(hits, min_tokens, min_hits)
            size = int(self._lists.token_counts(hits.rows[:1])[0])
        else:
            page_tokens = locate_tokens(self._texts.text(row))
            size = page_tokens.hashes.size
            runs = common_runs(tokens.hashes, page_tokens.hashes, hits.places, SHINGLE_TOKENS)
            runs = [run for run in runs if run.size >= min_tokens]
        shared = covered([(run.start, run.size) for run in runs])
        on_page = shared if page_tokens is None else covered([(run.page_start, run.size) for run in runs])
        return Overlap(
            row=row,
            page=self.archive.log.page(row),
            hit_count=hits.places.size,
            share=shared / max(tokens.hashes.size, 1),
            page_share=min(1.0, on_page / max(size, 1)),
            is_exact=page_tokens is not None,
            passages=tuple(_passage(run, tokens, page_tokens) for run in runs),
        )


def _estimated(hits: _Hits, min_tokens: int, min_hits: int) -> list[CommonRun]:
    """Chains of hits no further apart than two windows; a passage may begin and end a window beyond."""
    window = int(hits.windows[0])
    bounds = [0, *(np.flatnonzero(np.diff(hits.places) > 2 * window) + 1).tolist(), hits.places.size]
    runs = []
    for start, end in pairwise(bounds):
        first, last = int(hits.places[start]), int(hits.places[end - 1]) + SHINGLE_TOKENS
        if end - start >= min_hits and last - first + window >= min_tokens:
            runs.append(CommonRun(first, 0, last - first))
    return runs


def _passage(run: CommonRun, tokens: LocatedTokens, page_tokens: LocatedTokens | None) -> Passage:
    last = run.start + run.size - 1
    start, end = int(tokens.starts[run.start]), int(tokens.ends[last])
    if page_tokens is None:
        return Passage(start, end, run.size)
    page_last = run.page_start + run.size - 1
    page_start, page_end = int(page_tokens.starts[run.page_start]), int(page_tokens.ends[page_last])
    return Passage(start, end, run.size, page_start, page_end)
