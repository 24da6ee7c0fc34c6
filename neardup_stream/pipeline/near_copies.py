"""Remembers the latest pages of sites, and finds which pages nearly equal one of them. No I/O.

Copies must not teach the frame of their site: what they share is content. Pages that differ in no more than
a few words are copies whatever their share; sibling pages, which have the frame in common, are not.
"""

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Mapping, Sequence
from itertools import accumulate, chain, islice, pairwise
from typing import Final, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from neardup_stream.errors import ConfigError, InvariantBroken
from neardup_stream.fingerprints.simhash import PageLines
from neardup_stream.fingerprints.sketch import (
    SketchConfig,
    containments,
    estimate_resemblances,
    stack_sketches,
)
from neardup_stream.page import PageId
from neardup_stream.pipeline.arrival import Arrival
from neardup_stream.pipeline.classification import VerdictConfig, classify
from neardup_stream.pipeline.page_differences import difference, repeats
from neardup_stream.pipeline.pair_figures import text_figures

__all__ = ["COPY_CONTAINMENT", "NearCopies", "Relation", "SeenPage"]

COPY_CONTAINMENT: Final = 0.9
"""Pages of which each is inside the other to this share nearly equal each other, and count as one."""

EDITED_CONTAINMENT: Final = 0.6
"""With less of the whole texts in common, two pages are not looked at more closely."""

Relation = Literal["copy", "sibling", "unlike"]
"""What a page is to the latest pages of its site: a copy of one, or another crawl of it; a page that has most
of its text in common with one, but says something else; or neither."""

_Reading = Literal["copy", "sibling", "repeated", "unread"]
"""What two pages are by their lines; `repeated`: siblings, which share what the site repeats."""

_RELATIONS: Final[Mapping[_Reading, Relation]] = {"copy": "copy", "sibling": "sibling", "repeated": "sibling"}

_Key = TypeVar("_Key")

_MOST_COMPARED: Final = 8
"""With so many pages a page is compared at most, those that share most bands with it."""

_MOST_READ: Final = 3
"""Of those, so many are looked at line by line, the most alike ones."""

_ASKED_PAGES: Final = 16
"""Of so many other pages of its site, the first and the latest ones, a page asks what the site repeats."""

_MOST_TOKENS: Final = 20_000
"""Pages with more are compared by their sketches alone."""

_PAGE_BYTES: Final = 4096
"""What a remembered page takes beside its lines, about."""

_WORD_BYTES: Final = 4


class SeenPage(NamedTuple):
    """A page of a site.

    Attributes:
        arrival: as it came, with its lines.
        viewed: without the lines that are taken for frame.
        is_young: whether so little is known of its site that content may be among those.
    """

    arrival: Arrival
    viewed: Arrival
    is_young: bool


class _View(NamedTuple):
    """A FramedSketch."""

    sketch: bytes
    shingle_count: int
    whole: bytes
    whole_count: int


class _Remembered(NamedTuple):
    """What is kept of a page, and under what it is found; the sketch is that of its whole text."""

    page_id: PageId
    text_fingerprint: int
    words: list[int]
    view: _View
    sketch: bytes
    shingle_count: int
    lines: PageLines

    @property
    def size_bytes(self) -> int:
        return _PAGE_BYTES + sum(part.nbytes for part in self.lines)


