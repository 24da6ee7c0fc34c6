"""Takes the frames of their sites out of pages: two views of each page, its content and its whole text.

What is frame is counted from the pages that have been decided (the stored frame tables) and, while little is
known of a site, from those that are in flight in this process too: without them the first hundreds of pages
of a site would be read before anything is learned.

No I/O here. One call at a time.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from neardup_stream.fingerprints.sketch import SketchConfig
from neardup_stream.frames.lines import FrameConfig
from neardup_stream.frames.table import FrameTable, LearningStep, LineHashes
from neardup_stream.match import Match
from neardup_stream.pipeline.arrival import Arrival
from neardup_stream.pipeline.batch_views import BatchViews, Viewed, can_teach
from neardup_stream.pipeline.classification import VerdictConfig
from neardup_stream.pipeline.frame_reading import LinesOutsideLandmarks, Reading
from neardup_stream.pipeline.near_copies import COPY_CONTAINMENT, NearCopies
from neardup_stream.pipeline.site_lines import SiteLines

__all__ = ["FrameViewer", "is_distinct"]

_REMEMBERED_BYTES = 32 << 20
"""Memory for the latest pages of sites that are not settled."""

_REMEMBERED_WHILE_LEARNING_BYTES = 256 << 20


def is_distinct(matches: Sequence[Match], *, is_sibling: bool = False) -> bool:
    """Return whether a page with these matches nearly equals none of them, so that its lines are counted.

    Args:
        matches: of the page.
        is_sibling: whether it was compared with such pages line by line, and found to be another page.
    """
    return all(
        match.kind != "exact" and (is_sibling or match.mutual_containment < COPY_CONTAINMENT)
        for match in matches
    )


class FrameViewer:
    """Keeps what this process knows of frames, and views pages by it.

    Args:
        config: when a line is frame.
        outside_landmarks: returns the lines of a page outside its landmarks, None if they cannot be found.
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
        self._reading = Reading(config, outside_landmarks, NearCopies(verdict, room), most_lessons, Counter())
        self._sketch = verdict.sketch
        self._sites: dict[str, SiteLines] = {}

    def confirm(
        self,
        batch: int,
        lessons: Mapping[str, Sequence[LineHashes]],
        learned: Mapping[str, LearningStep] | None = None,
    ) -> None:
        """Count what a batch taught as decided.

        Args:
            batch: its number.
            lessons: of each site that it taught something, the pages that are to be counted.
            learned: how tables of sites learned these lessons; it saves to learn them once more.
        """
        steps = learned or {}
        for site, pages in lessons.items():
            if site in self._sites:
                self._sites[site].confirm(batch, pages, steps.get(site))

    def replace(self, site: str, table: FrameTable, batches: Sequence[int]) -> None:
        """Take over the table of a site, in which the lessons of these batches are counted."""
        if site in self._sites:
            self._sites[site].replace(table, batches)

    def forget(self, site: str) -> None:
        """Forget what is known of a site."""
        self._sites.pop(site, None)

    def content_of(self, arrival: Arrival, table: FrameTable) -> NDArray[np.bool_]:
        """Return which lines of a page are content by its table alone, bool[lines].

        Args:
            arrival: with its lines; if it has few tokens or one line, it has no frame.
            table: of its site.
        """
        assert arrival.lines is not None  # noqa: S101 - see the arguments
        if not can_teach(arrival):
            return np.ones(arrival.lines.hashes.size, np.bool_)
        sites = {arrival.site: SiteLines(table, self._reading.config.max_lines)}
        return BatchViews(self._reading, sites, [arrival], 0, SketchConfig()).mask(0)

    def view(
        self,
        arrivals: Sequence[Arrival],
        batch: int,
        tables: Mapping[str, FrameTable],
    ) -> Viewed:
        """Take the frames out of a batch of pages.

        Args:
            arrivals: pages in order, some perhaps without site or lines.
            batch: its number, for `confirm`.
            tables: what is stored of their sites; used for those that no batch had a page of.

        Cost: 30 µs a page of a known site, or of text of a young one; 0.1 ms and, where landmarks are asked
        for, its extraction once more, for a page of markup of a young one.
        """
        for site, table in tables.items():
            if site not in self._sites:
                self._sites[site] = SiteLines(table, self._reading.config.max_lines)
        sites = {site: self._sites[site] for site in tables}
        assert self._sketch is not None  # noqa: S101 - see the arguments of the class
        work = BatchViews(self._reading, sites, list(arrivals), batch, self._sketch)
        work.view_all()
        return work.result()
