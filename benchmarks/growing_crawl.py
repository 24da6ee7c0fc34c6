"""Generate a crawl that grows without limit: short pages, one in five a near copy of a page of any age.

A block of pages depends on its number alone, so the pages that a block copies are drawn again and not kept.
"""

import functools
from array import array
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from benchmarks.quality.edits import Vocabulary
from neardup_stream.message import Partition, Position, Record

__all__ = ["BLOCK_PAGES", "COPIES", "WORDS", "GrowingCrawl", "number_of", "url_of"]

BLOCK_PAGES = 1_000
WORDS = 80
EDITED_WORDS = 2
COPIES = 0.2
"""Share of the pages of a block, but the first, that are near copies; all are of one earlier block."""

SEED = 11
PARTITION = Partition("growth", 0)

_Numbers = NDArray[np.intp]


class _Drawn(NamedTuple):
    """A block as it is drawn: the words of its originals, and which of its pages are copies."""

    words: _Numbers
    is_copy: NDArray[np.bool_]
    rng: np.random.Generator


@functools.cache
def _vocabulary() -> Vocabulary:
    return Vocabulary.make(np.random.default_rng(SEED))


class GrowingCrawl:
    """Makes the blocks of the crawl in order, and remembers of every page what it is a copy of.

    Attributes:
        origins: by page, the number of the page that it is a near copy of; its own for an original.
    """

    def __init__(self) -> None:
        self._vocabulary = _vocabulary()
        self.origins = array("q")

    def copies_from(self, first: int) -> int:
        """Return how many of the pages from this one on are near copies."""
        return int(self._are_copies()[first:].sum())

    @property
    def linked_count(self) -> int:
        """How many of the pages so far have a near copy, or are one."""
        are_copies = self._are_copies()
        return int(are_copies.sum()) + len(np.unique(np.array(self.origins)[are_copies]))

    def is_copy(self, number: int) -> bool:
        """Return whether a page is a near copy."""
        return self.origins[number] != number

    def next_records(self, count: int) -> list[Record]:
        """Return the next pages as a crawler sends them; `count` is a multiple of `BLOCK_PAGES`.

        Cost: some 20 µs a page.
        """
        assert count % BLOCK_PAGES == 0, count
        return [record for _ in range(count // BLOCK_PAGES) for record in self._next_block()]

    def _are_copies(self) -> NDArray[np.bool_]:
        return np.not_equal(self.origins, np.arange(len(self.origins)))

    def _next_block(self) -> list[Record]:
        first = len(self.origins)
        number = first // BLOCK_PAGES
        words, is_copy, rng = self._drawn(number)
        origins = np.arange(first, first + BLOCK_PAGES)
        if number:
            copied = int(rng.integers(number))
            source = self._drawn(copied)
            copies = np.flatnonzero(is_copy)
            rows = rng.choice(np.flatnonzero(~source.is_copy), len(copies))
            edited = np.argsort(rng.random((len(copies), WORDS)), axis=1)[:, :EDITED_WORDS]
            words[copies] = source.words[rows]
            words[copies[:, None], edited] = self._vocabulary.draw(rng, *edited.shape)
            origins[copies] = copied * BLOCK_PAGES + rows
        self.origins.extend(origins.tolist())
        return [_record(first + place, text) for place, text in enumerate(self._vocabulary.write(words))]

    def _drawn(self, number: int) -> _Drawn:
        rng = np.random.default_rng((SEED, number))
        words = self._vocabulary.draw(rng, BLOCK_PAGES, WORDS)
        is_copy = rng.random(BLOCK_PAGES) < (COPIES if number else 0)
        return _Drawn(words, is_copy, rng)


def url_of(number: int) -> str:
    """Return the URL of a page, which is its id."""
    return f"https://load.example/{number}"


def number_of(url: str) -> int:
    """Return the page with this URL."""
    return int(url.rpartition("/")[2])


def _record(number: int, text: str) -> Record:
    url = url_of(number)
    return Record(
        position=Position(PARTITION, number),
        key=url.encode(),
        value=msgspec.json.encode({"url": url, "text": text}),
    )
