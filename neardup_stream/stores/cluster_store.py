"""Define the protocol of cluster stores; `tests/contracts/clusters.py` is their contract suite.

The store is dumb: cells of bytes, members of clusters in order of rank, a counter of ranks, and one call that
changes all of it at once if nothing that was read has moved. What the cells mean is decided above, in pure
code. Every call may be run twice: a commit that is repeated, because its answer was lost, finds its own rows
where it expected none, changes nothing and answers that something changed; the next read finds them.
Each method raises StoreUnavailable when the server is unavailable.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec

from neardup_stream.message import Partition, Position, epoch_of, topic_of
from neardup_stream.page import Handle

__all__ = [
    "ABSORBED",
    "AGED",
    "AHEAD_SECONDS",
    "BLOCK_BYTES",
    "BLOCK_OFFSETS",
    "CLUSTERS",
    "COUNT_BYTES",
    "DECIDED",
    "PAGES",
    "PROVISIONAL_RANK",
    "RANK_BYTES",
    "ROWS",
    "SWEPT",
    "TRIMMED",
    "Aged",
    "CellAddress",
    "ClusterStore",
    "Member",
    "MemberRange",
    "Transaction",
    "WalkedBlocks",
    "WalkedClusters",
    "block_address",
    "block_number",
    "continued_block",
    "epochs_of",
    "named_partition",
    "partition_name",
    "rows_table",
]


class CellAddress(msgspec.Struct, frozen=True, gc=False):
    """Where a cell is: a table and a field in it."""

    table: str
    field: bytes


PAGES = "pages"
"""Table of page cells: field = 8-byte handle."""

CLUSTERS = "clusters"
"""Table of cluster cells: field = 12-byte cluster key. Behind the rank stands a count of `COUNT_BYTES`."""

COUNT_BYTES = 4
"""Big-endian; commits may add to it without having read the same count."""

ABSORBED = "absorbed"
"""Table of absorbed clusters whose members have not moved yet, and of forwarding cells to remove: field =
cluster key."""

TRIMMED = "trimmed"
"""Table of the offsets below which rows are gone: field = name of a partition, value in decimal."""

AGED = CellAddress(TRIMMED, b"aged")
"""How often page cells have begun to age, alone or those of a part together, in decimal. No partition is
named so."""

SWEPT = CellAddress(TRIMMED, b"swept")
"""How many of those have stopped to age. They stop in the order in which they began."""

DECIDED = "decided"
"""Table of the offsets below which all rows lie: field = name of a partition; `cluster_cells.pack_ceiling`.
Every write of rows raises it, so no row at or above these offsets exists."""

RANK_BYTES = 6
"""Every cell begins with a rank, big-endian; 0 for none."""

PROVISIONAL_RANK = 1 << 47
"""A rank above it is a promise: PROVISIONAL_RANK + i is replaced by the i-th rank that a commit takes."""


ROWS = "rows:"
"""How the tables of rows begin, see `rows_table`."""

BLOCK_OFFSETS = 256
"""Offsets whose rows are one value, a block, or several: see `BLOCK_BYTES`."""

BLOCK_BYTES = 1 << 18
"""A block of so many bytes is full: later parts go to the block that continues it. So a commit copies a
bounded number of bytes, however large rows are."""

AHEAD_SECONDS = 60
"""A time so far in the future was not read from a clock that went right."""


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


class Aged(msgspec.Struct, frozen=True, gc=False):
    """A page cell that may go once it is old: if it still has this rank and nothing holds it.

    A rank is of one page, so a cell that begins to age twice is none the worse for it.

    Attributes:
        rank: of the version that the cell knows.
        handle: of the page.
        content: digest of the text of that version; 0 where unknown, and for a tombstone.
    """

    rank: int
    handle: Handle
    content: int = 0


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
        appended: parts of blocks, in order; see `pack_part`. Of a full block it is stored in the one that
            continues it.
        new: values of cells at which nothing may be stored yet, beside those in `expected` and `writes`.
        rank_count: how many ranks it takes.
        known_ranks: how many are taken already, as far as is known.
        aged_count: `AGED` as it was before everything that this rests on was read: no cell that began to age
            since may have stopped yet. None where nothing was read before.
        turn: the token of the daemon's turn, see `ClusterStore.take_turn`; empty for none.
        begins: how the values of other cells, which are not written, must begin.
    """

    floors: Mapping[Partition, int]
    expected: Mapping[CellAddress, bytes | None]
    writes: Mapping[CellAddress, bytes | None]
    joined: Sequence[Member] = ()
    left: Sequence[Member] = ()
    counted: Mapping[CellAddress, tuple[bytes, int]] = {}
    appended: Sequence[tuple[CellAddress, bytes]] = ()
    new: Sequence[tuple[CellAddress, bytes]] = ()
    rank_count: int = 0
    known_ranks: int = 0
    aged_count: int | None = None
    turn: bytes = b""
    begins: Mapping[CellAddress, bytes] = {}


