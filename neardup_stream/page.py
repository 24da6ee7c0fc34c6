"""Define a page as received, and the types of the small values that identify pages."""

from typing import NewType

import msgspec

__all__ = ["Fingerprint64", "Handle", "Page", "PageId"]

PageId = NewType("PageId", str)
"""Identity of a page across re-crawls: the crawler's id, else the canonical URL."""

Fingerprint64 = NewType("Fingerprint64", int)
"""A simhash: an int in [0, 2**64)."""

Handle = NewType("Handle", int)
"""What the index stores for a page id: a keyed 64-bit hash of it, an int in [0, 2**64)."""


class Page(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One crawled page, decoded and within the limits.

    Exactly one of `html`, `text` and `body` is set, and none once nothing needs the content any more.

    Attributes:
        id: identity; another record with the same id is a re-crawl, never a duplicate of itself.
        url: address as crawled, unchanged.
        fetched_at_seconds: epoch seconds.
        html: markup, already text.
        text: visible text.
        body: bytes as fetched, to be decoded by `charset`, or by detection.
        content_type: media type of `body`, not validated.
        charset: label the server or crawler gave for `body`.
        status: HTTP status, passed through.
        language: label of the crawler, passed through.
        score: the crawler's own, passed through.
        meta: JSON as received, passed through to events unchanged.
    """

    id: PageId
    url: str
    fetched_at_seconds: float
    html: str | None = None
    text: str | None = None
    body: bytes | None = None
    content_type: str | None = None
    charset: str | None = None
    status: int | None = None
    language: str | None = None
    score: float | None = None
    meta: msgspec.Raw | None = None

    def without_content(self) -> "Page":
        """Return what events say of the page: its identity, address, time and `meta`."""
        meta = self.meta and self.meta.copy()  # else it holds the bytes that it was read from
        return Page(id=self.id, url=self.url, fetched_at_seconds=self.fetched_at_seconds, meta=meta)
