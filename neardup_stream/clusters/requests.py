"""Define the requests to the clusters: place a version of a page, forget a page, store an outcome."""

from typing import NamedTuple

import msgspec

from neardup_stream.match import Match
from neardup_stream.message import Position
from neardup_stream.page import Handle, PageId

__all__ = [
    "ConfirmRequest",
    "ForgetRequest",
    "LoneRequest",
    "PageVersion",
    "PlaceRequest",
    "QuietRequest",
    "Request",
    "UnknownRequest",
]


class PageVersion(NamedTuple):
    """One version of a page, as clusters know it.

    Attributes:
        handle: of the page.
        version: from 1, below 2**32; a page has at most one living version.
        id: of the page.
        url: as it was crawled.
        fingerprint: simhash of that version, so that members can say how far they are from it; 0 where it is
            not known.
    """

    handle: Handle
    version: int
    id: PageId
    url: str
    fingerprint: int = 0


class PlaceRequest(msgspec.Struct, frozen=True, gc=False):
    """Decide where a new page, or a changed one, belongs.

    Attributes:
        position: of its record; only the position that made a version requests it.
        node: the version to place.
        matches: what it matches, best first; the page itself is never among them.
        content: digest of the version's text, so that it is not taken for another text that was decided
            under the same number; 0 where unknown.
        claimed_from: the positions that made the version, or claimed it before, where this one decides it in
            their place.
    """

    position: Position
    node: PageVersion
    matches: tuple[Match, ...]
    content: int = 0
    claimed_from: tuple[Position, ...] = ()


class LoneRequest(msgspec.Struct, frozen=True, gc=False):
    """Decide that a new page stands alone: its first version, which matches nothing.

    Four of five pages are this: so it is one small object, and has its decision record with it. Where the
    page turns out not to stand alone, it is placed as any other page.

    Attributes:
        position: of its record, which made the version.
        handle: of the page.
        page_id: its id.
        url: as it was crawled.
        fingerprint: simhash.
        content: digest of its text.
        record: the decision record if it stands alone.
    """

    position: Position
    handle: Handle
    page_id: PageId
    url: str
    fingerprint: int
    content: int
    record: bytes

    def placed(self) -> PlaceRequest:
        """Return the request to place the same page, wherever it belongs."""
        node = PageVersion(self.handle, 1, self.page_id, self.url, self.fingerprint)
        return PlaceRequest(self.position, node, (), self.content)


class ConfirmRequest(NamedTuple):
    """Remember that a page came unchanged, provided that its version was decided.

    Attributes:
        position: of its record.
        node: the version that it is.
        content: digest of its text; 0 where unknown.
        maker: the position that made the version.
        is_ranked: whether the page record says that the version was decided.
    """

    position: Position
    node: PageVersion
    content: int
    maker: Position
    is_ranked: bool


class UnknownRequest(NamedTuple):
    """Remember that a forget found no page record, provided that the clusters know no such page either.

    Attributes:
        position: of the record that requests it.
        handles: of the pages that it may mean.
    """

    position: Position
    handles: tuple[Handle, ...]


class ForgetRequest(NamedTuple):
    """Take a page out of its cluster for good.

    Attributes:
        position: of the record that requests it.
        node: its version is the stub's own: one above the last living one.
    """

    position: Position
    node: PageVersion


class QuietRequest(NamedTuple):
    """Remember an outcome that touches no cluster; like every outcome it is set once."""

    position: Position


Request = PlaceRequest | LoneRequest | ForgetRequest | QuietRequest | ConfirmRequest | UnknownRequest
