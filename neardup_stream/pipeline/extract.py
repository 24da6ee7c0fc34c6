"""The extract stage: from the content of a page to its text. Pure."""

from typing import NamedTuple

from neardup_stream.errors import BadPage
from neardup_stream.message import Record
from neardup_stream.page import Page
from neardup_stream.pipeline.arrival import Rejected
from neardup_stream.pipeline.decode import DecodedPage
from neardup_stream.text.limits import TextLimits
from neardup_stream.text.markup import Extraction
from neardup_stream.text.page_text import PageText, page_text

__all__ = ["Extract", "ExtractedPage"]

_USUAL_LIMITS = TextLimits()


class ExtractedPage(NamedTuple):
    """A page with its text, and its record."""

    record: Record
    page: Page
    text: PageText


class Extract:
    """Extracts the text of pages.

    Args:
        extraction: which part of a page's markup counts as its text.
        limits: what the text of a page may cost.
    """

    def __init__(self, extraction: Extraction, limits: TextLimits = _USUAL_LIMITS) -> None:
        self._extraction: Extraction = extraction
        self._limits = limits

    def extract(self, decoded: DecodedPage) -> ExtractedPage | Rejected:
        """Return a page with its text; one whose text would cost too much is rejected."""
        record, page = decoded
        try:
            text = page_text(page, self._extraction, limits=self._limits)
        except BadPage as error:
            return Rejected(record, error)
        return ExtractedPage(record, page, text)

    def text_outside_landmarks(self, page: Page) -> str:
        """Return the text of a page without what stands in its landmarks.

        Cost: that of extracting the page once more.
        """
        return page_text(page, self._extraction, landmarks=False).text
