"""What the pipeline asks of whoever decides, with clusters or without."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from neardup_stream.clusters.placements import Decided, Placement, Settled
from neardup_stream.clusters.requests import PageVersion, Request
from neardup_stream.errors import StoreUnavailable
from neardup_stream.message import Partition, Position
from neardup_stream.page import Handle
from neardup_stream.stores.protocol import RecordStore

__all__ = ["Decider", "KnownVersion", "RecordsBehind", "RenderRow", "StaleRead"]

RenderRow = Callable[[Request, Placement | None], bytes]
"""The row of a request, from what it brought about; None for a quiet one."""


class StaleRead(StoreUnavailable):
    """What the requests rest on may have been forgotten since it was read: look, and compare, once more."""


class KnownVersion(NamedTuple):
    """What the clusters know of a page: its highest version that was decided or buried; 0 for none."""

    handle: Handle
    version: int


class RecordsBehind(StoreUnavailable):
    """Page records do not say what the clusters know: register these pages again, above what is known.

    A version was registered and never decided, or Redis lost a page record, or a part of one.

    Args:
        known: by position of the request, the page and the version that its record must exceed.
    """

    def __init__(self, known: Mapping[Position, KnownVersion]) -> None:
        super().__init__(f"the page records of {len(known)} pages lack what was decided of them")
        self.known = known


class Decider(Protocol):
    """Decides, once for each position. Each method raises StoreUnavailable, and may then be called again."""

    async def settled(self, positions: Sequence[Position]) -> Settled:
        """What was decided already."""
        ...

    async def decide(self, requests: Sequence[Request], render: RenderRow, aged_count: int) -> list[Decided]:
        """Decide requests about distinct pages, in order; what was decided before stays as it was.

        A large batch takes several commits, each of bounded size. So after any error the first requests may
        be decided, and no later one is; ask for all again, which returns what was decided.

        Args:
            requests: asked for.
            render: makes their rows, and those of positions that are settled with them (QuietRequest).
            aged_count: `Settled.aged_count`, from before everything that the requests rest on was read.

        Raises:
            StaleRead: a tombstone that the requests rest on is removed: read, and compare, again.
            RecordsBehind: pages must be registered again first.
        """
        ...

    async def trim(self, next_offsets: Mapping[Partition, int]) -> None:
        """Everything below these offsets is delivered and committed: its rows may go."""
        ...

    async def tidy(self, records: RecordStore) -> None:
        """Do the housekeeping that is due; however much that is, no call of the store takes long.

        Args:
            records: of the same pages.
        """
        ...

    async def expire(self, nodes: Sequence[PageVersion]) -> list[bool]:
        """Let pages leave their clusters silently; False for one that speaks for others, and stays."""
        ...

    async def release(self, nodes: Sequence[PageVersion]) -> None:
        """The records of pages that expired say so: nobody needs to be refused any more, after a while."""
        ...
