"""Takes the frames of their sites out of pages: two views of each page, its content and its whole text.

What is frame is counted from the pages that have been decided (the stored frame tables) and, while little is
known of a site, from those that are under way in this process too: without them the first hundreds of pages
of a site would be read before anything is learned. Pages of one batch teach each other in either direction. A
page that nearly equals another teaches nothing; copies would make content look like frame.

No I/O here. One call at a time.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup_stream.fingerprints.framed import SHORT_SHINGLES, pack_wholes
from neardup_stream.fingerprints.simhash import (
    PageLines,
    line_token_counts,
    view_lines,
)
from neardup_stream.fingerprints.sketch import SketchConfig
from neardup_stream.frames.lines import (
    FrameConfig,
    asks_for_landmarks,
    content_lines,
    strict_content_lines,
)
from neardup_stream.frames.table import FrameTable, LineHashes
from neardup_stream.match import Match
from neardup_stream.message import Position
from neardup_stream.page import Page
from neardup_stream.pipeline.arrival import Arrival, Lesson
from neardup_stream.pipeline.likeness import MIN_CONTENT_SHINGLES, VerdictConfig
from neardup_stream.pipeline.near_copies import COPY_CONTAINMENT, NearCopies, SeenPage
from neardup_stream.pipeline.under_way import UnderWay

__all__ = ["SETTLED_PAGES", "TAUGHT_OF_SETTLED", "FrameViewer", "Viewed", "can_teach", "is_distinct"]

SETTLED_PAGES = 64
"""Of a site of which so many pages are counted few more are: its frame is known, and changes slowly."""

_KNOWN_PAGES = 24
"""If so many pages of a site are counted, what is under way adds nothing to its table."""

_FEW_PAGES = 10
"""While fewer pages of a site are counted it is young: content may be taken for its frame."""

TAUGHT_OF_SETTLED = 16
"""Of the pages of a settled site one in so many is counted."""

TAUGHT_OF_REDESIGNED = 4
"""The same of the pages in which hardly any frame is found: the site may have a new design."""

REDESIGNED_CONTENT = 0.8
"""In a page of a settled site with a larger share of content hardly any frame is found."""

_REMEMBERED_BYTES = 32 << 20
"""Memory for the latest pages of sites that are not settled."""

_REMEMBERED_WHILE_LEARNING_BYTES = 256 << 20

_Mask = NDArray[np.bool_]


def is_distinct(matches: Sequence[Match], *, is_sibling: bool = False) -> bool:
    """Whether a page with these matches nearly equals none of them, so that its lines are counted.

    Args:
        matches: of the page.
        is_sibling: whether it was compared with such pages line by line, and found to be another page.
    """
    return all(
        match.kind != "exact" and (is_sibling or match.mutual_containment < COPY_CONTAINMENT)
        for match in matches
    )


def can_teach(arrival: Arrival) -> bool:
    """Whether a page that was not viewed yet has a site that is known by name, tokens enough, and lines."""
    lines = arrival.lines
    return bool(arrival.site) and arrival.is_decided and lines is not None and lines.hashes.size > 0


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


LinesOutsideLandmarks = Callable[[Page], LineHashes | None]


class _Reading(NamedTuple):
    """How pages are read and compared, as a FrameViewer is set up."""

    config: FrameConfig
    outside_landmarks: LinesOutsideLandmarks
    copies: NearCopies
    most_lessons: float
    lesson_counts: Counter[str]

    def is_learning(self, site: str) -> bool:
        """Whether every page of a site that is no copy has a lesson."""
        return self.lesson_counts[site] < self.most_lessons

    def is_known(self, site: str, table: FrameTable) -> bool:
        """Whether pages of a site are viewed by its table alone."""
        return table.page_count >= _KNOWN_PAGES and not self.is_learning(site)


class FrameViewer:
    """Keeps what this process knows of frames, and views pages by it.

    Args:
        config: when a line is frame.
        outside_landmarks: returns the lines of a page outside its landmarks, None if they cannot be told.
        verdict: when pages are alike; it has a sketch.
        most_lessons: for so many pages of each site every one that is no copy has a lesson, also once the
            site is well known; 0 for a daemon, whose index finds the copies among pages of well-known sites.
    """

    def __init__(
        self,
        config: FrameConfig,
        outside_landmarks: LinesOutsideLandmarks,
        verdict: VerdictConfig,
        *,
        most_lessons: float = 0,
    ) -> None:
        room = _REMEMBERED_WHILE_LEARNING_BYTES if most_lessons else _REMEMBERED_BYTES
        self._reading = _Reading(
            config, outside_landmarks, NearCopies(verdict, room), most_lessons, Counter()
        )
        self._under_way: defaultdict[str, UnderWay] = defaultdict(UnderWay)

    def finish(self, batch: int, sites: Sequence[str]) -> None:
        """Forget what a batch taught: its pages are decided, and counted in the tables if they are to be."""
        for site in sites:
            under_way = self._under_way[site]
            under_way.remove(batch)
            if not under_way.lessons:
                del self._under_way[site]

    def content_of(self, arrival: Arrival, table: FrameTable) -> NDArray[np.bool_]:
        """Return which lines of a page that is long enough are content by its table alone, bool[lines]."""
        nothing: defaultdict[str, UnderWay] = defaultdict(UnderWay)
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
        under_way: defaultdict[str, UnderWay],
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
        self._siblings: set[int] = set()
        self._lessons: dict[Position, Lesson] = {}
        self._lines: dict[int, PageLines] = {}
        self._by_site: defaultdict[str, list[int]] = defaultdict(list)
        for row, arrival in enumerate(arrivals):
            lines = arrival.lines
            if lines is not None and can_teach(arrival):
                self._by_site[arrival.site].append(row)
                self._lines[row] = lines
                if not self._is_settled(arrival.site) or reading.is_learning(arrival.site):
                    self._give_lesson(row)

    def view_all(self) -> None:
        """View every page; those of sites not known yet one by one, and again when all are counted."""
        known = {site: rows for site, rows in self._by_site.items() if self._is_known(site)}
        others = [rows for site, rows in self._by_site.items() if site not in known]
        self._view_known(known)
        for wave in zip_longest(*others):
            rows = [row for row in wave if row is not None]
            self._view(rows)
            self._teach(rows)
        self._view([row for rows in others for row in rows])
        self._reading.lesson_counts.update(self._arrivals[row].site for row in self._taught)

    def result(self) -> Viewed:
        rows = [row for rows in self._by_site.values() for row in rows]
        return Viewed(
            [
                arrival
                if arrival.lines is None and row not in self._siblings
                else arrival._replace(lines=None, is_sibling=row in self._siblings)
                for row, arrival in enumerate(self._viewed)
            ],
            self._lessons,
            sum(self._viewed[row].token_count - self._viewed[row].content_token_count for row in rows),
            sum(self._viewed[row].token_count for row in rows),
        )

    def _is_settled(self, site: str) -> bool:
        return self._tables[site].page_count >= SETTLED_PAGES

    def _is_known(self, site: str) -> bool:
        return self._reading.is_known(site, self._tables[site])

    def _give_lesson(self, row: int) -> None:
        arrival, lines = self._arrivals[row], self._lines[row]
        self._lessons[arrival.record.position] = Lesson(
            arrival.site, np.unique(lines.hashes)[: self._reading.config.max_lines]
        )

    def _view_known(self, sites: Mapping[str, Sequence[int]]) -> None:
        """View pages of known sites, whose lines are looked up together; few need a closer look."""
        if not sites:
            return
        config = self._reading.config
        rows = [row for of_site in sites.values() for row in of_site]
        lines = [self._lines[row] for row in rows]
        line_counts = np.array([page.hashes.size for page in lines])
        starts = np.cumsum(line_counts) - line_counts
        counts = np.concatenate(
            [
                self._tables[site].counts_of(np.concatenate([self._lines[row].hashes for row in of_site]))
                for site, of_site in sites.items()
            ]
        )
        is_markup = np.repeat([self._arrivals[row].is_markup for row in rows], line_counts)
        is_content = counts < np.where(is_markup, config.markup_pages, config.text_pages)
        tokens = line_token_counts(lines)
        page_tokens = np.add.reduceat(tokens, starts)
        asked = tokens * (is_markup & is_content & (counts >= config.landmark_pages))
        asks = asks_for_landmarks(np.add.reduceat(asked, starts), page_tokens)
        shares = np.add.reduceat(tokens * is_content, starts) / page_tokens
        for row, start, count, must_ask, share in zip(
            rows, starts.tolist(), line_counts.tolist(), asks.tolist(), shares.tolist(), strict=True
        ):
            self._masks[row] = self.mask(row) if must_ask else is_content[start : start + count]
            if self._is_taught(self._arrivals[row], share):
                self._give_lesson(row)
        self._replace(rows)

    def _is_taught(self, arrival: Arrival, content_share: float) -> bool:
        """Whether a page of a known site is counted, beside those that have a lesson anyway."""
        is_redesigned = content_share > REDESIGNED_CONTENT
        return (
            arrival.text_fingerprint % (TAUGHT_OF_REDESIGNED if is_redesigned else TAUGHT_OF_SETTLED) == 0
            and arrival.record.position not in self._lessons
        )

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
        if under_way is not None and not self._is_known(arrival.site):
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
            hashes = self._lines[row].hashes
            outside = self._reading.outside_landmarks(self._arrivals[row].page)
            self._landmarks[row] = ~np.isin(hashes, hashes if outside is None else outside)
        return self._landmarks[row]

    def _framed(self, rows: Sequence[int]) -> Iterator[Arrival]:
        """The pages without the lines that are frame."""
        if not rows:
            return
        arrivals = [self._arrivals[row] for row in rows]
        masks = [self._masks[row] for row in rows]
        views = view_lines([self._lines[row] for row in rows], masks, self._sketch)
        wholes = pack_wholes(
            [arrival.sketch for arrival in arrivals],
            views.is_kept_sample,
            [self._keeps_all(arrival) for arrival in arrivals],
            self._sketch,
        )
        columns = zip(
            arrivals,
            views.sketches,
            views.shingle_counts.tolist(),
            views.bands.astype(">u4"),
            views.token_counts.tolist(),
            wholes,
            strict=True,
        )
        for arrival, sketch, shingle_count, bands, token_count, whole in columns:
            yield arrival._replace(
                sketch=sketch.tobytes(),
                shingle_count=shingle_count,
                bands=bands.tobytes() if shingle_count >= MIN_CONTENT_SHINGLES else arrival.bands,
                whole=whole,
                whole_count=arrival.shingle_count,
                whole_bands=arrival.bands if self._looks_for_wholes(arrival) else b"",
                content_token_count=token_count,
                lines=None,
            )

    def _looks_for_wholes(self, arrival: Arrival) -> bool:
        """Whether pages may be stored by their whole texts that this one is like."""
        return arrival.shingle_count <= SHORT_SHINGLES or not self._is_settled(arrival.site)

    def _keeps_all(self, arrival: Arrival) -> bool:
        """Whether content may have been taken for frame, so that all bins are needed to find copies."""
        return arrival.shingle_count <= SHORT_SHINGLES or self._is_young(arrival.site)

    def _is_young(self, site: str) -> bool:
        return self._tables[site].page_count < _FEW_PAGES

    def _teach(self, rows: Sequence[int]) -> None:
        """Count the pages that are no copies; those that are have no lesson."""
        pages = [
            SeenPage(self._arrivals[row], self._viewed[row], self._is_young(self._arrivals[row].site))
            for row in rows
        ]
        for row, relation in zip(rows, self._reading.copies.find_and_remember(pages), strict=True):
            arrival = self._arrivals[row]
            if relation == "copy":
                self._copies.add(row)
                self._lessons.pop(arrival.record.position)
            else:
                lines = self._lessons[arrival.record.position].lines
                self._under_way[arrival.site].add(self._batch, lines)
                self._taught.add(row)
                if relation == "sibling":
                    self._siblings.add(row)
