"""Search the part `search` of an archive.

Find the frozen pages that contain given terms, surely or perhaps.
"""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from neardup_stream.archive.gone import read_gone
from neardup_stream.archive.logged import LoggedArchive
from neardup_stream.archive.search_tiles import Bitmap, SearchTiles
from neardup_stream.indexes.false_drops import Found, expected_false_drops
from neardup_stream.indexes.queries import Query
from neardup_stream.indexes.query_logic import BoundQuery, bind_query, bounds

__all__ = ["SearchAnswer", "SlicedIndex"]


class SearchAnswer(NamedTuple):
    """The answer of an archive to a query; pages in neither list do not fulfil it.

    Attributes:
        query: as it was given.
        yes: rows of the pages that fulfil it, ascending.
        maybe: rows of the pages that may fulfil it, ascending.
        expected_false_drops: how many of `maybe` are expected not to fulfil it, because of bits that they
            have by chance, or of terms that NOT excludes; at most all. Ignores the order of the words of a
            phrase.
    """

    query: BoundQuery
    yes: NDArray[np.int64]
    maybe: NDArray[np.int64]
    expected_false_drops: float

    def settled(self, found: Mapping[int, bool]) -> "SearchAnswer":
        """Return the answer after the texts of some pages were read.

        Args:
            found: for rows of `maybe`, whether the page fulfils the query.
        """
        rows = self.maybe.tolist()
        yes = np.array([row for row in rows if found.get(row, False)], np.int64)
        maybe = np.array([row for row in rows if row not in found], np.int64)
        share = maybe.size / max(len(rows), 1)
        merged = np.sort(np.concatenate([self.yes, yes]))
        return SearchAnswer(self.query, merged, maybe, self.expected_false_drops * share)


class SlicedIndex:
    """Search one archive. Verifies the checksum of every byte that an answer uses. Thread-safe.

    Args:
        archive: opened.
        gone: for each row whether its page is forgotten.

    Attributes:
        archive: as given.
        tiles: of its pages.

    Raises:
        ConfigError: the archive was frozen without search.
        CorruptData: it is damaged.
    """

    def __init__(self, archive: LoggedArchive, gone: NDArray[np.bool_]) -> None:
        self.archive = archive
        self.tiles = SearchTiles(archive)
        self._gone = gone
        self._living = self._without_gone()

    @classmethod
    def open(cls, path: str | PathLike[str]) -> Self:
        """Open an archive; pages that were forgotten since are not found.

        Raises:
            ConfigError: the file does not exist, is no archive, or was frozen without search.
            CorruptData: it is damaged.
        """
        archive = LoggedArchive(Path(path))
        return cls(archive, read_gone(archive.file.path, archive.header))

    def search(self, query: str | Query | BoundQuery) -> SearchAnswer:
        """Return the pages that fulfil a query, surely or perhaps.

        Raises:
            ConfigError: the query has a syntax error; the message names the position.
            CorruptData: a needed page of the file is damaged.
            TypeError: it is no string and no query.

        Cost: 1 ms for 3 terms and a million pages, plus 50 ns a page that is found.
        """
        bound = query if isinstance(query, BoundQuery) else bind_query(query)
        bitmaps = {term: self.tiles.find(term) for term in bound.distinct}
        exact = {term for term in bitmaps if self.tiles.private_slice(term) >= 0}
        found = Found(bitmaps, exact, self._living)
        possible, certain = (each & self._living for each in bounds(bound, bitmaps, exact))
        maybe = self._rows(possible & ~certain)
        expected = expected_false_drops(self.tiles, bound, found, possible)
        return SearchAnswer(bound, self._rows(certain), maybe, min(expected, float(maybe.size)))

    def _rows(self, bitmap: Bitmap) -> NDArray[np.int64]:
        """Return the rows of the pages whose bits are set, ascending."""
        filled = np.flatnonzero(bitmap)
        bits = np.flatnonzero(np.unpackbits(bitmap[filled], bitorder="little"))
        return np.sort(self.tiles.rows(8 * filled[bits >> 3] + (bits & 7)))

    def _without_gone(self) -> Bitmap:
        """Return a bitmap of the columns whose page exists and is not forgotten."""
        if not self._gone.any():
            return self.tiles.pages
        taken = np.flatnonzero(np.unpackbits(self.tiles.pages, bitorder="little"))
        is_living = np.zeros(8 * self.tiles.bitmap_bytes, np.bool_)
        is_living[taken] = ~self._gone[self.tiles.rows(taken)]
        return np.packbits(is_living, bitorder="little")