class WalkedClusters(NamedTuple):
    """The clusters of some hashes.

    Attributes:
        cells: keys of clusters and their cells.
        next_slot: the first hash behind them.
    """

    cells: list[tuple[bytes, bytes]]
    next_slot: int


class WalkedBlocks(NamedTuple):
    """Some blocks of rows of a partition.

    Attributes:
        values: by name of the block; see `rows_table`.
        cursor: of the next call; 0 where every block was seen.
    """

    values: Mapping[bytes, bytes]
    cursor: int


class ClusterStore(Protocol):
    """Keeps cells, members and ranks, all on one server."""

    slot_count: int
    """How many hashes the cluster cells are spread over."""

    async def read(
        self, addresses: Sequence[CellAddress], ranges: Sequence[MemberRange] = ()
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

        Raises:
            RanksWentBack: fewer ranks are taken than are known; nothing was changed.
        """
        ...

    async def take_turn(self, token: bytes, seconds: float) -> bool:
        """Make the commits of all others fail until a commit with this token succeeds, or the turn times out.

        Returns:
            Whether the turn was taken; False while another one holds it. One that would last for longer than
            `seconds` began before the clock was set back, and is over.
        """
        ...

    async def absorbed(self) -> list[bytes]:
        """Return some keys of `ABSORBED`, none if there are none."""
        ...

    async def partitions(self) -> list[bytes]:
        """Return the names of all partitions of which something was ever decided; no snapshot."""
        ...

    async def blocks(self, partition: Partition, cursor: int = 0) -> WalkedBlocks:
        """Return about one block of rows of a partition; the calls until 0 is returned see all that stay."""
        ...

    async def age(self, cells: Sequence[Aged]) -> None:
        """Let these page cells begin to age."""
        ...

    async def trim(
        self,
        partition: Partition,
        offset: int,
        cursor: int = 0,
        expected: Mapping[CellAddress, bytes] | None = None,
    ) -> int | None:
        """Raise `TRIMMED` to this offset, never lower, and remove blocks of rows below it, about one.

        The pages that they decided begin to age. A block is removed once all its offsets are below, or if no
        row of the partition is at this offset or above. Blocks that are stored throughout are all seen by the
        calls from cursor 0 until 0 is returned.

        Args:
            partition: of the rows.
            offset: from which on they stay.
            cursor: 0 at first.
            expected: values that cells must have for anything to be done.

        Returns:
            The cursor of the next call; 0 where every block was seen; None where a cell has another value.
        """
        ...

    async def due(self, tombstone_ttl_seconds: float, limit: int) -> list[Aged]:
        """Return the oldest page cells that are at least `tombstone_ttl_seconds` old.

        At most `limit`, but all that began to age together in any case. Those that will have begun more than
        `AHEAD_SECONDS` from now are due too: the clock was ahead, and batches on them are read again.
        """
        ...

    async def sweep(self, due: Sequence[Aged]) -> None:
        """Remove these, the oldest of all, from the list of aging cells, and those cells that nothing holds.

        Cells that began to age together leave the list together. One is removed if it has the rank it aged
        with and the byte behind it is below 2. If another daemon has swept meanwhile, nothing happens.
        """
        ...

    async def walk(self, slot: int) -> WalkedClusters:
        """Return every cluster of some hashes from `slot` on, which is in [0, slot_count). One round trip."""
        ...


def partition_name(partition: Partition) -> bytes:
    """Return the name of a partition among the fields of `TRIMMED`."""
    return f"{partition.input_id}:{partition.number}".encode()


def named_partition(name: bytes) -> Partition:
    """Return the partition that `partition_name` named."""
    input_id, _, number = name.decode().rpartition(":")
    return Partition(input_id, int(number))


def epochs_of(partition: Partition) -> Position | None:
    """Return what stands for the epoch of a topic among the trimmed offsets; None for files and pipes.

    It is an offset of a partition that no topic has. Trimming the offsets below an epoch ends all lower
    epochs, and a commit that names it among its `floors` is refused once its own epoch has ended.
    """
    epoch = epoch_of(partition.input_id)
    return None if epoch is None else Position(Partition(topic_of(partition.input_id), -1), epoch)


def rows_table(partition: Partition) -> str:
    """Return the table of a partition's rows: field = name of a block, value = its parts.

    The name is the number of the block in decimal; of those that continue it, a point and 1, 2, … follow.
    """
    return f"{ROWS}{partition.input_id}:{partition.number}"


def block_address(position: Position) -> CellAddress:
    """Return the address of the block that holds the row of a position."""
    return CellAddress(rows_table(position.partition), b"%d" % (position.offset // BLOCK_OFFSETS))


def continued_block(address: CellAddress) -> CellAddress:
    """Return the address of the block that continues a full one."""
    number, _, followed = address.field.partition(b".")
    return CellAddress(address.table, b"%b.%d" % (number, int(followed or 0) + 1))


def block_number(name: bytes) -> int:
    """Return the number of a block, or of the one that it continues, by its name."""
    return int(name.partition(b".")[0])
