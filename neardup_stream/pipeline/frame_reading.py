"""Decide how pages are read for the frames of sites, and which pages of well-known sites teach. Pure."""

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from neardup_stream.frames.lines import FrameConfig
from neardup_stream.frames.table import LineHashes
from neardup_stream.page import Page
from neardup_stream.pipeline.arrival import Arrival
from neardup_stream.pipeline.near_copies import NearCopies

__all__ = [
    "CHANGED_CONTENT",
    "SETTLED_SITE_PAGES",
    "TAUGHT_OF_REDESIGNED",
    "TAUGHT_OF_SETTLED",
    "LinesOutsideLandmarks",
    "Reading",
    "is_sampled",
]

SETTLED_SITE_PAGES = 64
"""Of a site of which so many pages are counted few more are: its frame is known, and changes slowly."""

_KNOWN_PAGES = 24
"""If so many pages of a site are counted, its pages are viewed together, and few of them twice."""

TAUGHT_OF_SETTLED = 16
"""Of the pages of a settled site one in so many is counted."""

TAUGHT_OF_REDESIGNED = 4
"""The same of the pages in which hardly any frame is found."""

REDESIGNED_CONTENT = 0.8
"""In a page of a settled site with a larger share of content hardly any frame is found."""

CHANGED_CONTENT = 0.3
"""A page of a settled site with a larger share of content may have more frame than is known: its menu may be
that of a new section, or of a new design, which has up to two thirds of its lines in common with the old one.
It is viewed again once its batch has taught.
"""

LinesOutsideLandmarks = Callable[[Page], LineHashes | None]
"""Reads the markup of a page again, without its landmarks."""


class Reading(NamedTuple):
    """How pages are read and compared.

    Attributes:
        config: when a line is frame.
        outside_landmarks: returns the lines of a page outside its landmarks, None if they cannot be found.
        copies: the latest pages of sites that are not settled.
        most_lessons: for so many pages of each site every one that is no copy has a lesson.
        lesson_counts: of each site, while `most_lessons` is above 0.
    """

    config: FrameConfig
    outside_landmarks: LinesOutsideLandmarks
    copies: NearCopies
    most_lessons: float
    lesson_counts: Counter[str]

    def is_learning(self, site: str) -> bool:
        """Return whether every page of a site that is no copy has a lesson."""
        return self.lesson_counts[site] < self.most_lessons

    def is_known(self, site: str, page_count: int) -> bool:
        """Return whether pages of a site are viewed together."""
        return page_count >= _KNOWN_PAGES and not self.is_learning(site)


def is_sampled(arrival: Arrival, content_share: float) -> bool:
    """Return whether a page of a settled site is counted, given the share of its tokens that is content."""
    is_redesigned = content_share > REDESIGNED_CONTENT
    return arrival.text_fingerprint % (TAUGHT_OF_REDESIGNED if is_redesigned else TAUGHT_OF_SETTLED) == 0
