"""A page to its visible text, whichever way its content came."""

from typing import NamedTuple

from neardup_stream.page import Page
from neardup_stream.text.charset import decode_body
from neardup_stream.text.markup import Extraction, visible_text

__all__ = ["PageText", "is_markup", "page_text"]


class PageText(NamedTuple):
    """The visible text of a page.

    Attributes:
        text: not canonical yet.
        charset_fell_back: the body's charset label was unknown or wrong, or bytes were replaced.
        is_markup: the text was extracted from HTML or XML.
    """

    text: str
    charset_fell_back: bool
    is_markup: bool


def page_text(page: Page, extraction: Extraction, *, landmarks: bool = True) -> PageText:
    """Extract the text of a page, perhaps without its landmarks; never fails.

    Cost: nothing for `text`, that of `visible_text` for markup, and decoding for a `body`.
    """
    if page.text is not None:
        return PageText(page.text, charset_fell_back=False, is_markup=False)
    if page.html is not None:
        text = visible_text(page.html, extraction, landmarks=landmarks)
        return PageText(text, charset_fell_back=False, is_markup=True)
    content, fell_back = decode_body(page.body or b"", page.charset, page.content_type)
    if not is_markup(page.content_type, content):
        return PageText(content, fell_back, is_markup=False)
    return PageText(visible_text(content, extraction, landmarks=landmarks), fell_back, is_markup=True)


def is_markup(content_type: str | None, content: str) -> bool:
    """Whether the content is HTML or XML: by its media type, or without one by beginning with a `<`.

    >>> is_markup("text/plain", "<b>"), is_markup("application/xhtml+xml", ""), is_markup(None, " <p>a")
    (False, True, True)
    """
    if content_type is None:
        return content.lstrip().startswith("<")
    media_type = content_type.partition(";")[0].strip().lower()
    return media_type.endswith(("html", "xml"))
