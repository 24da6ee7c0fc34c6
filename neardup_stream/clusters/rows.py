"""Store decision records (rows) until they are delivered and trimmed.

The rows of `BLOCK_OFFSETS` offsets of a partition are one value, a block, or several where they are large.
Each commit appends a part (`aged_parts.pack_part`). The rows of a part are a MessagePack array of

    offset | rank from that of the part on, plus 1; 0 for none | the row that was rendered
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from neardup_stream.clusters.placements import AlreadyDecided, Decided, Placement
from neardup_stream.clusters.requests import ForgetRequest, LoneRequest, PlaceRequest, Request
from neardup_stream.clusters.snapshot import Snapshot
from neardup_stream.errors import CorruptData, EpochEnded
from neardup_stream.gather_all import gather_all
from neardup_stream.message import Partition, Position
from neardup_stream.stores.aged_parts import AgedPart, pack_part, unpack_parts
from neardup_stream.stores.cluster_cells import pack_ceiling, unpack_ceiling
from neardup_stream.stores.cluster_store import (
    AGED,
    BLOCK_BYTES,
    BLOCK_OFFSETS,
    DECIDED,
    PROVISIONAL_RANK,
    ROWS,
    SWEPT,
    TRIMMED,
    CellAddress,
    ClusterStore,
    block_address,
    continued_block,
    epochs_of,
    partition_name,
)

__all__ = [
    "NewRow",
    "RowBounds",
    "all_rows",
    "already_decided_in",
    "block_addresses",
    "bound_addresses",
    "changeable",
    "continued_blocks",
    "decidable_epochs",
    "decided_in_order",
    "lowest_offsets",
    "pack_rows",
    "raised_ceilings",
    "read_bounds",
    "refuse_ended_epochs",
    "trim_rows",
]


class NewRow(msgspec.Struct, frozen=True, gc=False):
    """A request that was planned.

    Attributes:
        request: as it came.
        placement: None for all but a PlaceRequest and a ForgetRequest, and wherever there are no clusters.
        number: which of its batch's ranks it takes, from 1; 0 for none.
        known_rank: the rank that its version has already; 0 for none.
    """

    request: Request
    placement: Placement | None
    number: int
    known_rank: int = 0


def pack_rows(rows: Iterable[NewRow], contents: Iterable[bytes]) -> list[tuple[CellAddress, bytes]]:
    """Return the parts of blocks that store these rows, with provisional ranks.

    Args:
        rows: of distinct positions, those with numbers in the order of these.
        contents: of each, what was rendered.
    """
    blocks: defaultdict[tuple[Partition, int], list[tuple[NewRow, bytes]]] = defaultdict(list)
    for row, content in zip(rows, contents, strict=True):
        position = row.request.position
        blocks[position.partition, position.offset // BLOCK_OFFSETS].append((row, content))
    return [
        (block_address(of_block[0][0].request.position), pack_part(part))
        for of_block in blocks.values()
        for part in _parts(of_block)
    ]


def _parts(rows: Sequence[tuple[NewRow, bytes]]) -> Iterator[AgedPart]:
    """Yield a part of the rows with new ranks or none, and one of each row with a known rank."""
    first = next((row.number for row, _ in rows if row.number), 0)
    pages, packed = [], []
    for row, content in rows:
        request, number = row.request, row.number
        offset = request.position.offset
        if number and isinstance(request, LoneRequest):
            pages.append((number - first, request.handle, request.content))
            packed.append((offset, number - first + 1, content))
        elif number and isinstance(request, (PlaceRequest, ForgetRequest)):
            pages.append((number - first, request.node.handle, _digest_of(request)))
            packed.append((offset, number - first + 1, content))
        elif row.known_rank and isinstance(request, (PlaceRequest, ForgetRequest)):
            known = _encoder.encode([(offset, 1, content)])
            page = 0, request.node.handle, _digest_of(request)
            yield AgedPart(row.known_rank, [page], known)
        else:
            packed.append((offset, 0, content))
    if packed:
        yield AgedPart(PROVISIONAL_RANK + first if pages else 0, pages, _encoder.encode(packed))


def _digest_of(request: PlaceRequest | ForgetRequest) -> int:
    return request.content if isinstance(request, PlaceRequest) else 0


def bound_addresses(positions: Iterable[Position]) -> list[CellAddress]:
    """Return the addresses of the bounds of rows, of the epochs of their topics, and of what has aged."""
    partitions = {position.partition for position in positions}
    bounds = [CellAddress(table, partition_name(each)) for each in partitions for table in (TRIMMED, DECIDED)]
    epochs = {CellAddress(TRIMMED, partition_name(epoch.partition)) for epoch in _epochs(partitions)}
    return [*bounds, *epochs, AGED, SWEPT]


class RowBounds(NamedTuple):
    """Rows of a partition may lie from `floor` to below `ceiling`."""

    floor: int
    ceiling: int

    @classmethod
    def unpack(cls, trimmed: bytes | None, decided: bytes | None) -> "RowBounds":
        """Return the bounds in the cells of a partition in `TRIMMED` and `DECIDED`."""
        return cls(int(trimmed or 0), unpack_ceiling(decided))

    @property
    def is_empty(self) -> bool:
        """Whether there is no row: all are trimmed, or there never was one."""
        return self.floor >= self.ceiling


async def read_bounds(store: ClusterStore, partitions: Sequence[Partition]) -> dict[Partition, RowBounds]:
    """Return the bounds of the rows of these partitions. One round trip.

    Raises:
        StoreUnavailable: the store is unavailable.
    """
    names = map(partition_name, partitions)
    values, _ = await store.read([CellAddress(table, name) for name in names for table in (TRIMMED, DECIDED)])
    bounds = map(RowBounds.unpack, values[::2], values[1::2])
    return dict(zip(partitions, bounds, strict=True))


def _bounds(snapshot: Snapshot, positions: Iterable[Position]) -> dict[Partition, RowBounds]:
    partitions = {position.partition for position in positions}
    return {each: RowBounds(snapshot.floor(each), snapshot.ceiling(each)) for each in partitions}


def block_addresses(snapshot: Snapshot, positions: Sequence[Position]) -> list[CellAddress]:
    """Return where rows of these positions may be, from a snapshot that has read their bounds.

    Where they are full, read those that continue them, see `continued_blocks`.
    """
    bounds = _bounds(snapshot, positions)
    return list(
        dict.fromkeys(
            block_address(position)
            for position in positions
            if bounds[position.partition].floor <= position.offset < bounds[position.partition].ceiling
        )
    )


def continued_blocks(snapshot: Snapshot, blocks: Iterable[CellAddress]) -> list[CellAddress]:
    """Return the blocks that continue those of these blocks that are full; all of them were read."""
    return [continued_block(address) for address in blocks if _is_full(snapshot.raw[address])]


def already_decided_in(snapshot: Snapshot, positions: Sequence[Position]) -> AlreadyDecided:
    """Return what a snapshot holds of positions whose bounds and blocks it has read."""
    bounds = _bounds(snapshot, positions)
    rows: dict[Position, Decided] = {}
    finished = set()
    blocks: dict[CellAddress, dict[int, Decided]] = {}
    for position in positions:
        floor, ceiling = bounds[position.partition]
        if position.offset < floor:
            finished.add(position)
        elif position.offset < ceiling:
            address = block_address(position)
            if address not in blocks:
                blocks[address] = _rows_of(snapshot, address)
            if row := blocks[address].get(position.offset):
                rows[position] = row
    return AlreadyDecided(rows, frozenset(finished), snapshot.aged_count)


def refuse_ended_epochs(snapshot: Snapshot, positions: Iterable[Position]) -> None:
    """Return if the epochs of these positions have not ended in a view that has read their bounds.

    Raises:
        EpochEnded: a topic is read in a later epoch.
    """
    for epoch in _epochs({position.partition for position in positions}):
        highest = snapshot.floor(epoch.partition)
        if highest > epoch.offset:
            raise EpochEnded(epoch.partition.input_id, highest, epoch.offset)


def _rows_of(snapshot: Snapshot, address: CellAddress) -> dict[int, Decided]:
    """Return the rows of a block and of those that continue it, by offset."""
    rows = _unpack_rows(snapshot.raw[address])
    for continued in continued_blocks(snapshot, [address]):
        rows |= _rows_of(snapshot, continued)
    return rows


def changeable(cells: Mapping[CellAddress, bytes | None]) -> dict[CellAddress, bytes | None]:
    """Return what was read without the blocks that are full: of those a commit has nothing to expect.

    They never change until they are trimmed, and the offsets show that.
    """
    return {
        address: value
        for address, value in cells.items()
        if value is None or len(value) < BLOCK_BYTES or not address.table.startswith(ROWS)
    }


def _is_full(block: bytes | None) -> bool:
    return block is not None and len(block) >= BLOCK_BYTES


def _unpack_rows(block: bytes | None) -> dict[int, Decided]:
    """Return the rows of a block, by offset."""
    rows: dict[int, Decided] = {}
    for part in unpack_parts(block or b""):
        try:
            packed = _decoder.decode(part.rows)
        except msgspec.DecodeError as error:
            raise CorruptData(
                f"the rows of a part of {len(part.rows)} bytes cannot be read: {error}"
            ) from error
        for offset, number, content in packed:
            rows[offset] = Decided(part.rank + number - 1 if number else 0, content)
    return rows


def decided_in_order(
    requests: Iterable[Request], already_decided: AlreadyDecided, decided: Mapping[Position, Decided]
) -> list[Decided]:
    """Return one outcome for each request: what was decided now, or before, or is finished."""
    finished = Decided(0, b"", is_finished=True)
    positions = [request.position for request in requests]
    return [decided.get(at) or already_decided.outcomes.get(at, finished) for at in positions]


async def all_rows(store: ClusterStore, partition: Partition) -> dict[Position, Decided]:
    """Return the rows of a partition that are not trimmed, in order.

    Raises:
        StoreUnavailable: the store is unavailable.
    """
    floor = (await read_bounds(store, [partition]))[partition].floor
    walked = await store.blocks(partition)
    blocks = dict(walked.values)
    while walked.cursor:
        walked = await store.blocks(partition, walked.cursor)
        blocks.update(walked.values)
    rows = {offset: row for block in blocks.values() for offset, row in _unpack_rows(block).items()}
    return {Position(partition, offset): row for offset, row in sorted(rows.items()) if offset >= floor}


async def trim_rows(store: ClusterStore, offsets: Mapping[Partition, int]) -> None:
    """Remove the rows below these offsets, and remember that they are gone.

    Raises:
        StoreUnavailable: trim again; what is left is only memory.
    Cost: for all partitions at once, one round trip for each block of one.
    """
    await gather_all(_trim_partition(store, partition, offset) for partition, offset in offsets.items())


async def _trim_partition(store: ClusterStore, partition: Partition, offset: int) -> None:
    cursor = await store.trim(partition, offset)
    while cursor:
        cursor = await store.trim(partition, offset, cursor)


def raised_ceilings(snapshot: Snapshot, positions: Sequence[Position]) -> dict[CellAddress, bytes | None]:
    """Return the upper bounds after rows were written at these positions."""
    ends = {partition: ceiling for partition, (_, ceiling) in _bounds(snapshot, positions).items()}
    for position in positions:
        ends[position.partition] = max(position.offset + 1, ends[position.partition])
    return {
        CellAddress(DECIDED, partition_name(partition)): pack_ceiling(end) for partition, end in ends.items()
    }


def lowest_offsets(positions: Iterable[Position]) -> dict[Partition, int]:
    """By partition, the lowest offset."""
    lowest: dict[Partition, int] = {}
    for position in positions:
        lowest[position.partition] = min(position.offset, lowest.get(position.partition, position.offset))
    return lowest


def decidable_epochs(positions: Iterable[Position]) -> dict[Partition, int]:
    """Return the epochs that may not have ended when these positions are decided; see `epochs_of`."""
    epochs = _epochs({position.partition for position in positions})
    return {epoch.partition: epoch.offset for epoch in epochs}


def _epochs(partitions: Iterable[Partition]) -> list[Position]:
    epochs = map(epochs_of, partitions)
    return [epoch for epoch in epochs if epoch is not None]


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[tuple[int, int, bytes]])
