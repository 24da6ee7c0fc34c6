"""Define the protocol of stores of frame tables; `tests/contracts/frames.py` is their contract suite.

A table is bytes to the store, all but the stamp: the first eight bytes, which differ after every write.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

__all__ = ["FrameChange", "FrameStore"]


class FrameChange(NamedTuple):
    """Write `new` for a site if the table stored there still has the expected stamp.

    Attributes:
        site: keyed 64-bit hash of the site's name.
        expected: stamp of the table that the writer saw; empty for none.
        new: the packed table, with a stamp of its own.
    """

    site: int
    expected: bytes
    new: bytes


class FrameStore(Protocol):
    """Keeps one packed frame table per site. A part of a batch may be written when a call fails."""

    async def fetch(self, sites: Sequence[int]) -> list[bytes | None]:
        """Return the tables of `sites` in order, None where there is none. One round trip (per shard)."""
        ...

    async def replace(self, changes: Sequence[FrameChange]) -> list[bytes | None]:
        """Compare and set, each change atomically; repeating one that was written changes nothing.

        Returns:
            For each change None where it is stored, else what is stored instead, empty for nothing. One round
            trip (per shard).
        """
        ...

    async def remove(self, site: int) -> bool:
        """Forget a site; return whether there was a table."""
        ...
