"""Rows: what was decided at a position, as it is stored until it is delivered and trimmed.

    rank (6 bytes) | handle (8) | the row that was rendered

Rank and handle are zero where the request took no place.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from neardup_stream.clusters.placements import Decided, Placement, Settled
from neardup_stream.clusters.requests import ForgetRequest, PlaceRequest, Request
from neardup_stream.clusters.snapshot import Snapshot
from neardup_stream.gather_all import gather_all
from neardup_stream.message import Partition, Position
from neardup_stream.stores.cluster_store import (
    AGED,
    DECIDED,
    PROVISIONAL_RANK,
    RANK_BYTES,
    SWEPT,
    TRIMMED,
    Cell,
    ClusterStore,
    partition_name,
    row_cell,
)

__all__ = [
    "NewRow",
    "bound_cells",
    "decided_in_order",
    "lowest_offsets",
    "pack_row",
    "raised_ceilings",
    "row_cells",
    "settled_in",
    "trim_rows",
]

_HEAD_BYTES = RANK_BYTES + 8


class NewRow(NamedTuple):
    """A request that was planned.

    Attributes:
        request: as it came.
        placement: None for a QuietRequest.
        number: which of its batch's ranks it takes, from 1; 0 for none.
        known_rank: the rank that its version has already; 0 for none.
    """

    request: Request
    placement: Placement | None
    number: int
    known_rank: int = 0


def pack_row(row: NewRow, content: bytes) -> bytes:
    """The stored bytes, with a provisional rank."""
    rank = PROVISIONAL_RANK + row.number if row.number else row.known_rank
    if not rank or not isinstance(row.request, (PlaceRequest, ForgetRequest)):
        return bytes(_HEAD_BYTES) + content
    return rank.to_bytes(RANK_BYTES, "big") + row.request.node.handle.to_bytes(8, "big") + content


def bound_cells(positions: Iterable[Position]) -> list[Cell]:
    """The cells that say between which offsets the rows of these partitions lie, and what has aged."""
    partitions = {position.partition for position in positions}
    bounds = [Cell(table, partition_name(each)) for each in partitions for table in (TRIMMED, DECIDED)]
    return [*bounds, AGED, SWEPT]


class _Bounds(NamedTuple):
    """Rows may lie from `floor` to below `ceiling`."""

    floor: int
    ceiling: int


def _bounds(snapshot: Snapshot, positions: Iterable[Position]) -> dict[Partition, _Bounds]:
    partitions = {position.partition for position in positions}
    return {each: _Bounds(snapshot.floor(each), snapshot.ceiling(each)) for each in partitions}


def row_cells(snapshot: Snapshot, positions: Sequence[Position]) -> list[Cell]:
    """The rows that there may be, of a view that has read their bounds."""
    bounds = _bounds(snapshot, positions)
    return [
        row_cell(position)
        for position in positions
        if bounds[position.partition].floor <= position.offset < bounds[position.partition].ceiling
    ]


def settled_in(snapshot: Snapshot, positions: Sequence[Position]) -> Settled:
    """What a view says of positions whose bounds and rows it has read."""
    bounds = _bounds(snapshot, positions)
    rows: dict[Position, Decided] = {}
    finished = set()
    for position in positions:
        floor, ceiling = bounds[position.partition]
        if position.offset < floor:
            finished.add(position)
        elif position.offset < ceiling:
            value = snapshot.raw[row_cell(position)]
            if value is not None:
                rank = int.from_bytes(value[:RANK_BYTES], "big")
                rows[position] = Decided(rank, value[_HEAD_BYTES:])
    return Settled(rows, frozenset(finished), snapshot.aged_count)


def decided_in_order(
    requests: Iterable[Request], settled: Settled, decided: Mapping[Position, Decided]
) -> list[Decided]:
    """One outcome for each request: what was decided now, or before, or is finished."""
    finished = Decided(0, b"", is_finished=True)
    positions = [request.position for request in requests]
    return [decided.get(at) or settled.rows.get(at, finished) for at in positions]


async def trim_rows(store: ClusterStore, offsets: Mapping[Partition, int]) -> None:
    """Remove the rows below these offsets, and remember that they are gone.

    Raises:
        StoreUnavailable: trim again; what is left is only memory.
    Cost: for all partitions at once, one round trip for each `ROWS_AT_ONCE` rows of one.
    """
    await gather_all(_trim_partition(store, partition, offset) for partition, offset in offsets.items())


async def _trim_partition(store: ClusterStore, partition: Partition, offset: int) -> None:
    cursor = await store.trim(partition, offset)
    while cursor:
        cursor = await store.trim(partition, offset, cursor)


def raised_ceilings(snapshot: Snapshot, positions: Sequence[Position]) -> dict[Cell, bytes | None]:
    """The upper bounds after rows were written at these positions."""
    ends = {partition: ceiling for partition, (_, ceiling) in _bounds(snapshot, positions).items()}
    for position in positions:
        ends[position.partition] = max(position.offset + 1, ends[position.partition])
    no_rank = bytes(RANK_BYTES)
    return {
        Cell(DECIDED, partition_name(partition)): no_rank + b"%d" % end for partition, end in ends.items()
    }


def lowest_offsets(positions: Iterable[Position]) -> dict[Partition, int]:
    """By partition, the lowest offset."""
    lowest: dict[Partition, int] = {}
    for position in positions:
        lowest[position.partition] = min(position.offset, lowest.get(position.partition, position.offset))
    return lowest