class _Site:
    """The latest pages of one site, by number."""

    def __init__(self) -> None:
        self.pages: OrderedDict[int, _Remembered] = OrderedDict()
        self.texts: Counter[int] = Counter()
        self.ids: Counter[PageId] = Counter()
        self._by_word: dict[int, int | list[int]] = {}

    def has(self, page: Arrival) -> bool:
        """Return whether a page of the same id, or with the same sequence of tokens, is remembered."""
        return page.page.id in self.ids or page.text_fingerprint in self.texts

    def nearest(self, words: Sequence[int]) -> list[_Remembered]:
        """Return the pages that share most bands with a page; all of them while they are few."""
        if len(self.pages) <= _MOST_COMPARED:
            return list(self.pages.values())
        found: list[int] = []
        for numbers in map(self._by_word.get, words):
            if isinstance(numbers, int):
                found.append(numbers)
            elif numbers:
                found += numbers
        shared = Counter(found).most_common(_MOST_COMPARED) if found else ()
        return [self.pages[number] for number, _ in shared]

    def some(self) -> list[_Remembered]:
        """Return the first and the latest pages, each id once: at most `_ASKED_PAGES`."""
        pages, half = self.pages.values(), _ASKED_PAGES // 2
        asked = chain(islice(pages, half), islice(reversed(pages), min(half, max(0, len(pages) - half))))
        return list({page.page_id: page for page in asked}.values())

    def add(self, number: int, page: _Remembered) -> None:
        self.pages[number] = page
        self.texts[page.text_fingerprint] += 1
        self.ids[page.page_id] += 1
        by_word = self._by_word
        for word in page.words:
            latest = by_word.get(word)
            if latest is None:
                by_word[word] = number  # of most words there is one page: no list for it
            elif isinstance(latest, int):
                by_word[word] = [latest, number]
            else:
                latest.append(number)
                if len(latest) > _MOST_COMPARED:
                    del latest[0]

    def remove(self, number: int) -> None:
        page = self.pages.pop(number)
        _uncount(self.texts, page.text_fingerprint)
        _uncount(self.ids, page.page_id)
        for word in page.words:
            latest = self._by_word.get(word)
            if isinstance(latest, list):
                if number in latest:
                    latest.remove(number)
                if not latest:
                    del self._by_word[word]
            elif latest == number:
                del self._by_word[word]


class NearCopies:
    """The latest pages of all sites.

    Args:
        verdict: when pages are alike; it has a sketch.
        max_bytes: memory to use, about; a page of 500 tokens takes 8 KB.
    """

    def __init__(self, verdict: VerdictConfig, max_bytes: int) -> None:
        if verdict.sketch is None:
            raise ConfigError("verdict.scheme = simhash keeps no sketches to compare pages by")
        self._verdict = verdict
        self._sketch = verdict.sketch
        self._max_bytes = max_bytes
        self._bytes = 0
        self._sites: defaultdict[str, _Site] = defaultdict(_Site)
        self._site_of: OrderedDict[int, str] = OrderedDict()
        self._next = 0

    def find_and_remember(self, turns: Sequence[Sequence[SeenPage]]) -> list[Relation]:
        """Return for each page of each turn what it is to the earlier ones.

        Pages of one turn are not compared with each other; later turns and later calls compare with them.

        Cost: 150 µs, 15 µs a page and 2 µs for each of at most 8 pages it is compared with; 60 µs for each of
        at most 3 that it shares most of its text with and that are near by their views, or on a young site.
        """
        pages = [page for turn in turns for page in turn]
        words = _band_words([viewed for _, viewed, _ in pages])
        relations: list[Relation] = []
        pairs: list[tuple[int, _Remembered]] = []
        others: dict[int, list[_Remembered]] = {}
        start = 0
        for turn in turns:
            rows = range(start, start := start + len(turn))
            for row in rows:
                site = self._sites[pages[row].arrival.site]
                relations.append("copy" if site.has(pages[row].arrival) else "unlike")
                if relations[row] == "unlike":
                    pairs += [(row, other) for other in site.nearest(words[row])]
                    others[row] = site.some()
            for row in rows:
                self._remember(pages[row], words[row])
            while self._bytes > self._max_bytes:
                self._forget_oldest()
        for row, relation in self._related(pages, pairs, others).items() if pairs else ():
            relations[row] = relation
        return relations

    def _remember(self, seen: SeenPage, words: list[int]) -> None:
        arrival, viewed, _ = seen
        number, self._next = self._next, self._next + 1
        page = _Remembered(
            arrival.page.id,
            arrival.text_fingerprint,
            words,
            _View(viewed.sketch, viewed.shingle_count, viewed.whole, viewed.whole_count),
            arrival.sketch,
            arrival.shingle_count,
            _lines_of(arrival),
        )
        self._site_of[number] = arrival.site
        self._sites[arrival.site].add(number, page)
        self._bytes += page.size_bytes

    def _forget_oldest(self) -> None:
        number, name = self._site_of.popitem(last=False)
        site = self._sites[name]
        self._bytes -= site.pages[number].size_bytes
        site.remove(number)
        if not site.pages:
            del self._sites[name]

    def _related(
        self,
        pages: Sequence[SeenPage],
        pairs: Sequence[tuple[int, _Remembered]],
        others: Mapping[int, Sequence[_Remembered]],
    ) -> dict[int, Relation]:
        """Return the relation of the rows of pages that are copies or siblings.

        Args:
            pages: all rows.
            pairs: rows, and the remembered pages they are compared with.
            others: remembered pages of the site of each of these rows, as it was when the page came.
        """
        figures = text_figures(
            [pages[row].viewed for row, _ in pairs], [other.view for _, other in pairs], self._sketch
        )
        views = classify(figures, self._verdict)
        is_open = views.is_match | np.array([pages[row].is_young for row, _ in pairs])
        open_at = np.flatnonzero(is_open)
        if not open_at.size:
            return {}
        is_copy = (views.is_match & (views.mutual >= COPY_CONTAINMENT))[open_at]
        open_pairs = [pairs[at] for at in open_at.tolist()]
        shares = _whole_shares([(pages[row].arrival, other) for row, other in open_pairs], self._sketch)
        found: dict[int, Relation] = {}
        read: Counter[int] = Counter()
        repeating: set[int] = set()
        for at in np.argsort(-shares, kind="stable").tolist():
            row, other = open_pairs[at]
            if found.get(row) == "copy":
                continue
            relation: Relation = "copy" if is_copy[at] else "unlike"
            if shares[at] >= EDITED_CONTAINMENT:
                if read[row] == _MOST_READ and row in repeating:
                    continue  # the most alike pages have no more than what the site repeats
                if read[row] < _MOST_READ:
                    read[row] += 1
                    beside = [each.lines for each in others[row] if each.page_id != other.page_id]
                    reading = _read(_lines_of(pages[row].arrival), other.lines, beside)
                    if reading == "repeated":
                        repeating.add(row)
                    relation = _RELATIONS.get(reading, relation)
            if relation != "unlike":
                found[row] = relation
        return found


