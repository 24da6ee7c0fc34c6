"""Check the pages that a program gives, as the decoder checks those of a stream, before anything is kept."""

from collections.abc import Iterable, Mapping
from numbers import Real
from types import UnionType
from typing import Final

import msgspec

from neardup_stream.page import Page, PageId
from neardup_stream.wire.pages import check_one_body, epoch_seconds, utf8_size_bytes

__all__ = ["checked_ids", "checked_pages", "pages_of_texts"]

_TYPES: Final[dict[str, type | UnionType]] = {
    "url": str,
    "fetched_at_seconds": Real,
    "html": str | None,
    "text": str | None,
    "body": bytes | None,
    "content_type": str | None,
    "charset": str | None,
    "meta": msgspec.Raw | None,
}
"""Of the fields that the stages read, beside the id."""


def pages_of_texts(texts: Mapping[str, str]) -> list[Page]:
    """Return texts as pages.

    Raises:
        TypeError: they are no mapping, an id or a text is no string, or an id is empty.
    """
    if not isinstance(texts, Mapping):
        raise TypeError(f"expected a mapping of page ids to texts, got {type(texts).__name__}")
    return [_page(page_id, text) for page_id, text in texts.items()]


def checked_pages(pages: Iterable[Page]) -> list[Page]:
    """Return pages whose fields are of the types that the stages store.

    Raises:
        BadPage: a page has none, or more than one, of `html`, `text` and `body`, half of a character is in a
            field that is stored or names a charset, or its time is outside the years 1970 to 9999.
        TypeError: one is no Page, a field is of another type, or an id is empty.
    """
    return [_checked_page(page) for page in pages]


def checked_ids(page_ids: Iterable[str]) -> list[PageId]:
    """Return each id once, in the order of the first ones.

    Raises:
        BadPage: half of a character is in one.
        TypeError: it is one id, not several, one is no string, or one is empty.
    """
    if isinstance(page_ids, str):
        raise TypeError(f"give several page ids: [{page_ids!r}]")
    return [_checked_id(page_id) for page_id in dict.fromkeys(page_ids)]


def _page(page_id: str, text: str) -> Page:
    if not (isinstance(page_id, str) and page_id and isinstance(text, str)):
        raise TypeError(f"{page_id!r}: a page id is a string that is not empty, and a text is a string")
    return Page(id=PageId(page_id), url=page_id, fetched_at_seconds=0, text=text)


def _checked_page(page: Page) -> Page:
    if not isinstance(page, Page):
        raise TypeError(f"expected pages (neardup_stream.Page), got {type(page).__name__}")
    page_id = _checked_id(page.id)
    for name, expected in _TYPES.items():
        if not isinstance(given := getattr(page, name), expected):
            raise TypeError(f"page {page_id!r}: {name} is of type {type(given).__name__}")
    check_one_body(page)
    for text in (page.url, page.content_type or "", page.charset or ""):
        utf8_size_bytes(text)
    return msgspec.structs.replace(
        page,
        id=page_id,
        url=_plain(page.url),
        fetched_at_seconds=epoch_seconds(page.fetched_at_seconds, 0),
    )


def _checked_id(page_id: str) -> PageId:
    if not (isinstance(page_id, str) and page_id):
        raise TypeError(f"{page_id!r}: a page id is a string that is not empty")
    utf8_size_bytes(page_id)
    return PageId(_plain(page_id))


def _plain(text: str) -> str:
    """Return a string without its class, as that of a NumPy array, which is not written."""
    return str.__str__(text)
