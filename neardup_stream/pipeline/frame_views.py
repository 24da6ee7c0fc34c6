"""Takes the frames of their sites out of pages: two views of each page, its content and its whole text.

What is frame is counted from the pages that have been decided (the stored frame tables) and, while little is
known of a site, from those that are under way in this process too: without them the first hundreds of pages
of a site would be read before anything is learned. Pages of one batch teach each other in either direction. A
page that nearly equals another teaches nothing; copies would make content look like frame.

No I/O here. One call at a time.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup_stream.fingerprints.framed import SHORT_SHINGLES, pack_whole
from neardup_stream.fingerprints.simhash import PageLines, SimhashConfig, fingerprint_lines, view_lines
from neardup_stream.fingerprints.sketch import SketchConfig
from neardup_stream.frames.lines import (
    FrameConfig,
    asks_for_landmarks,
    content_lines,
    strict_content_lines,
)
from neardup_stream.frames.table import FrameTable, LineHashes, counts_in_tables
from neardup_stream.match import Match
from neardup_stream.message import Position
from neardup_stream.pipeline.arrival import Arrival, Lesson
from neardup_stream.pipeline.likeness import MIN_CONTENT_SHINGLES, VerdictConfig, judge_likeness
from neardup_stream.pipeline.near_copies import COPY_CONTAINMENT, band_words
from neardup_stream.text.markup import Extraction
from neardup_stream.text.page_text import page_text

__all__ = ["SETTLED_PAGES", "TAUGHT_OF_SETTLED", "FrameViewer", "Viewed", "is_distinct"]

SETTLED_PAGES = 64
"""A site of which so many pages are counted is known: what is under way adds nothing to it."""

_FEW_PAGES = 10
"""While fewer pages of a site are known, a page that matches one of them counts as its copy."""

TAUGHT_OF_SETTLED = 4
"""Of the pages of such a site one in so many is counted: its frame is known, and changes slowly."""

_MOST_COMPARED = 8
"""Of the pages under way that share a band with a page, so many are compared with it, the latest."""

_Mask = NDArray[np.bool_]


def is_distinct(matches: Sequence[Match]) -> bool:
    """Whether a page with these matches nearly equals none of them, so that its lines are counted."""
    return all(match.kind != "exact" and match.mutual_containment < COPY_CONTAINMENT for match in matches)


class Viewed(NamedTuple):
    """A batch of pages without their frames.

    Attributes:
        arrivals: in order; their lines are gone.
        lessons: what each page could teach, by its position.
        frame_tokens: tokens that were taken out.
        tokens: of all pages whose site is known by name.
    """

    arrivals: list[Arrival]
    lessons: dict[Position, Lesson]
    frame_tokens: int
    tokens: int


class _Reading(NamedTuple):
    """How pages are read and compared, as a FrameViewer was told."""

    config: FrameConfig
    simhash: SimhashConfig
    verdict: VerdictConfig
    extraction: Extraction
    taught_of_settled: int


class _Remembered(NamedTuple):
    """What is kept of a page that is under way: a FramedSketch, and none of its text."""

    sketch: bytes
    shingle_count: int
    whole: bytes
    whole_count: int


class _UnderWay:
    """Pages of one site that are in flight and not counted in its table yet, batch by batch."""

    def __init__(self) -> None:
        self.line_counts: Counter[int] = Counter()
        self.page_count = 0
        self.lessons: defaultdict[int, list[LineHashes]] = defaultdict(list)
        self.banded: defaultdict[int, defaultdict[int, list[tuple[int, _Remembered]]]] = defaultdict(
            lambda: defaultdict(list)
        )
        self.banded_count = 0
        self.texts: defaultdict[int, set[int]] = defaultdict(set)

    def add(self, batch: int, lines: LineHashes) -> None:
        self.lessons[batch].append(lines)
        self.line_counts.update(lines.tolist())
        self.page_count += 1

    def remove(self, batch: int) -> None:
        counts = self.line_counts
        for lines in self.lessons.pop(batch, ()):
            self.page_count -= 1
            for line in lines.tolist():
                counts[line] -= 1
                if not counts[line]:
                    del counts[line]
        self.banded.pop(batch, None)
        self.texts.pop(batch, None)

    def remember(self, batch: int, words: Sequence[int], page: Arrival) -> None:
        """Let later pages find a page by its text and, the latest of each band, by its bands."""
        self.texts[batch].add(page.text_fingerprint)
        self.banded_count += 1
        kept = _Remembered(page.sketch, page.shingle_count, page.whole, page.whole_count)
        for word in words:
            latest = self.banded[batch][word]
            latest.append((self.banded_count, kept))
            del latest[:-_MOST_COMPARED]

    def has_text(self, page: Arrival) -> bool:
        """Whether a page with the same sequence of tokens is under way."""
        return any(page.text_fingerprint in texts for texts in self.texts.values())

    def sharing_bands(self, words: Sequence[int]) -> list[_Remembered]:
        """The latest pages that share a band with a page."""
        found = {
            number: page
            for of_batch in self.banded.values()
            for word in words
            for number, page in of_batch.get(word, ())
        }
        return [found[number] for number in sorted(found)[-_MOST_COMPARED:]]


class FrameViewer:
    """Keeps what this process knows of frames, and views pages by it.

    Args:
        config: when a line is frame.
        simhash: how texts are read.
        verdict: when pages are alike; it has a sketch.
        extraction: which part of a page's markup counts as its text.
        taught_of_settled: of the pages of a well-known site one in so many has a lesson.
    """

    def __init__(
        self,
        config: FrameConfig,
        simhash: SimhashConfig,
        verdict: VerdictConfig,
        extraction: Extraction,
        taught_of_settled: int = TAUGHT_OF_SETTLED,
    ) -> None:
        self._reading = _Reading(config, simhash, verdict, extraction, taught_of_settled)
        self._under_way: defaultdict[str, _UnderWay] = defaultdict(_UnderWay)

    def finish(self, batch: int, sites: Sequence[str]) -> None:
        """Forget what a batch taught: its pages are decided, and counted in the tables if they are to be."""
        for site in sites:
            under_way = self._under_way[site]
            under_way.remove(batch)
            if not under_way.lessons and not under_way.banded:
                del self._under_way[site]

    def content_of(self, arrival: Arrival, table: FrameTable) -> NDArray[np.bool_]:
        """Return which lines of a page that is long enough are content by its table alone, bool[lines]."""
        nothing: defaultdict[str, _UnderWay] = defaultdict(_UnderWay)
        tables = {arrival.site: table}
        return _Work(self._reading, nothing, [arrival], 0, tables, SketchConfig()).mask(0)

    def view(
        self,
        arrivals: Sequence[Arrival],
        batch: int,
        tables: Mapping[str, FrameTable],
        sketch: SketchConfig,
    ) -> Viewed:
        """Take the frames out of a batch of pages.

        Args:
            arrivals: pages in order, some perhaps without site or lines.
            batch: its number, for `finish`.
            tables: what is stored of their sites.
            sketch: how sketches are made.

        Cost: 30 µs a page of a known site; 0.1 ms and, where markup must be asked for landmarks, its
        extraction once more, for a page of a young one.
        """
        work = _Work(self._reading, self._under_way, list(arrivals), batch, tables, sketch)
        work.view_all()
        return work.result()


class _Work:
    """The views of one batch, while they are made."""

    def __init__(
        self,
        reading: _Reading,
        under_way: defaultdict[str, _UnderWay],
        arrivals: list[Arrival],
        batch: int,
        tables: Mapping[str, FrameTable],
        sketch: SketchConfig,
    ) -> None:
        self._reading = reading
        self._under_way = under_way
        self._arrivals = arrivals
        self._viewed = list(arrivals)
        self._batch = batch
        self._tables = tables
        self._sketch = sketch
        self._masks: dict[int, _Mask] = {}
        self._landmarks: dict[int, _Mask] = {}
        self._taught: set[int] = set()
        self._copies: set[int] = set()
        self._lessons: dict[Position, Lesson] = {}
        self._lines: dict[int, PageLines] = {}
        self._by_site: defaultdict[str, list[int]] = defaultdict(list)
        for row, arrival in enumerate(arrivals):
            lines = arrival.lines
            if arrival.site and arrival.is_decided and lines is not None and lines.hashes.size:
                self._by_site[arrival.site].append(row)
                self._lines[row] = lines
                is_sampled = arrival.text_fingerprint % self._reading.taught_of_settled == 0
                if is_sampled or not self._is_settled(arrival.site):
                    self._lessons[arrival.record.position] = Lesson(
                        arrival.site, np.unique(lines.hashes)[: reading.config.max_lines]
                    )

    def view_all(self) -> None:
        """View every page; those of young sites one after the other, and again when all have been counted."""
        settled: list[list[int]] = []
        young: list[list[int]] = []
        for site, rows in self._by_site.items():
            (settled if self._is_settled(site) else young).append(rows)
        self._view_settled([row for rows in settled for row in rows])
        for wave in zip_longest(*young):
            rows = [row for row in wave if row is not None]
            self._view(rows)
            self._teach(rows)
        self._view([row for rows in young for row in rows])

    def result(self) -> Viewed:
        rows = [row for rows in self._by_site.values() for row in rows]
        return Viewed(
            [arrival._replace(lines=None) for arrival in self._viewed],
            self._lessons,
            sum(self._viewed[row].token_count - self._viewed[row].content_token_count for row in rows),
            sum(self._viewed[row].token_count for row in rows),
        )

    def _is_settled(self, site: str) -> bool:
        return self._tables[site].page_count >= SETTLED_PAGES

    def _view_settled(self, rows: Sequence[int]) -> None:
        """View pages of settled sites, whose lines are looked up together; few need a closer look."""
        if not rows:
            return
        config = self._reading.config
        lines = [self._lines[row] for row in rows]
        line_counts = np.array([page.hashes.size for page in lines])
        starts = np.cumsum(line_counts) - line_counts
        counts = counts_in_tables(
            [self._tables[self._arrivals[row].site] for row in rows], [page.hashes for page in lines]
        )
        is_markup = np.repeat([self._arrivals[row].is_markup for row in rows], line_counts)
        is_content = counts < np.where(is_markup, config.markup_pages, config.text_pages)
        tokens = np.concatenate([page.token_counts for page in lines])
        asked = tokens * (is_markup & is_content & (counts >= config.landmark_pages))
        asks = asks_for_landmarks(np.add.reduceat(asked, starts), np.add.reduceat(tokens, starts))
        for row, start, count, must_ask in zip(
            rows, starts.tolist(), line_counts.tolist(), asks.tolist(), strict=True
        ):
            self._masks[row] = self.mask(row) if must_ask else is_content[start : start + count]
        self._replace(rows)

    def _view(self, rows: Sequence[int]) -> None:
        """Bring the views of pages up to date with what is known now."""
        changed = []
        for row in rows:
            mask = self.mask(row)
            former = self._masks.get(row)
            if former is None or not np.array_equal(mask, former):
                self._masks[row] = mask
                changed.append(row)
        self._replace(changed)

    def _replace(self, rows: Sequence[int]) -> None:
        """View pages by their masks."""
        framed = []
        for row in rows:
            if self._masks[row].all():
                self._viewed[row] = self._arrivals[row]
            else:
                framed.append(row)
        for row, arrival in zip(framed, self._framed(framed), strict=True):
            self._viewed[row] = arrival

    def mask(self, row: int) -> _Mask:
        """Which lines of a page are content."""
        arrival, lines = self._arrivals[row], self._lines[row]
        table = self._tables[arrival.site]
        counts, page_count = table.counts_of(lines.hashes), table.page_count
        under_way = self._under_way.get(arrival.site)
        if under_way is not None and not self._is_settled(arrival.site):
            own = row in self._taught
            more = under_way.line_counts
            counts += np.array([more[line] for line in lines.hashes.tolist()], np.int64) - own
            page_count += under_way.page_count - own
        if row in self._copies and page_count < _FEW_PAGES:  # what copies share is no frame for that
            return strict_content_lines(counts, self._reading.config, is_markup=arrival.is_markup)
        return content_lines(
            counts,
            lines.token_counts,
            page_count,
            (lambda: self._in_landmarks(row)) if arrival.is_markup else None,
            self._reading.config,
        )

    def _in_landmarks(self, row: int) -> _Mask:
        """Which lines of a page stand in its landmarks only."""
        if row not in self._landmarks:
            text = page_text(self._arrivals[row].page, self._reading.extraction, landmarks=False).text
            _, (outside,) = fingerprint_lines([text], self._reading.simhash)
            self._landmarks[row] = ~np.isin(self._lines[row].hashes, outside.hashes)
        return self._landmarks[row]

    def _framed(self, rows: Sequence[int]) -> Iterator[Arrival]:
        """The pages without the lines that are frame."""
        arrivals = [self._arrivals[row] for row in rows]
        masks = [self._masks[row] for row in rows]
        views = view_lines([self._lines[row] for row in rows], masks, self._sketch)
        bands = views.bands.astype(">u4")
        for i, arrival in enumerate(arrivals):
            shingle_count = int(views.shingle_counts[i])
            whole = np.frombuffer(arrival.sketch, np.uint8)
            yield arrival._replace(
                sketch=views.sketches[i].tobytes(),
                shingle_count=shingle_count,
                bands=bands[i].tobytes() if shingle_count >= MIN_CONTENT_SHINGLES else arrival.bands,
                whole=pack_whole(whole, views.is_kept_sample[i], arrival.shingle_count, self._sketch),
                whole_count=arrival.shingle_count,
                whole_bands=arrival.bands if self._looks_for_wholes(arrival) else b"",
                content_token_count=int(views.token_counts[i]),
            )

    def _looks_for_wholes(self, arrival: Arrival) -> bool:
        """Whether pages may be stored by their whole texts that this one is like."""
        return arrival.shingle_count <= SHORT_SHINGLES or not self._is_settled(arrival.site)

    def _teach(self, rows: Sequence[int]) -> None:
        """Count those pages that nearly equal none that is under way."""
        pairs: list[tuple[int, _Remembered]] = []
        words = {row: band_words(self._viewed[row]) for row in rows}
        for row in rows:
            under_way = self._under_way[self._arrivals[row].site]
            if under_way.has_text(self._arrivals[row]):
                self._copies.add(row)
            else:
                pairs += [(row, other) for other in under_way.sharing_bands(words[row])]
        self._copies.update(self._near_copies(pairs))
        for row in rows:
            arrival = self._viewed[row]
            under_way = self._under_way[arrival.site]
            if row not in self._copies:
                under_way.add(self._batch, self._lessons[arrival.record.position].lines)
                self._taught.add(row)
            under_way.remember(self._batch, words[row], arrival)

    def _near_copies(self, pairs: Sequence[tuple[int, _Remembered]]) -> Iterator[int]:
        if not pairs:
            return
        lefts, rights = [self._viewed[row] for row, _ in pairs], [other for _, other in pairs]
        likeness = judge_likeness(lefts, rights, self._reading.verdict)
        mutual = np.minimum(likeness.own, likeness.other)
        for (row, _), is_near, share in zip(pairs, likeness.is_near, mutual, strict=True):
            if is_near and (share >= COPY_CONTAINMENT or self._is_young(self._arrivals[row].site)):
                yield row

    def _is_young(self, site: str) -> bool:
        """Whether so few pages of a site are known that any match is rather a copy than a sibling."""
        return self._tables[site].page_count + self._under_way[site].page_count < _FEW_PAGES
