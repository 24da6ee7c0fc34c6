"""Make the views of the pages of one batch: which of their lines are frame, and what is left without them.

Pages of a batch teach each other in either direction. A page that nearly equals another teaches nothing;
copies would make content look like frame. No I/O here.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, chain, groupby, pairwise
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from neardup_stream.fingerprints.framed import SHORT_SHINGLES, pack_wholes
from neardup_stream.fingerprints.simhash import PageLines, line_token_counts, view_lines
from neardup_stream.fingerprints.sketch import SketchConfig
from neardup_stream.frames.lines import content_lines, first_look, frame_bounds, strict_content_lines
from neardup_stream.frames.table import distinct_lines
from neardup_stream.message import Position
from neardup_stream.pipeline.arrival import Arrival, Lesson
from neardup_stream.pipeline.batch_lines import BatchLines, YoungPages, waves
from neardup_stream.pipeline.classification import MIN_CONTENT_SHINGLES
from neardup_stream.pipeline.frame_reading import CHANGED_CONTENT, SETTLED_SITE_PAGES, Reading, is_sampled
from neardup_stream.pipeline.near_copies import SeenPage
from neardup_stream.pipeline.site_lines import SiteLines, merge_lessons

__all__ = ["BatchViews", "Viewed", "can_teach"]

_FEW_PAGES = 10
"""While fewer pages of a site are counted it is young: content may be taken for its frame."""

_Mask = NDArray[np.bool_]


def can_teach(arrival: Arrival) -> bool:
    """Return whether a page that was not viewed yet has a named site, tokens enough, and two lines or more.

    A page of one line has no frame: without that line it would have no text.
    """
    lines = arrival.lines
    return bool(arrival.site) and arrival.has_enough_tokens and lines is not None and lines.hashes.size > 1


class Viewed(NamedTuple):
    """A batch of pages without their frames.

    Attributes:
        arrivals: in order; their lines, and the content of their pages, are gone.
        lessons: what each page could teach, by its position.
        frame_tokens: tokens that were taken out.
        tokens: of all pages whose site is known by name.
    """

    arrivals: list[Arrival]
    lessons: dict[Position, Lesson]
    frame_tokens: int
    tokens: int


class BatchViews:
    """The views of one batch, while they are made.

    Args:
        reading: how pages are read and compared.
        sites: what is known of the sites of the pages; learns from them.
        arrivals: pages in order, some perhaps without site or lines.
        batch: its number.
        sketch: how sketches are made.
    """

    def __init__(
        self,
        reading: Reading,
        sites: Mapping[str, SiteLines],
        arrivals: list[Arrival],
        batch: int,
        sketch: SketchConfig,
    ) -> None:
        self._reading = reading
        self._sites = sites
        self._former_counts = {site: lines.page_count for site, lines in sites.items()}
        self._arrivals = arrivals
        self._viewed = list(arrivals)
        self._batch = batch
        self._sketch = sketch
        self._masks: dict[int, _Mask] = {}
        self._landmarks: dict[int, _Mask] = {}
        self._taught: set[int] = set()
        self._taught_sites: set[str] = set()
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

    def view_all(self) -> None:
        """View every page; those of sites not known yet one by one, and again when all are counted."""
        known = {site: rows for site, rows in self._by_site.items() if self._is_known(site)}
        self._view_known(known)
        self._view_young({site: rows for site, rows in self._by_site.items() if site not in known})
        if self._reading.most_lessons:  # a daemon would count the sites of a whole crawl for nothing
            self._reading.lesson_counts.update(self._arrivals[row].site for row in self._taught)

    def result(self) -> Viewed:
        """Return the pages without their frames."""
        rows, siblings = [row for rows in self._by_site.values() for row in rows], self._siblings
        return Viewed(
            [
                replace(each, page=each.page.without_content(), lines=None, is_sibling=row in siblings)
                if each.lines is not None or each.is_markup or row in siblings
                else each
                for row, each in enumerate(self._viewed)
            ],
            self._lessons,
            sum(self._viewed[row].token_count - self._viewed[row].content_token_count for row in rows),
            sum(self._viewed[row].token_count for row in rows),
        )

    def _is_settled(self, site: str) -> bool:
        return self._former_counts[site] >= SETTLED_SITE_PAGES

    def _is_known(self, site: str) -> bool:
        return self._reading.is_known(site, self._former_counts[site])

    def _has_lesson(self, row: int) -> bool:
        return self._arrivals[row].record.position in self._lessons

    def _give_lesson(self, row: int) -> None:
        arrival, lines = self._arrivals[row], distinct_lines(self._lines[row].hashes)
        taught = lines[: self._reading.config.max_lines].copy()  # a view would keep all lines of the page
        self._lessons[arrival.record.position] = Lesson(arrival.site, taught)

    def _view_known(self, sites: Mapping[str, Sequence[int]]) -> None:
        """View pages of known sites, whose lines are looked up together; few need a closer look."""
        if not sites:
            return
        config = self._reading.config
        rows = [row for of_site in sites.values() for row in of_site]
        for row in rows:
            if not self._is_settled(self._arrivals[row].site):
                self._give_lesson(row)
        lines = [self._lines[row] for row in rows]
        line_counts = np.array([page.hashes.size for page in lines])
        starts = np.cumsum(line_counts) - line_counts
        merge_lessons([self._sites[site] for site in sites], config.max_lines)
        counts = np.concatenate(
            [
                self._sites[site].counts_merged(np.concatenate([self._lines[row].hashes for row in of_site]))
                for site, of_site in sites.items()
            ]
        )
        bounds = [
            of_page
            for site, of_site in sites.items()
            for of_page in [frame_bounds(self._sites[site].page_count, config)] * len(of_site)
        ]
        is_markup = np.array([self._arrivals[row].is_markup for row in rows])
        is_content, is_open, shares = first_look(
            counts, line_token_counts(lines), line_counts, is_markup, bounds, config
        )
        for row, start, count, must_ask, share in zip(
            rows, starts.tolist(), line_counts.tolist(), is_open.tolist(), shares.tolist(), strict=True
        ):
            self._masks[row] = self.mask(row) if must_ask else is_content[start : start + count]
            if is_sampled(self._arrivals[row], share) and not self._has_lesson(row):
                self._give_lesson(row)
        self._replace(rows)
        self._teach_known(sites)
        self._view_again(
            [
                row
                for row, share in zip(rows, shares.tolist(), strict=True)
                if (site := self._arrivals[row].site) in self._taught_sites
                and (share > CHANGED_CONTENT or not self._is_settled(site))
            ]
        )

    def _teach_known(self, sites: Mapping[str, Sequence[int]]) -> None:
        """Count the pages of known sites that have lessons."""
        lessons = [[row for row in rows if self._has_lesson(row)] for rows in sites.values()]
        self._teach(list(waves(lessons)))

    def _view_young(self, sites: Mapping[str, Sequence[int]]) -> None:
        """View pages of sites that are not known yet: each teaches those after it, and then all before it."""
        if not sites:
            return
        rows = [row for of_site in sites.values() for row in of_site]
        known = [
            self._sites[site].counts_one_by_one(np.concatenate([self._lines[row].hashes for row in of_site]))
            for site, of_site in sites.items()
        ]
        young = YoungPages(
            BatchLines(
                [self._lines[row].hashes for row in rows],
                [len(of_site) for of_site in sites.values()],
                np.concatenate(known),
                self._reading.config.max_lines,
            ),
            [self._arrivals[row].is_markup for row in rows],
            self._reading.config,
        )
        for row, lines in zip(rows, young.lines.lessons(), strict=True):
            arrival = self._arrivals[row]
            self._lessons[arrival.record.position] = Lesson(arrival.site, lines)
        for places in waves(young.lines.sites):
            self._view_places(young, places, rows)
            self._teach([[rows[place] for place in places]])
            young.lines.teach([place for place in places if rows[place] in self._taught])
        self._view_places(young, range(len(rows)), rows)

    def _view_places(self, young: YoungPages, places: Sequence[int], rows: Sequence[int]) -> None:
        """Bring the views of pages up to date with what is known now."""
        changed = young.changed(places, lambda place, counts: self._mask(rows[place], counts))
        for place, mask in changed.items():
            self._masks[rows[place]] = mask
        self._replace([rows[place] for place in changed])

    def _view_again(self, rows: Sequence[int]) -> None:
        """Bring the views of pages of known sites up to date with what is known now."""
        changed = []
        sites = {self._arrivals[row].site for row in rows}
        merge_lessons([self._sites[site] for site in sites], self._reading.config.max_lines)
        for site, of_site in groupby(rows, lambda row: self._arrivals[row].site):
            own = list(of_site)
            lines = [self._lines[row].hashes for row in own]
            counts = self._sites[site].counts_merged(np.concatenate(lines))
            ends = accumulate((page.size for page in lines), initial=0)
            for row, (start, end) in zip(own, pairwise(ends), strict=True):
                mask = self._mask(row, counts[start:end] - (row in self._taught))
                if not np.array_equal(mask, self._masks[row]):
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
        """Return which lines of a page that has not taught are content."""
        site, hashes = self._sites[self._arrivals[row].site], self._lines[row].hashes
        return self._mask(row, site.counts_merged(hashes))

    def _mask(self, row: int, counts: NDArray[np.int64]) -> _Mask:
        """Return which lines of a page are content, given on how many other pages each is."""
        arrival = self._arrivals[row]
        page_count = self._sites[arrival.site].page_count - (row in self._taught)
        is_copy = row in self._copies and page_count < _FEW_PAGES  # what copies share is no frame for that
        if is_copy or not arrival.is_markup:
            return strict_content_lines(counts, self._reading.config, is_markup=arrival.is_markup)
        return content_lines(
            counts,
            self._lines[row].token_counts,
            page_count,
            lambda: self._in_landmarks(row),
            self._reading.config,
        )

    def _in_landmarks(self, row: int) -> _Mask:
        """Return which lines of a page are in its landmarks only."""
        if row not in self._landmarks:
            hashes = self._lines[row].hashes
            outside = self._reading.outside_landmarks(self._arrivals[row].page)
            self._landmarks[row] = ~np.isin(hashes, hashes if outside is None else outside)
        return self._landmarks[row]

    def _framed(self, rows: Sequence[int]) -> Iterator[Arrival]:
        """Yield the pages without the lines that are frame."""
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
            yield replace(
                arrival,
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
        """Return whether pages that this one is like may be stored by their whole texts."""
        return arrival.shingle_count <= SHORT_SHINGLES or not self._is_settled(arrival.site)

    def _keeps_all(self, arrival: Arrival) -> bool:
        """Return whether content may have been taken for frame: then all bins are needed to find copies."""
        return arrival.shingle_count <= SHORT_SHINGLES or self._is_young(arrival.site)

    def _is_young(self, site: str) -> bool:
        return self._former_counts[site] < _FEW_PAGES

    def _teach(self, turns: Sequence[Sequence[int]]) -> None:
        """Count the pages that are no copies of those in earlier turns; those that are have no lesson."""
        pages = [
            [
                SeenPage(self._arrivals[row], self._viewed[row], self._is_young(self._arrivals[row].site))
                for row in rows
            ]
            for rows in turns
        ]
        relations = self._reading.copies.find_and_remember(pages)
        for row, relation in zip(chain.from_iterable(turns), relations, strict=True):
            arrival = self._arrivals[row]
            if relation == "copy":
                self._copies.add(row)
                self._lessons.pop(arrival.record.position)
            else:
                lines = self._lessons[arrival.record.position].lines
                self._sites[arrival.site].add(self._batch, lines)
                self._taught.add(row)
                self._taught_sites.add(arrival.site)
                if relation == "sibling":
                    self._siblings.add(row)
