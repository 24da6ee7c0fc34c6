"""Define the interface between the pipeline and what decides its pages, with clusters or without."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from neardup_stream.clusters.placements import AlreadyDecided, Decided, Placement
from neardup_stream.clusters.requests import PageVersion, Request
from neardup_stream.errors import StoreUnavailable
from neardup_stream.message import Partition, Position
from neardup_stream.page import Handle
from neardup_stream.stores.protocol import RecordStore

__all__ = ["Decider", "KnownVersion", "PlannedRequest", "Portion", "RecordsBehind", "StaleRead"]


class PlannedRequest(NamedTuple):
    """A request that the next commit decides.

    Attributes:
        request: as it was asked for; a QuietRequest also where another one claims the version of a position.
        placement: the outcome. With clusters it is None for all but a PlaceRequest and a ForgetRequest,
            without them only for the QuietRequest of a position whose version another one claims.
    """

    request: Request
    placement: Placement | None


class StaleRead(StoreUnavailable):
    """What the requests rest on may have been forgotten since it was read: look, and compare, once more."""


class KnownVersion(NamedTuple):
    """What the clusters know of a page.

    Attributes:
        handle: of the page.
        version: the highest one that was decided or removed; 0 for none.
        content: digest of its text if that version is in a cluster; 0 where unknown.
    """

    handle: Handle
    version: int
    content: int = 0

    def has_decided(self, version: int, content: int) -> bool:
        """Return whether this version with this text is decided, for certain: so not where `content` is 0.

        A version that was removed has no text here either.
        """
        return self.version == version and 0 != self.content == content


class RecordsBehind(StoreUnavailable):
    """Page records do not say what the clusters know: register these pages again, above what is known.

    A version was registered and never decided, or Redis lost a page record, or a part of one.

    Args:
        known: by position of the request, the page and the version that its record must exceed.
    """

    def __init__(self, known: Mapping[Position, KnownVersion]) -> None:
        super().__init__(f"the page records of {len(known)} pages lack what was decided of them")
        self.known = known


class Portion(Protocol):
    """Requests that are decided together: plan, make their decision records, commit; again until done."""

    async def plan(self) -> Sequence[PlannedRequest]:
        """Read a snapshot, and plan on it what is not decided yet.

        Returns:
            The requests that need a decision record, in order: all but those that have theirs with them.

        Raises:
            StaleRead: a tombstone that the requests rest on is removed: read, and compare, again.
            RecordsBehind: pages must be registered again first.
            EpochEnded: a topic is read in a later epoch.
            StoreUnavailable: others have changed the same cells too often, or the store is unavailable.
        """
        ...

    async def commit(self, records: Sequence[bytes]) -> list[Decided] | None:
        """Store the last plan with its decision records, if nothing that it rests on has changed.

        Args:
            records: one for each request that `plan` returned, in order.

        Returns:
            One outcome for each request of the portion, in order; None: plan again.

        Raises:
            StoreUnavailable: others have changed the same cells too often, or the store is unavailable.
        """
        ...


class Decider(Protocol):
    """Decides, once for each position. Each method raises StoreUnavailable, and may then be called again."""

    async def already_decided(self, positions: Sequence[Position]) -> AlreadyDecided:
        """Return what was decided already."""
        ...

    def portions(self, requests: Sequence[Request], aged_count: int) -> Iterator[Portion]:
        """Cut requests about distinct pages, in order, into portions that are decided one after the other.

        What was decided before stays as it was. After an error the first portions may be decided, and no
        later one is; decide all again, which returns what was decided.

        Args:
            requests: asked for.
            aged_count: `AlreadyDecided.aged_count`, from before everything that the requests rest on was
                read.
        """
        ...

    async def trim(self, next_offsets: Mapping[Partition, int]) -> None:
        """Remove the decision records below these offsets, which are delivered and committed."""
        ...

    async def end_former_epochs(self, partitions: Sequence[Partition]) -> Mapping[Partition, int]:
        """Refuse further decisions in lower epochs of the topics of these partitions.

        Returns:
            The partitions of lower epochs whose decision records are not trimmed, each with the offset below
            which all of them lie. They stay as they are.
        """
        ...

    async def stored_records(self, partition: Partition) -> Mapping[Position, Decided]:
        """Return what is stored as decided of a partition, in order."""
        ...

    async def tidy(self, records: RecordStore) -> None:
        """Do the housekeeping that is due; however much that is, no call of the store takes long.

        Args:
            records: of the same pages.
        """
        ...

    async def expire(self, nodes: Sequence[PageVersion]) -> list[bool]:
        """Remove pages from their clusters without events; False for one that represents others."""
        ...

    async def release(self, nodes: Sequence[PageVersion]) -> None:
        """Let the tombstones of expired pages age: their records say that they are gone."""
        ...
