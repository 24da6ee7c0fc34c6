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

_MOST_PLACES: Final = 16
"""Of one shingle in the text: where it is chosen more often, so many of its places are read in both texts."""


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


class _Asked(NamedTuple):
    """A text that pages are compared with.

    Attributes:
        tokens: of it.
        places: int64, the tokens at which its chosen shingles begin, ascending.
        which: the number of the distinct hash at each place.
        is_tried: whether a place is read in both texts, where texts are kept.
    """

    tokens: LocatedTokens
    places: NDArray[np.int64]
    which: NDArray[np.intp]
    is_tried: NDArray[np.bool_]


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

        Cost: 1 ms for a text of 1,000 shingles; where texts are kept 0.5 ms for each page more. A repeated
        shingle takes 16 places of the text and of the page at most, however long both are.
        """
        common = self.common_pages if common_pages is None else common_pages
        if common > self.common_pages:
            raise ConfigError(
                f"{self.archive.file.path} was frozen with --common {self.common_pages}: hashes on more pages"
                f" are not listed; ask for at most so many instead of {common}, or freeze it again"
            )
        tokens = locate_tokens(text)
        chosen = choose_shingles(tokens.hashes, QUERY_SHINGLES)
        hashes, which, counts = np.unique(chosen.hashes, return_inverse=True, return_counts=True)
        asked = _Asked(tokens, chosen.places, which, _spread(which, counts))
        shared = self._lists.find(hashes, common)
        is_living = ~self._gone[shared.rows]
        order = np.argsort(shared.rows[is_living], kind="stable")
        rows, queries = shared.rows[is_living][order], shared.queries[is_living][order]
        bounds = np.flatnonzero(np.diff(rows, prepend=-1, append=-1))
        hit_counts = np.add.reduceat(counts[queries], bounds[:-1]) if rows.size else bounds[:-1]
        found = []
        for start, end, hit_count in zip(bounds[:-1], bounds[1:], hit_counts, strict=True):
            if hit_count >= min_hits:
                overlap = self._overlap(asked, int(rows[start]), queries[start:end], min_tokens, min_hits)
                if overlap.passages:
                    found.append(overlap)
        found.sort(key=lambda overlap: (-overlap.share, -overlap.page_share, overlap.row))
        is_common = shared.is_common[which]
        return Overlaps(tokens.hashes.size, chosen.places.size, int(is_common.sum()), tuple(found))

    def _overlap(
        self, asked: _Asked, row: int, queries: NDArray[np.int64], min_tokens: int, min_hits: int
    ) -> Overlap:
        """Compare the text with a page that has these of its distinct hashes."""
        is_hit = np.isin(asked.which, queries)
        tokens, page_tokens = asked.tokens, None
        if self._texts is None:
            size = int(self._lists.token_counts(np.array([row]))[0])
            window = max(
                window_of(tokens.hashes.size, QUERY_SHINGLES), window_of(size, self._lists.facts.shingles)
            )
            runs = _estimated(asked.places[is_hit], window, min_tokens, min_hits)
        else:
            page_tokens = locate_tokens(self._texts.text(row))
            size = page_tokens.hashes.size
            places = asked.places[is_hit & asked.is_tried]
            runs = common_runs(tokens.hashes, page_tokens.hashes, places, SHINGLE_TOKENS)
            runs = [run for run in runs if run.size >= min_tokens]
        shared = covered([(run.start, run.size) for run in runs])
        on_page = shared if page_tokens is None else covered([(run.page_start, run.size) for run in runs])
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
    """Mark _MOST_PLACES places of each hash, the first and others evenly spread; all where it has no more."""
    order = np.argsort(which, kind="stable")
    sizes = np.repeat(counts, counts)
    ordinals = np.arange(which.size) - np.repeat(np.cumsum(counts) - counts, counts)
    is_tried = np.empty(which.size, np.bool_)
    is_tried[order] = ordinals * _MOST_PLACES // sizes != (ordinals - 1) * _MOST_PLACES // sizes
    return is_tried


def _estimated(places: NDArray[np.int64], window: int, min_tokens: int, min_hits: int) -> list[CommonRun]:
    """Chains of hits no further apart than a window, as those of a common run are."""
    bounds = [0, *(np.flatnonzero(np.diff(places) > window) + 1).tolist(), places.size]
    runs = []
    for start, end in pairwise(bounds):
        first, last = int(places[start]), int(places[end - 1]) + SHINGLE_TOKENS
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
