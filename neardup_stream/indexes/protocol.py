"""What an index of pages promises."""

from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol

from neardup_stream.match import Candidate
from neardup_stream.page import Fingerprint64, Handle
from neardup_stream.stores.protocol import TableMembers

__all__ = ["Index", "IndexedPage", "Probed"]


class IndexedPage(NamedTuple):
    """One page as the index sees it.

    Attributes:
        handle: who it is.
        version: from 1.
        fingerprint: 64 bits, unsigned.
        bands: one 32-bit word each, as many as the index keeps.
    """

    handle: Handle
    version: int
    fingerprint: Fingerprint64
    bands: Sequence[int] = ()


class Probed(NamedTuple):
    """What the probes of a batch found.

    Attributes:
        candidates: one tuple per page, each stored page version once: first those within the distance, the
            nearest first, then those that only share bands, most of them first.
        bucket_cap_hits: ranges that held more than may be read: candidates may be missing.
        truncated_rows: rows of the pages for which candidates may be missing, because a cap bit or because
            more pages have one fingerprint, or one band, than a probe reads.
        seen: every stored member that was found, for `remove_stale`.
    """

    candidates: list[tuple[Candidate, ...]]
    bucket_cap_hits: int
    truncated_rows: frozenset[int]
    seen: TableMembers


class Index(Protocol):
    """Finds stored pages by nearness.

    A stored page is a candidate if and only if its fingerprint is within the distance, or one of its bands is
    equal (as far as bands are kept: see `IndexLayout`); unless the row is truncated, when some are missing,
    or the stored page's was when it was stored: of an oversized bucket with one band not every page is kept.
    """

    async def probe_and_insert(self, pages: Sequence[IndexedPage]) -> Probed:
        """Find the candidates of each page, then store it; in order, so a page finds those before it.

        A page is no candidate of itself, nor of a page before it in the same call, even when the call is
        repeated. Storing what is stored changes nothing.

        Raises:
            StoreUnavailable: no answer; a part may have been stored. Calling again is safe.
        """
        ...

    async def probe(self, pages: Sequence[IndexedPage]) -> Probed:
        """Find the candidates of each page and store nothing."""
        ...

    async def remove(self, pages: Sequence[IndexedPage]) -> None:
        """Take these versions of pages out of all tables; other versions of them stay.

        Removing what is not there changes nothing.

        Raises:
            StoreUnavailable: no answer; a part may be out. Calling again is safe.
        """
        ...

    async def remove_stale(self, probed: Probed, stale_candidates: Collection[tuple[Handle, int]]) -> int:
        """Take out what a probe saw of these (handle, version byte), in the tables where it saw them.

        Returns:
            How many members were removed.
        """
        ...
