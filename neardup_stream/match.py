"""Define candidates, which a probe finds, and matches, which pass the comparison."""

from typing import Literal

import msgspec

from neardup_stream.page import Handle, PageId

__all__ = ["Candidate", "Match", "MatchKind", "Scheme", "View", "version_byte"]

MatchKind = Literal["exact", "near"]

Scheme = Literal["simhash", "sketch"]
"""The tables that found a candidate; simhash if both did."""


View = Literal["content", "whole"]
"""What was compared of two pages: their content, without the frames of their sites, or their whole texts."""


def version_byte(version: int) -> int:
    """Return what tables store of a version: its low eight bits.

    >>> version_byte(258)
    2
    """
    return version & 0xFF


class Candidate(msgspec.Struct, frozen=True, gc=False):
    """A page that a probe found; not verified: it may have changed or be gone.

    Attributes:
        handle: of the stored page.
        version_byte: of the version that was indexed, see `version_byte`.
        scheme: the tables that found it.
    """

    handle: Handle
    version_byte: int
    scheme: Scheme = "simhash"


class Match(msgspec.Struct, frozen=True, gc=False):
    """A candidate whose page record still has the version that was found, and which is similar enough.

    Attributes:
        handle: of the other page.
        id: of the other page.
        url: as it was crawled.
        version: of the other page, from 1.
        distance_bits: differing bits between the two fingerprints.
        fingerprint: simhash of the other page.
        kind: exact when both pages have the same sequence of tokens.
        rank: of the other page; 0 if its record does not have it yet.
        resemblance: estimated, of the two sets of shingles; None if only distance counts.
        containment: estimated fraction of the page inside the other; in the view `whole`, where a frame is
            known, that of its content where it is smaller, but `near_containment` at least; not where both
            pages are short, or nearly without content.
        contained_in: estimated fraction of the other inside the page; likewise.
        scheme: the tables that found it.
        view: what was compared; `whole` also if neither page has a known frame.
        content: digest of the other page's text, see `PageRecord.content`; 0 where unknown.
    """

    handle: Handle
    id: PageId
    url: str
    version: int
    distance_bits: int
    kind: MatchKind
    fingerprint: int = 0
    rank: int = 0
    resemblance: float | None = None
    containment: float | None = None
    contained_in: float | None = None
    scheme: Scheme = "simhash"
    view: View = "whole"
    content: int = 0

    @property
    def mutual_containment(self) -> float:
        """Return the smaller of both containments; 1 if only distance counts."""
        if self.containment is None or self.contained_in is None:
            return 1.0
        return min(self.containment, self.contained_in)
