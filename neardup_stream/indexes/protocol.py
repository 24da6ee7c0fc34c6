"""Define the protocol of an index of pages."""

from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol

import msgspec

from neardup_stream.match import Candidate
from neardup_stream.page import Fingerprint64, Handle
from neardup_stream.stores.protocol import TableMembers

__all__ = ["Index", "IndexedPage", "Probed"]


class IndexedPage(msgspec.Struct, frozen=True, gc=False):
    """One page as the index stores it.

    Attributes:
        handle: of the page.
        version: from 1.
        fingerprint: 64 bits, unsigned.
        bands: one 32-bit word each, as many as the index has.
    """

    handle: Handle
    version: int
    fingerprint: Fingerprint64
    bands: Sequence[int] = ()


class Probed(NamedTuple):
    """The results of a batch's probes.

    Attributes:
        candidates: one tuple per page, each stored page version once: first those within the distance, the
            nearest first, then those that only share bands, most of them first.
        bucket_cap_hits: ranges that held more than may be read: candidates may be missing.
        truncated_rows: indexes of the pages for which candidates may be missing, because a limit applied or
            because more pages have one fingerprint, or one band, than a probe reads.
        seen: every stored member that was read, for `remove_stale`.
        layout_change: in which state of the tables' layout they were probed, see `TableLayouts`.
    """

    candidates: list[tuple[Candidate, ...]]
    bucket_cap_hits: int
    truncated_rows: frozenset[int]
    seen: TableMembers
    layout_change: int = 0


class Index(Protocol):
    """Find stored pages near a page.

    A stored page is a candidate if and only if its fingerprint is within the distance, or one of its bands is
    equal (comparing the stored bits: see `IndexLayout`). Exceptions: candidates are missing from a truncated
    result, and a page may be missing from an oversized bucket of its band.
    """

    async def probe_and_insert(self, pages: Sequence[IndexedPage]) -> Probed:
        """Find the candidates of each page, then store it; in order, so a page finds those before it.

        A page is not a candidate of itself, nor of a page before it in the same call, even if the call is
        repeated. Storing is idempotent.

        Raises:
            StoreUnavailable: no answer; a part may have been stored. Calling again is safe.
        """
        ...

    async def probe(self, pages: Sequence[IndexedPage]) -> Probed:
        """Find the candidates of each page and store nothing."""
        ...

    async def remove(self, pages: Sequence[IndexedPage]) -> None:
        """Remove these page versions from all tables; other versions of the pages stay. Idempotent.

        Raises:
            StoreUnavailable: no answer; a part may be removed. Calling again is safe.
        """
        ...

    async def remove_stale(self, probed: Probed, stale_candidates: Collection[tuple[Handle, int]]) -> None:
        """Remove the members that a probe saw of these page versions, from the tables where it saw them.

        Args:
            probed: the result of the probe.
            stale_candidates: handles and version bytes.
        """
        ...
