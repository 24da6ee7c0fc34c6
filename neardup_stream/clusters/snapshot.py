"""Hold what was read for a batch, and note what is still missing."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from neardup_stream.clusters.cells import (
    AbsorbedCell,
    ClusterCell,
    ClusterKey,
    PageCell,
    root_of,
    unpack_cluster,
)
from neardup_stream.message import Partition
from neardup_stream.page import Handle, PageId
from neardup_stream.stores.cluster_cells import handle_of_address, page_address, unpack_ceiling
from neardup_stream.stores.cluster_store import (
    AGED,
    CLUSTERS,
    DECIDED,
    PAGES,
    SWEPT,
    TRIMMED,
    CellAddress,
    Member,
    MemberRange,
    partition_name,
)

__all__ = [
    "DescribedPage",
    "Description",
    "Needs",
    "Snapshot",
    "StaleSnapshot",
    "cluster_addresses",
    "page_addresses",
]


DescribedPage = tuple[Handle, int]
"""A page to be described, and its version that was decided."""


class Description(NamedTuple):
    """How a page is named in events, and which version is known of it.

    Attributes:
        id: of the page.
        url: as that version was crawled last.
        version: the one that was decided, or a later one where that is not known any more.
        content: digest of the text of that version.
        fingerprint: simhash of that version.
    """

    id: PageId
    url: str
    version: int = 0
    content: int = 0
    fingerprint: int = 0


class StaleSnapshot(Exception):  # noqa: N818 - a signal inside this package: read everything again
    """Two reads do not fit together: another daemon committed between them.

    Args:
        reason: what does not fit.
        snapshot: what was read.

    Attributes:
        seen: both, for `repeats`; None without a snapshot.
    """

    def __init__(self, reason: str, snapshot: "Snapshot | None" = None) -> None:
        super().__init__(reason)
        self.seen = (reason, snapshot.raw, snapshot.members) if snapshot is not None else None

    def repeats(self, other: "StaleSnapshot | None") -> bool:
        """Return whether another snapshot had the same cells and members, and failed in the same way."""
        return other is not None and self.seen is not None and self.seen == other.seen


class Needs:
    """What a plan needs and the snapshot does not have yet."""

    def __init__(self) -> None:
        self.pages: set[Handle] = set()
        self.clusters: set[ClusterKey] = set()
        self.ranges: dict[ClusterKey, int] = {}
        self.descriptions: set[DescribedPage] = set()

    def __bool__(self) -> bool:
        """Return whether anything is missing."""
        return bool(self.pages or self.clusters or self.ranges or self.descriptions)


class Snapshot:
    """The cells and members that were read, unpacked once.

    `raw` is what a commit expects to be unchanged, except for the sizes of clusters. Offsets of trimmed rows,
    and counts of cells that aged, are not part of it: they rise all the time and only have to stay below a
    limit.
    """

    def __init__(self) -> None:
        self.raw: dict[CellAddress, bytes | None] = {}
        self.pages: dict[Handle, PageCell] = {}
        self.clusters: dict[ClusterKey, ClusterCell | AbsorbedCell | None] = {}
        self.members: dict[ClusterKey, tuple[Member, ...]] = {}
        self.descriptions: dict[DescribedPage, Description | None] = {}
        self._limits: dict[ClusterKey, int] = {}
        self._floors: dict[bytes, int] = {}
        self._ceilings: dict[bytes, int] = {}

    def add(
        self,
        addresses: Sequence[CellAddress],
        values: Sequence[bytes | None],
        ranges: Sequence[MemberRange],
        members: Sequence[Sequence[Member]],
    ) -> None:
        """Take in one read.

        Raises:
            CorruptData: a cell cannot be read.
        """
        for address, value in zip(addresses, values, strict=True):
            if address.table == TRIMMED:
                self._floors[address.field] = int(value or 0)
                continue
            self.raw[address] = value
            if address.table == DECIDED:
                self._ceilings[address.field] = unpack_ceiling(value)
            elif address.table == PAGES:
                self.pages[handle_of_address(address)] = PageCell.unpack(value)
            elif address.table == CLUSTERS:
                unpacked = None if value is None else unpack_cluster(value)
                self.clusters[ClusterKey.unpack(address.field)] = unpacked
        for asked, found in zip(ranges, members, strict=True):
            key = ClusterKey.unpack(asked.cluster)
            self.members[key] = tuple(found)
            self._limits[key] = asked.limit

    def assume_absent(self, addresses: Sequence[CellAddress]) -> None:
        """Take in that nothing is stored there, unread; a commit finds out whether that is true."""
        self.add(addresses, [None] * len(addresses), (), ())

    def describe(self, descriptions: Mapping[DescribedPage, Description | None]) -> None:
        """Take in the names of pages; None for a page without a record."""
        self.descriptions.update(descriptions)

    def has_members(self, key: ClusterKey, limit: int) -> bool:
        """Return whether the first `limit` members were read, or all if there are fewer."""
        return key in self.members and (self.has_all_members(key) or limit <= self._limits[key])

    def has_all_members(self, key: ClusterKey) -> bool:
        """Return whether the members that were read are all."""
        return len(self.members[key]) < self._limits[key]

    def root(self, key: ClusterKey) -> ClusterKey:
        """Return the cluster to which the members of `key` belong, or the first on the way that is unread."""
        return root_of(key, self.clusters.get)

    def floor(self, partition: Partition) -> int:
        """Return the offset below which rows are trimmed."""
        return self._floors[partition_name(partition)]

    def ceiling(self, partition: Partition) -> int:
        """Return the offset from which on there is no row."""
        return self._ceilings[partition_name(partition)]

    @property
    def aged_count(self) -> int:
        """How many page cells had begun to age."""
        return self._floors[AGED.field]

    @property
    def swept_count(self) -> int:
        """How many of them had stopped."""
        return self._floors[SWEPT.field]

    def unread_clusters(self) -> set[ClusterKey]:
        """Return the clusters of the pages that were read so far."""
        linked = ((handle, cell) for handle, cell in self.pages.items() if cell.is_living and cell.is_linked)
        return {self.root(cell.cluster(handle)) for handle, cell in linked} - self.clusters.keys()


def page_addresses(handles: Iterable[Handle]) -> list[CellAddress]:
    """Return the addresses of the cells of these pages."""
    return list(map(page_address, handles))


def cluster_addresses(keys: Iterable[ClusterKey]) -> list[CellAddress]:
    """Return the addresses of the cells of these clusters."""
    return [CellAddress(CLUSTERS, key.packed) for key in keys]
