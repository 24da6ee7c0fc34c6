"""What an index of fingerprints promises."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from neardup_stream.match import Candidate
from neardup_stream.page import Fingerprint64, Handle

__all__ = ["Index", "IndexedPage", "Probed"]


class IndexedPage(NamedTuple):
    """One page as the index sees it."""

    handle: Handle
    version: int
    fingerprint: Fingerprint64


class Probed(NamedTuple):
    """What the probes of a batch found.

    Attributes:
        candidates: one tuple per page, nearest first, each stored page version once.
        bucket_cap_hits: ranges that held more than may be read: candidates may be missing.
    """

    candidates: list[tuple[Candidate, ...]]
    bucket_cap_hits: int


class Index(Protocol):
    """Finds stored pages by nearness.

    Exact: a stored page is a candidate if and only if it is within the distance, unless a cap bit, which is
    counted.
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
