"""Define a sample crawl: its records, and which pages really are near-duplicates."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

__all__ = [
    "BROKEN_VALUE",
    "CrawlRecord",
    "FramedPages",
    "Relation",
    "SampleCrawl",
    "Story",
    "StoryStep",
    "text_of_markup",
]

BROKEN_VALUE = b"json failed to parse"
"""What one crawler really sends in place of a page it could not encode."""

TAG = re.compile("<[^>]*>")


def text_of_markup(markup: str) -> str:
    """Return what stands between the tags, white space folded.

    Generated markup has no scripts, comments or character references.
    """
    return " ".join(TAG.sub(" ", markup).split())


class CrawlRecord(NamedTuple):
    """One record as a crawler would publish it.

    Attributes:
        key: the page's id.
        value: its JSON, or None for "forget".
        time_ms: when it was published, epoch milliseconds; rises from record to record.
    """

    key: bytes
    value: bytes | None
    time_ms: int


class Relation(NamedTuple):
    """Why a page is a near-duplicate: the id of its original, and what was done to it."""

    base_id: str
    kind: str


class StoryStep(NamedTuple):
    """One record of the story: which page, what happens to it, and when."""

    page_id: str
    what: str
    time_ms: int


class Story(NamedTuple):
    """The outcomes of a few pages, step by step, at the end of the crawl.

    Attributes:
        steps: one a record.
        kin: ids of the pages that say the same, so that it is right to match them with each other.
        cluster: ids of those that belong together at the end.
    """

    steps: tuple[StoryStep, ...] = ()
    kin: frozenset[str] = frozenset()
    cluster: frozenset[str] = frozenset()


class FramedPages(NamedTuple):
    """The pages of the site whose pages are mostly frame.

    Attributes:
        host: of the site.
        frame_word_count: words that are the same on every page of the site.
        articles: ids of its different pages; none is a near-duplicate of another.
        near_duplicates: ids of near-duplicates of three of them, on this site or another.
    """

    host: str = ""
    frame_word_count: int = 0
    articles: tuple[str, ...] = ()
    near_duplicates: tuple[str, ...] = ()


NO_FRAMED_PAGES = FramedPages()


@dataclass(frozen=True, slots=True)
class SampleCrawl:
    """Records in crawl order, and the truth about them.

    Attributes:
        records: what a crawler sends, one a page; every original comes before its variants.
        relations: id of each variant → its relation; all other pages but the story's are originals.
        expected_outcomes: how many records should end in each outcome; they sum to the records.
        story: of the last records.
        framed: pages that are mostly frame, anywhere in the crawl.
    """

    records: tuple[CrawlRecord, ...]
    relations: Mapping[str, Relation]
    expected_outcomes: Mapping[str, int]
    story: Story
    framed: FramedPages = NO_FRAMED_PAGES

    def are_kin(self, one_id: str, other_id: str) -> bool:
        """Return whether it is right to match these pages: they have one origin."""
        return self.base_of(one_id) == self.base_of(other_id) or {one_id, other_id} <= self.story.kin

    def base_of(self, page_id: str) -> str:
        """Return the original a page was made from; the page itself if it is no variant."""
        relation = self.relations.get(page_id)
        return relation.base_id if relation else page_id

    def clusters(self) -> set[frozenset[str]]:
        """Return the ids of pages that belong together at the end: every original with its variants."""
        kin: dict[str, set[str]] = {}
        for page_id, relation in self.relations.items():
            kin.setdefault(relation.base_id, {relation.base_id}).add(page_id)
        return {frozenset(ids) for ids in (*kin.values(), self.story.cluster) if ids}

    def text_of(self, page_id: str) -> str:
        """Return the visible text of a page, frame included, white space folded.

        Raises:
            KeyError: no page of the crawl has this id.
        """
        body = self._html_of(page_id).partition("<body")[2]
        return text_of_markup(f"<body{body}")

    def _html_of(self, page_id: str) -> str:
        for key, value, _ in self.records:
            if key == page_id.encode() and value and value != BROKEN_VALUE:
                html: str = json.loads(value)["html"]
                return html
        raise KeyError(page_id)
