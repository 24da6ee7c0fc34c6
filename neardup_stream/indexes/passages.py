"""Find the pages of an archive that share a passage with a text, and the passage.

    text ──► tokens ──► chosen shingles ──► pages that have some ──► chains of hits ──► passages

If an archive keeps texts, every hit is extended to the whole common run of tokens, on both sides. Otherwise a
passage is estimated: from the first to the last hit of a chain.
"""

from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from neardup_stream.archive.gone import read_gone
from neardup_stream.archive.log_blocks import LoggedPage
from neardup_stream.archive.logged import LoggedArchive
from neardup_stream.archive.passage_reading import PassageLists
from neardup_stream.archive.texts import KeptTexts, has_texts
from neardup_stream.errors import ConfigError
from neardup_stream.fingerprints.located import LocatedTokens, locate_tokens
from neardup_stream.fingerprints.selective import (
    QUERY_SHINGLES,
    SHINGLE_TOKENS,
    choose_shingles,
    window_of,
)
from neardup_stream.indexes.common_runs import CommonRun, covered, covering_runs, runs_through
from neardup_stream.text.arguments import require_text, whole_number_in

__all__ = ["LEAST_HITS", "LEAST_TOKENS", "Overlap", "Overlaps", "Passage", "PassageIndex"]

LEAST_TOKENS: Final = 30
"""Default minimum length of a passage, in tokens."""

LEAST_HITS: Final = 2
"""With hashes of 28 bits, one page in so many has one hit by chance, but almost none has two."""

_MOST_PLACES: Final = 16
"""The most places of one shingle in the text that are extended; a shingle may be chosen more often."""


class Passage(NamedTuple):
    """A part of a text that a page also has.

    Attributes:
        start: its first character in the visible text of the query.
        end: the character after it.
        token_count: of its tokens.
        page_start: its first character in the visible text of the page; None if the archive keeps no texts.
        page_end: the character after it.
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
        share: fraction of the text's tokens that are in the passages.
        page_share: fraction of the page's tokens that are in the passages, or in further copies of them on
            the page; of one shingle 16 places of the page count, one if passages are estimated.
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
        chosen_count: shingles of it that were looked up.
        common_count: of these, the ones that were ignored because they are on too many pages.
        found: pages, the largest shares of the text first.
    """

    token_count: int
    chosen_count: int
    common_count: int
    found: tuple[Overlap, ...]


class _Asked(NamedTuple):
    """A text to compare pages with.

    Attributes:
        tokens: of the text.
        places: int64, the tokens at which its chosen shingles begin, ascending.
        which: the number of the distinct hash at each place.
        is_tried: whether a place is extended in both texts, if the archive keeps texts.
    """

    tokens: LocatedTokens
    places: NDArray[np.int64]
    which: NDArray[np.intp]
    is_tried: NDArray[np.bool_]