def _band_words(arrivals: Sequence[Arrival]) -> list[list[int]]:
    """Return the bands of content and whole text of each page, each a number of its own."""
    views = [list(dict.fromkeys((arrival.bands, arrival.whole_bands))) for arrival in arrivals]
    counts = np.array([len(view) // _WORD_BYTES for of_page in views for view in of_page], np.int64)
    words = np.frombuffer(b"".join(chain.from_iterable(views)), ">u4").astype(np.int64)
    starts = np.cumsum(counts) - counts
    words |= (np.arange(words.size) - np.repeat(starts, counts)) << 32
    numbers = words.tolist()
    ends = accumulate((sum(map(len, of_page)) // _WORD_BYTES for of_page in views), initial=0)
    return [numbers[start:end] for start, end in pairwise(ends)]


def _whole_shares(pairs: Sequence[tuple[Arrival, _Remembered]], config: SketchConfig) -> NDArray[np.float64]:
    """Return the smaller one of the shares that each whole text has of the other, float64[pairs]."""
    sides = list(zip(*pairs, strict=True))
    left, right = (stack_sketches([page.sketch for page in side], config.sketch_bytes) for side in sides)
    counts = [np.array([page.shingle_count for page in side]) for side in sides]
    own, other = containments(estimate_resemblances(left, right, config), *counts)
    return np.minimum(own, other)


def _read(one: PageLines, other: PageLines, beside: Sequence[PageLines]) -> _Reading:
    """Compare two pages that share most of their text by their lines, unless one is too large."""
    if max(one.tokens.size, other.tokens.size) > _MOST_TOKENS:
        return "unread"
    apart = difference(one, other)
    if apart == "line":
        return "repeated" if repeats(one, other, beside) else "copy"
    return "copy" if apart == "words" else "sibling"


def _uncount(counts: Counter[_Key], key: _Key) -> None:
    counts[key] -= 1
    if not counts[key]:
        del counts[key]


def _lines_of(arrival: Arrival) -> PageLines:
    if arrival.lines is None:
        raise InvariantBroken("a page is compared by its lines, which are gone")
    return arrival.lines
