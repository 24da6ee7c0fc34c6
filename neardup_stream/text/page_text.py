"""Return a page's visible text, from whichever field has its content."""

from typing import NamedTuple

import numpy as np

from neardup_stream.errors import BadPage
from neardup_stream.page import Page
from neardup_stream.text.canonical import MAX_EXPANSION, fold_characters
from neardup_stream.text.charset import decode_body
from neardup_stream.text.code_points import code_points
from neardup_stream.text.limits import TextLimits
from neardup_stream.text.markup import Extraction, visible_text
from neardup_stream.text.markup_costs import check_markup
from neardup_stream.text.xml_markup import as_html, is_xml

__all__ = ["PageText", "is_markup", "page_text"]


class PageText(NamedTuple):
    """The visible text of a page.

    Attributes:
        text: not canonicalized.
        charset_fell_back: the body's charset label was unknown or wrong, or bytes were replaced.
        is_markup: the text was extracted from HTML or XML.
    """

    text: str
    charset_fell_back: bool
    is_markup: bool


def page_text(
    page: Page, extraction: Extraction, *, landmarks: bool = True, limits: TextLimits | None = None
) -> PageText:
    """Extract the text of a page, with or without its landmarks.

    Raises:
        BadPage: the page exceeds one of the `limits`; without limits nothing fails.

    Cost: nothing for `text`, that of `visible_text` for markup, and decoding for a `body`.
    """
    content, fell_back = _content(page)
    if page.text is not None or (page.html is None and not is_markup(page.content_type, content)):
        text, was_markup = content, False
    else:
        if page.html is None and is_xml(page.content_type):
            content = as_html(content)
        if limits is not None:
            check_markup(content, limits.markup)
        text, was_markup = visible_text(content, extraction, landmarks=landmarks), True
    if limits is not None:
        _check_text(text, limits.max_text_bytes)
    return PageText(text, fell_back, is_markup=was_markup)


def _content(page: Page) -> tuple[str, bool]:
    if page.text is not None:
        return page.text, False
    if page.html is not None:
        return page.html, False
    return decode_body(page.body or b"", page.charset, page.content_type)


def _check_text(text: str, limit_bytes: int) -> None:
    size_bytes = _utf8_bytes(text)
    if not text.isascii() and size_bytes <= limit_bytes < size_bytes * MAX_EXPANSION:
        size_bytes = _canonical_bytes(text)
    if size_bytes > limit_bytes:
        detail = f"the text has {size_bytes} bytes, the limit is limits.max_text_bytes = {limit_bytes}"
        raise BadPage("over_limit", detail, "max_text_bytes")


def _canonical_bytes(text: str) -> int:
    """Return an upper bound of the canonical text's size: the sum over single characters."""
    counts = np.bincount(code_points(text))
    points = np.flatnonzero(counts)
    return sum(
        _utf8_bytes(fold_characters(chr(point))) * count
        for point, count in zip(points.tolist(), counts[points].tolist(), strict=True)
    )


def _utf8_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def is_markup(content_type: str | None, content: str) -> bool:
    """Return whether the content is HTML or XML: by its media type, or without a whole one by a leading `<`.

    >>> is_markup("text/plain", "<b>"), is_markup("application/xhtml+xml", ""), is_markup(None, " <p>a")
    (False, True, True)
    """
    media_type = (content_type or "").partition(";")[0].strip().lower()
    if media_type.endswith(("html", "xml")):
        return True
    return "/" not in media_type and content.lstrip().startswith("<")