class PassageIndex:
    """Find pages of one archive that share passages with texts. Thread-safe.

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
        self.has_texts = has_texts(archive)
        self._texts = KeptTexts(archive) if self.has_texts else None

    @classmethod
    def open(cls, path: str | PathLike[str]) -> Self:
        """Open an archive and the file of forgotten pages next to it.

        Raises:
            ConfigError: the file does not exist, is not an archive, or was frozen without passages.
            CorruptData: the archive, or the file of forgotten pages, is damaged.
        """
        archive = LoggedArchive(Path(path))
        return cls(archive, read_gone(archive.file.path, archive.header))

    @property
    def common_pages(self) -> int:
        """Return on how many pages a hash may be at most to be listed in the archive."""
        return self._lists.facts.common

    def overlaps(
        self,
        text: str,
        *,
        min_tokens: int = LEAST_TOKENS,
        common_pages: int | None = None,
        min_hits: int = LEAST_HITS,
    ) -> Overlaps:
        """Return the pages that share passages with a visible text.

        A common run of W + 7 tokens has one hit, of 2W + 7 two, where W is the larger window of the two texts
        (`window_of`), unless its hashes are common ones.

        Args:
            text: as it is, not canonical.
            min_tokens: shorter passages are omitted.
            common_pages: hashes on more pages are ignored; at most the value used to freeze the archive.
                Forgotten pages do not count, except for hashes on more pages than that value allowed.
            min_hits: a page with fewer is omitted; if passages are estimated, also a passage, and a shingle
                that is repeated counts once.

        Raises:
            ConfigError: `common_pages` is larger than the archive's, or a number is below 1.
            CorruptData: a page of the file that was needed is damaged.
            TypeError: the text is no string, or a number is not whole.

        Cost: 1 ms for a text of 1,000 shingles; where texts are kept 0.5 ms for each page more. A repeated
        shingle takes 16 places of the text and of the page at most, however long both are.
        """
        require_text(text)
        min_tokens = whole_number_in("min_tokens", min_tokens, 1)
        min_hits = whole_number_in("min_hits", min_hits, 1)
        common = self.common_pages if common_pages is None else common_pages
        common = whole_number_in("common_pages", common, 1)
        if common > self.common_pages:
            raise ConfigError(
                f"{self.archive.file.path} was frozen with --common {self.common_pages}: hashes on more pages"
                f" are not listed; use at most this value instead of {common}, or freeze it again"
            )
        tokens = locate_tokens(text)
        chosen = choose_shingles(tokens.hashes, QUERY_SHINGLES)
        hashes, which, counts = np.unique(chosen.hashes, return_inverse=True, return_counts=True)
        asked = _Asked(tokens, chosen.places, which, _spread(which, counts))
        shared = self._lists.find(hashes, common, self._gone)
        order = np.argsort(shared.rows, kind="stable")
        rows, queries = shared.rows[order], shared.queries[order]
        bounds = np.flatnonzero(np.diff(rows, prepend=-1, append=-1))
        hit_counts = np.add.reduceat(counts[queries], bounds[:-1]) if rows.size else bounds[:-1]
        found = []
        for start, end, hit_count in zip(bounds[:-1], bounds[1:], hit_counts, strict=True):
            if (hit_count if self.has_texts else end - start) >= min_hits:
                overlap = self._overlap(asked, int(rows[start]), queries[start:end], min_tokens, min_hits)
                if overlap.passages:
                    found.append(overlap)
        found.sort(key=lambda overlap: (-overlap.share, -overlap.page_share, overlap.row))
        is_common = shared.is_common[which]
        return Overlaps(tokens.hashes.size, chosen.places.size, int(is_common.sum()), tuple(found))

    def _overlap(
        self, asked: _Asked, row: int, queries: NDArray[np.int64], min_tokens: int, min_hits: int
    ) -> Overlap:
        """Compare the text with a page that has these of the text's distinct hashes."""
        is_hit = np.isin(asked.which, queries)
        tokens, page_tokens = asked.tokens, None
        if self._texts is None:
            size = int(self._lists.token_counts(np.array([row]))[0])
            window = max(
                window_of(tokens.hashes.size, QUERY_SHINGLES), window_of(size, self._lists.facts.shingles)
            )
            places, which = asked.places[is_hit], asked.which[is_hit]
            runs, is_inside = _estimated(places, which, window, min_tokens, min_hits)
            on_page = _once_each(places[is_inside], which[is_inside], window)
        else:
            page_tokens = locate_tokens(self._texts.text(row))
            size = page_tokens.hashes.size
            places = asked.places[is_hit & asked.is_tried]
            through = runs_through(tokens.hashes, page_tokens.hashes, places, SHINGLE_TOKENS)
            runs = covering_runs(through, min_tokens)
            copies = {run for each in through for run in each if run.size >= min_tokens}
            on_page = covered([(run.page_start, run.size) for run in copies])
        shared = covered([(run.start, run.size) for run in runs])
        return Overlap(
            row=row,
            page=self.archive.log.page(row),
            hit_count=int(is_hit.sum()),
            share=shared / max(tokens.hashes.size, 1),
            page_share=min(1.0, on_page / max(size, 1)),
            is_exact=page_tokens is not None,
            passages=tuple(_passage(run, tokens, page_tokens) for run in runs),
        )


def _spread(which: NDArray[np.intp], counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Select _MOST_PLACES places of each hash, the first and others evenly spaced; all if it has no more."""
    order = np.argsort(which, kind="stable")
    sizes = np.repeat(counts, counts)
    ordinals = np.arange(which.size) - np.repeat(np.cumsum(counts) - counts, counts)
    is_tried = np.empty(which.size, np.bool_)
    is_tried[order] = ordinals * _MOST_PLACES // sizes != (ordinals - 1) * _MOST_PLACES // sizes
    return is_tried


def _estimated(
    places: NDArray[np.int64], which: NDArray[np.intp], window: int, min_tokens: int, min_hits: int
) -> tuple[list[CommonRun], NDArray[np.bool_]]:
    """Return the chains of hits no further apart than a window, and for each hit whether it is in one.

    They are like those of a common run. One hash at many places is the evidence of one: it may be there by
    chance.
    """
    bounds = [0, *(np.flatnonzero(np.diff(places) > window) + 1).tolist(), places.size]
    runs = []
    is_inside = np.zeros(places.size, np.bool_)
    for start, end in pairwise(bounds):
        first, last = int(places[start]), int(places[end - 1]) + SHINGLE_TOKENS
        most = last - first + 2 * (window - 1)  # w tokens further on a side there would be another hit
        if np.unique(which[start:end]).size >= min_hits and most >= min_tokens:
            runs.append(CommonRun(first, 0, last - first))
            is_inside[start:end] = True
    return runs, is_inside


def _once_each(places: NDArray[np.int64], which: NDArray[np.intp], window: int) -> int:
    """Return how many tokens of a page chains of hits are: what the text repeats, the page may have once.

    Each hash counts for the tokens up to the next hit of its chain, or for its shingle if none follows it.
    """
    gaps = np.diff(places, append=np.iinfo(np.int64).max)
    is_last = gaps > window
    tokens = np.zeros(int(which.max(initial=-1)) + 1, np.int64)
    np.maximum.at(tokens, which[~is_last], gaps[~is_last])
    ends = np.unique(which[is_last])
    tokens[ends] = np.where(tokens[ends], tokens[ends], SHINGLE_TOKENS)
    return int(tokens.sum())


def _passage(run: CommonRun, tokens: LocatedTokens, page_tokens: LocatedTokens | None) -> Passage:
    last = run.start + run.size - 1
    start, end = int(tokens.starts[run.start]), int(tokens.ends[last])
    if page_tokens is None:
        return Passage(start, end, run.size)
    page_last = run.page_start + run.size - 1
    page_start, page_end = int(page_tokens.starts[run.page_start]), int(page_tokens.ends[page_last])
    return Passage(start, end, run.size, page_start, page_end)
