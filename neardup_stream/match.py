"""From candidate to match: what a probe finds, and what survives the comparison."""

from typing import Literal

import msgspec

from neardup_stream.page import Handle, PageId

__all__ = ["Candidate", "Match", "MatchKind"]

MatchKind = Literal["exact", "near"]


class Candidate(msgspec.Struct, frozen=True, gc=False):
    """Found by a probe, not yet verified: its page may have changed or gone.

    Attributes:
        handle: of the stored page.
        version_byte: low eight bits of the version that was indexed.
        distance_bits: differing bits, 0 to the index's distance.
    """

    handle: Handle
    version_byte: int
    distance_bits: int


class Match(msgspec.Struct, frozen=True, gc=False):
    """A candidate whose page record lives at the version that was found.

    Attributes:
        id: of the earlier page.
        url: as it was crawled.
        version: of the earlier page, from 1.
        distance_bits: differing bits between the two fingerprints.
        kind: exact when both pages have the same sequence of tokens.
    """

    id: PageId
    url: str
    version: int
    distance_bits: int
    kind: MatchKind
