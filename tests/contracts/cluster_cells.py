"""Cells of clusters, and the transactions that write them."""

from neardup_stream.message import Partition, Position
from neardup_stream.page import Handle
from neardup_stream.stores.aged_parts import AgedPart, pack_part
from neardup_stream.stores.cluster_store import (
    DECIDED,
    PAGES,
    PROVISIONAL_RANK,
    CellAddress,
    ClusterStore,
    Transaction,
    block_address,
    partition_name,
)

__all__ = [
    "FREE",
    "HELD",
    "HIGH",
    "LOW",
    "NEXT_RANK",
    "PARTITION",
    "appending",
    "deciding",
    "page",
    "ranked",
    "trim",
    "value",
    "writing",
]

PARTITION = Partition("pages", 3)
LOW, HIGH = Handle(0), Handle(2**64 - 1)
NEXT_RANK = PROVISIONAL_RANK + 1
FREE, HELD = b"\x01", b"\x03"
"""The flags of cells that nothing holds, and that something holds."""


def page(handle: Handle) -> CellAddress:
    return CellAddress(PAGES, handle.to_bytes(8, "big"))


def ranked(rank: int, rest: bytes = b"") -> bytes:
    return rank.to_bytes(6, "big") + rest


def writing(*writes: tuple[CellAddress, bytes | None], rank_count: int = 0) -> Transaction:
    """Writes without any condition."""
    return Transaction(floors={}, expected={}, writes=dict(writes), rank_count=rank_count)


def appending(
    offset: int, *pages: tuple[int, Handle, int], rank: int = NEXT_RANK, rows: bytes = b"rows"
) -> tuple[CellAddress, bytes]:
    """A part of the block that holds the row of an offset."""
    return block_address(Position(PARTITION, offset)), pack_part(AgedPart(rank, pages, rows))


def deciding(
    *parts: tuple[CellAddress, bytes], floor: int = 0, below: int | None = None, rank_count: int = 0
) -> Transaction:
    """Appends parts; raises the offset below which all rows lie, where one is given."""
    ceiling = CellAddress(DECIDED, partition_name(PARTITION))
    writes = {} if below is None else {ceiling: ranked(0, b"%d" % below)}
    return Transaction({PARTITION: floor}, {}, writes, appended=parts, rank_count=rank_count)


async def value(store: ClusterStore, address: CellAddress) -> bytes | None:
    (found,), _ = await store.read([address])
    return found


async def trim(store: ClusterStore, offset: int) -> int:
    """Trim to the end; how many calls it took."""
    cursor, calls = await store.trim(PARTITION, offset), 1
    while cursor:
        cursor, calls = await store.trim(PARTITION, offset, cursor), calls + 1
    return calls
