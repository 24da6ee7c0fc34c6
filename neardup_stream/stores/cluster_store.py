"""What every store of clusters promises; `tests/contracts/clusters.py` holds them to it.

The store is dumb: cells of bytes, members of clusters in order of rank, a counter of ranks, and one call that
changes all of it at once if nothing that was read has moved. What the cells mean is decided above, in pure
code. Every call may be run twice: a commit that is repeated, because its answer was lost, finds its own rows
where it expected none, changes nothing and answers that something moved; whoever reads again finds them.
Each method raises StoreUnavailable when the server is unavailable.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from neardup_stream.message import Partition, Position
from neardup_stream.page import Handle

__all__ = [
    "ABSORBED",
    "AGED",
    "CLUSTERS",
    "COUNT_BYTES",
    "DECIDED",
    "PAGES",
    "PROVISIONAL_RANK",
    "RANK_BYTES",
    "ROWS_AT_ONCE",
    "SWEPT",
    "TRIMMED",
    "Aged",
    "Cell",
    "ClusterStore",
    "Member",
    "MemberRange",
    "Transaction",
    "WalkedClusters",
    "named_partition",
    "partition_name",
    "row_cell",
    "rows_table",
]


class Cell(NamedTuple):
    """Where a value stands: a table and a field in it."""

    table: str
    field: bytes


PAGES = "pages"
"""Table of page cells: field = 8-byte handle."""

CLUSTERS = "clusters"
"""Table of cluster cells: field = 12-byte cluster key. Behind the rank stands a count of `COUNT_BYTES`."""

COUNT_BYTES = 4
"""Big-endian; commits may add to it without having read the same count."""

ABSORBED = "absorbed"
"""Table of the clusters that were absorbed and whose members have not moved yet: field = cluster key."""

TRIMMED = "trimmed"
"""Table of the offsets below which rows are gone: field = name of a partition, value in decimal."""

AGED = Cell(TRIMMED, b"aged")
"""How many page cells have ever begun to age, in decimal. No partition is named so."""

SWEPT = Cell(TRIMMED, b"swept")
"""How many of them have stopped to age. They stop in the order in which they began."""

DECIDED = "decided"
"""Table of the offsets below which all rows lie: field = name of a partition, value = no rank, then decimal.
Whoever writes rows raises it, so it says where no row need be looked for."""

RANK_BYTES = 6
"""Every cell begins with a rank, big-endian; 0 for none."""

PROVISIONAL_RANK = 1 << 47
"""A rank above it is a promise: PROVISIONAL_RANK + i is replaced by the i-th rank that a commit takes."""


ROWS_AT_ONCE = 250
"""Rows that one call of `ClusterStore.trim` looks at: below 10 ms even if each has 32 KB of events."""


class Member(NamedTuple):
    """A page in a set of members, or another set that belongs to it.

    Attributes:
        cluster: 12-byte key of the set.
        rank: the page's; of a set, no member of it has a lower one.
        handle: the page's; of a set, that of the page that founded it.
        founded: 0 for a page; of a set, the version that founded it.
    """

    cluster: bytes
    rank: int
    handle: Handle
    founded: int = 0


class MemberRange(NamedTuple):
    """Members of a set in order of rank: at most `limit` of them, from behind the member `after`."""

    cluster: bytes
    limit: int
    after: Member | None = None


class Aged(NamedTuple):
    """A page cell that may go once it is old: if it still has this rank and nothing holds it.

    A rank is of one page, so a cell that begins to age twice is none the worse for it.
    """

    rank: int
    handle: Handle


class Transaction(NamedTuple):
    """What one commit checks and changes.

    Attributes:
        floors: by partition, the lowest offset that it decides: none of them may be trimmed yet.
        expected: what was read; None where nothing was stored.
        writes: new values; None removes.
        joined: members to add, their ranks perhaps provisional.
        left: members to remove.
        counted: by cell of `CLUSTERS`, what was read, and how much is added to its count. The cell must be
            there and the same but for its count, so that daemons that only add do not stop each other.
        rank_count: how many ranks it takes.
        aged_count: `AGED` as it was before everything that this rests on was read: no cell that began to age
            since may have stopped yet. None where nothing was read before.
        turn: the token of the daemon's turn, see `ClusterStore.take_turn`; empty for none.
    """

    floors: Mapping[Partition, int]
    expected: Mapping[Cell, bytes | None]
    writes: Mapping[Cell, bytes | None]
    joined: Sequence[Member] = ()
    left: Sequence[Member] = ()
    counted: Mapping[Cell, tuple[bytes, int]] = {}
    rank_count: int = 0
    aged_count: int | None = None
    turn: bytes = b""


class WalkedClusters(NamedTuple):
    """The clusters of some hashes.

    Attributes:
        cells: keys of clusters and their cells.
        next_slot: the first hash behind them.
    """

    cells: list[tuple[bytes, bytes]]
    next_slot: int


class ClusterStore(Protocol):
    """Keeps cells, members and ranks, all on one server."""

    slot_count: int
    """How many hashes the cluster cells are spread over."""

    async def read(
        self, cells: Sequence[Cell], ranges: Sequence[MemberRange] = ()
    ) -> tuple[list[bytes | None], list[list[Member]]]:
        """Return the values of the cells, and the members of each range in order of rank.

        What exceeds the limits of one call is read in several, between which others may commit: a commit
        that expects what was read finds that out.

        Cost: one round trip; in a cluster one for each call, of a thousand cells or some members.
        """
        ...

    async def commit(self, transaction: Transaction) -> int | None:
        """Change everything at once, or nothing.

        Returns:
            The rank before the first one taken; None when something has moved and nothing was changed.
        """
        ...

    async def take_turn(self, token: bytes, seconds: float) -> bool:
        """Make the commits of all others fail until a commit with this token succeeds, or the time is over.

        Returns:
            Whether the turn was taken; False while another one holds it.
        """
        ...

    async def absorbed(self) -> list[bytes]:
        """Return some keys of `ABSORBED`, none if there are none."""
        ...

    async def partitions(self) -> list[bytes]:
        """Return the names of all partitions of which something was ever decided; no snapshot.

        Cost: a round trip for some thousand.
        """
        ...

    async def age(self, cells: Sequence[Aged]) -> None:
        """Let these page cells begin to age."""
        ...

    async def trim(self, partition: Partition, offset: int, cursor: int = 0) -> int:
        """Raise `TRIMMED` to this offset, never lower, and remove some `ROWS_AT_ONCE` of the rows below it.

        The pages that they decided begin to age. Rows that are stored throughout are all seen by the calls
        from cursor 0 until 0 is returned.

        Returns:
            The cursor of the next call; 0 where every row was seen.
        """
        ...

    async def due(self, tombstone_ttl_seconds: float, limit: int) -> list[Aged]:
        """Return the oldest page cells, at most `limit`, that are at least `tombstone_ttl_seconds` old."""
        ...

    async def sweep(self, due: Sequence[Aged]) -> None:
        """Let these, the oldest of all, stop to age, and remove those cells that nothing holds.

        A cell is let go when it has the rank it aged with and the byte after its rank is below 2. When
        somebody else has swept meanwhile, nothing happens.
        """
        ...

    async def walk(self, slot: int) -> WalkedClusters:
        """Every cluster of some hashes from `slot` on, which is in [0, slot_count). One round trip."""
        ...


def partition_name(partition: Partition) -> bytes:
    """Names a partition among the fields of `TRIMMED`."""
    return f"{partition.input_id}:{partition.number}".encode()


def named_partition(name: bytes) -> Partition:
    """The partition that `partition_name` named."""
    input_id, _, number = name.decode().rpartition(":")
    return Partition(input_id, int(number))


def rows_table(partition: Partition) -> str:
    """The table of a partition's rows: field = offset in decimal, value = rank, handle, row."""
    return f"rows:{partition.input_id}:{partition.number}"


def row_cell(position: Position) -> Cell:
    """Where the row of a position is kept."""
    return Cell(rows_table(position.partition), b"%d" % position.offset)
