"""Remembers the latest pages by their sketches, and finds the pages that nearly equal one of them. No I/O."""

import struct
from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from neardup_stream.page import PageId
from neardup_stream.pipeline.arrival import Arrival
from neardup_stream.pipeline.likeness import VerdictConfig, judge_likeness

__all__ = ["COPY_CONTAINMENT", "NearCopies", "band_words"]

COPY_CONTAINMENT: Final = 0.9
"""Pages of which either is inside the other to this share nearly equal each other, and count as one."""

_MOST_COMPARED: Final = 8
"""With so many pages a page is compared at most, those that share most bands with it."""


class _Sketched(NamedTuple):
    """What is remembered of a page: a FramedSketch."""

    sketch: bytes
    shingle_count: int
    whole: bytes
    whole_count: int


class _Remembered(NamedTuple):
    """A page, and under what it is found."""

    page_id: PageId
    text_fingerprint: int
    words: list[int]
    sketched: _Sketched


class NearCopies:
    """The latest pages of a crawl.

    Args:
        verdict: when pages are alike; it has a sketch.
        max_pages: pages to remember, some 3 KB each.
    """

    def __init__(self, verdict: VerdictConfig, max_pages: int = 20_000) -> None:
        self._verdict = verdict
        self._max_pages = max_pages
        self._pages: OrderedDict[int, _Remembered] = OrderedDict()
        self._ids: set[PageId] = set()
        self._texts: set[int] = set()
        self._latest: dict[int, int] = {}
        self._next = 0

    def add(self, arrivals: Sequence[Arrival]) -> list[bool]:
        """Remember pages, and return for each whether it nearly equals an earlier one, or is of the same id.

        Cost: 20 µs a page.
        """
        is_copy, pairs = [], []
        for row, arrival in enumerate(arrivals):
            is_copy.append(arrival.page.id in self._ids or arrival.text_fingerprint in self._texts)
            if not is_copy[row]:
                words = band_words(arrival)
                pairs += [(row, other) for other in self._sharing_bands(words)]
                self._remember(arrival, words)
        for row in self._copies(arrivals, pairs):
            is_copy[row] = True
        return is_copy

    def _sharing_bands(self, words: Sequence[int]) -> list[_Sketched]:
        shared = Counter(self._latest[word] for word in words if word in self._latest)
        return [self._pages[number].sketched for number, _ in shared.most_common(_MOST_COMPARED)]

    def _copies(self, arrivals: Sequence[Arrival], pairs: Sequence[tuple[int, _Sketched]]) -> Iterator[int]:
        if not pairs:
            return
        likeness = judge_likeness(
            [arrivals[row] for row, _ in pairs], [other for _, other in pairs], self._verdict
        )
        mutual = np.minimum(likeness.own, likeness.other)
        for (row, _), is_near, share in zip(pairs, likeness.is_near, mutual, strict=True):
            if is_near and share >= COPY_CONTAINMENT:
                yield row

    def _remember(self, arrival: Arrival, words: list[int]) -> None:
        number, self._next = self._next, self._next + 1
        sketched = _Sketched(arrival.sketch, arrival.shingle_count, arrival.whole, arrival.whole_count)
        self._pages[number] = _Remembered(arrival.page.id, arrival.text_fingerprint, words, sketched)
        self._latest |= dict.fromkeys(words, number)
        self._ids.add(arrival.page.id)
        self._texts.add(arrival.text_fingerprint)
        if len(self._pages) > self._max_pages:
            self._forget_oldest()

    def _forget_oldest(self) -> None:
        number, page = self._pages.popitem(last=False)
        for word in page.words:
            if self._latest.get(word) == number:
                del self._latest[word]
        self._ids.discard(page.page_id)
        self._texts.discard(page.text_fingerprint)


def band_words(arrival: Arrival) -> list[int]:
    """The bands of content and whole text, each a number of its own."""
    words = []
    for packed in dict.fromkeys((arrival.bands, arrival.whole_bands)):
        bands = struct.unpack(f">{len(packed) // 4}I", packed)
        words += [band << 32 | word for band, word in enumerate(bands)]
    return words
