"""What a sample crawl consists of: its records, and which pages really are near-duplicates."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["BROKEN_VALUE", "CrawlRecord", "Relation", "SampleCrawl"]

BROKEN_VALUE = b"json failed to parse"
"""What one crawler really sends in place of a page it could not encode."""

TAG = re.compile("<[^>]*>")


class CrawlRecord(NamedTuple):
    """One record as a crawler would publish it: the page's id, and its JSON or None for "forget"."""

    key: bytes
    value: bytes | None


class Relation(NamedTuple):
    """Why a page is a near-duplicate: the id of its original, and what was done to it."""

    base_id: str
    kind: str


@dataclass(frozen=True, slots=True)
class SampleCrawl:
    """Records in crawl order, and the truth about them.

    Attributes:
        records: what a crawler sends, one a page; every original comes before its variants.
        relations: id of each variant → its relation; all other pages are originals.
        expected_outcomes: how many records should end in each outcome; they sum to the records.
    """

    records: tuple[CrawlRecord, ...]
    relations: Mapping[str, Relation]
    expected_outcomes: Mapping[str, int]

    def base_of(self, page_id: str) -> str:
        """The original a page was made from; the page itself if it is nobody's variant."""
        relation = self.relations.get(page_id)
        return relation.base_id if relation else page_id

    def text_of(self, page_id: str) -> str:
        """The visible text of a page, chrome included, white space folded.

        Generated markup has no scripts, comments or character references: between the tags is the text.

        Raises:
            KeyError: no page of the crawl has this id.
        """
        body = self._html_of(page_id).partition("<body")[2]
        return " ".join(TAG.sub(" ", f"<body{body}").split())

    def _html_of(self, page_id: str) -> str:
        for key, value in self.records:
            if key == page_id.encode() and value and value != BROKEN_VALUE:
                html: str = json.loads(value)["html"]
                return html
        raise KeyError(page_id)
