"""Implement the store of clusters in the memory of one process: the simplest correct thing."""

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice

from neardup_stream.message import Partition
from neardup_stream.page import Handle
from neardup_stream.stores.aged_parts import unpack_parts
from neardup_stream.stores.cluster_cells import page_address, unpack_ceiling
from neardup_stream.stores.cluster_store import (
    ABSORBED,
    AGED,
    AHEAD_SECONDS,
    BLOCK_BYTES,
    BLOCK_OFFSETS,
    CLUSTERS,
    COUNT_BYTES,
    DECIDED,
    PROVISIONAL_RANK,
    RANK_BYTES,
    SWEPT,
    TRIMMED,
    Aged,
    CellAddress,
    Member,
    MemberRange,
    Transaction,
    WalkedBlocks,
    WalkedClusters,
    block_number,
    continued_block,
    partition_name,
    rows_table,
)
from neardup_stream.stores.ranks_went_back import RanksWentBack

__all__ = ["MemoryClusters"]

_COUNT_END = RANK_BYTES + COUNT_BYTES
_ABSORBED_AT_ONCE = 2
_PROVISIONAL_BYTE = PROVISIONAL_RANK.to_bytes(RANK_BYTES, "big")[0]
"""The first byte of every provisional rank is no smaller, that of all others is."""


class MemoryClusters:
    """A ClusterStore in dicts.

    Args:
        now_seconds: the store's clock.
    """

    slot_count = 1

    def __init__(self, now_seconds: Callable[[], float] = lambda: 0.0) -> None:
        self._now_seconds = now_seconds
        self._tables: dict[str, dict[bytes, bytes]] = {}
        self._members: dict[bytes, list[tuple[int, Handle, int]]] = {}
        self._turn, self._turn_ends = b"", 0.0
        self._last_rank = 0
        self._aging: deque[tuple[float, tuple[Aged, ...]]] = deque()

    def reserve_ranks(self, count: int) -> range:
        """Return the next ranks, which no commit gives to a page any more."""
        first = self._last_rank + 1
        self._last_rank += count
        return range(first, first + count)

    async def read(
        self, addresses: Sequence[CellAddress], ranges: Sequence[MemberRange] = ()
    ) -> tuple[list[bytes | None], list[list[Member]]]:
        """See the contract."""
        values = [self._value(address) for address in addresses]
        return values, [
            [Member(key, *member) for member in self._range(key, limit, after)]
            for key, limit, after in ranges
        ]

    async def commit(self, transaction: Transaction) -> int | None:
        """See the contract."""
        if not self._holds(transaction):
            return None
        base = self._take_ranks(transaction)
        self._turn = b""
        for address, value in transaction.writes.items():
            self._write(address, value and (_ranked(value, base) if value[0] >= _PROVISIONAL_BYTE else value))
        for address, value in transaction.new:
            self._write(address, _ranked(value, base))
        for address, part in transaction.appended:
            self._append(address, _ranked(part, base))
        for address, (_, added) in transaction.counted.items():
            stored = self._value(address) or b""
            count = int.from_bytes(stored[RANK_BYTES:_COUNT_END], "big") + added
            self._write(
                address, stored[:RANK_BYTES] + count.to_bytes(COUNT_BYTES, "big") + stored[_COUNT_END:]
            )
        for gone in transaction.left:
            members = self._members.get(gone.cluster, [])
            if (place := bisect_left(members, gone[1:])) < len(members) and members[place] == gone[1:]:
                del members[place]
        for key, rank, handle, founded in transaction.joined:
            members = self._members.setdefault(key, [])
            member = (_final(rank, base), handle, founded)
            if (place := bisect_left(members, member)) == len(members) or members[place] != member:
                members.insert(place, member)
        return base

    async def take_turn(self, token: bytes, seconds: float) -> bool:
        """See the contract."""
        now = self._now_seconds()
        if not self._turn or not now < self._turn_ends <= now + seconds:
            self._turn, self._turn_ends = token, now + seconds
        return self._turn == token

    async def absorbed(self) -> list[bytes]:
        """See the contract."""
        return list(self._tables.get(ABSORBED, {}))[:_ABSORBED_AT_ONCE]

    async def partitions(self) -> list[bytes]:
        """See the contract."""
        return list(self._tables.get(DECIDED, {}))

    async def blocks(self, partition: Partition, cursor: int = 0) -> WalkedBlocks:
        """See the contract."""
        stored = self._tables.get(rows_table(partition), {})
        values = dict(islice(stored.items(), cursor, cursor + 1))
        return WalkedBlocks(values, cursor + 1 if cursor + 1 < len(stored) else 0)

    async def age(self, cells: Sequence[Aged]) -> None:
        """See the contract."""
        self._age([(cell,) for cell in cells])

    async def trim(
        self,
        partition: Partition,
        offset: int,
        cursor: int = 0,
        expected: Mapping[CellAddress, bytes] | None = None,
    ) -> int | None:
        """See the contract."""
        del cursor  # what was seen is gone
        if any(self._value(address) != value for address, value in (expected or {}).items()):
            return None
        floor = CellAddress(TRIMMED, partition_name(partition))
        self._write(floor, b"%d" % max(self._count(floor), offset))
        ceiling = unpack_ceiling(self._value(CellAddress(DECIDED, floor.field)))
        blocks = self._tables.get(rows_table(partition), {})
        end = None if offset >= ceiling else offset // BLOCK_OFFSETS
        below = list(islice((field for field in blocks if end is None or block_number(field) < end), 2))
        for field in below[:1]:
            self._age(_aged(blocks.pop(field)))
        return int(len(below) > 1)

    async def due(self, tombstone_ttl_seconds: float, limit: int) -> list[Aged]:
        """See the contract."""
        now = self._now_seconds()
        due: list[Aged] = []
        for since, group in self._aging:
            is_young = now - tombstone_ttl_seconds < since <= now + AHEAD_SECONDS
            if is_young or (due and len(due) + len(group) > limit):
                break
            due += group
        return due

    async def sweep(self, due: Sequence[Aged]) -> None:
        """See the contract."""
        first = 0
        while self._aging and first < len(due):
            group = self._aging[0][1]
            if tuple(due[first : first + len(group)]) != group:
                return
            self._aging.popleft()
            self._write(SWEPT, b"%d" % (self._count(SWEPT) + 1))
            self._remove_free(group)
            first += len(group)

    async def walk(self, slot: int) -> WalkedClusters:
        """See the contract."""
        return WalkedClusters(list(self._tables.get(CLUSTERS, {}).items()), slot + 1)

    def _remove_free(self, group: Iterable[Aged]) -> None:
        for aged in group:
            address = page_address(aged.handle)
            value = self._value(address)
            if (
                value
                and value[:RANK_BYTES] == aged.rank.to_bytes(RANK_BYTES, "big")
                and value[RANK_BYTES] < 2
            ):
                self._write(address, None)

    def _range(self, key: bytes, limit: int, after: Member | None) -> list[tuple[int, Handle, int]]:
        members = self._members.get(key, [])
        first = 0 if after is None else bisect_right(members, after[1:])
        return members[first : first + limit]

    def _age(self, groups: Iterable[tuple[Aged, ...]]) -> None:
        now = self._now_seconds()
        self._aging.extend((now, group) for group in groups)
        self._write(AGED, b"%d" % (self._count(SWEPT) + len(self._aging)))

    def _take_ranks(self, transaction: Transaction) -> int:
        base = self._last_rank
        if base < transaction.known_ranks:
            raise RanksWentBack(base)
        self._last_rank += transaction.rank_count
        return base

    def _holds(self, transaction: Transaction) -> bool:
        limits = {
            CellAddress(TRIMMED, partition_name(partition)): offset
            for partition, offset in transaction.floors.items()
        }
        if transaction.aged_count is not None:
            limits[SWEPT] = transaction.aged_count
        is_our_turn = self._turn in {b"", transaction.turn} or self._turn_ends <= self._now_seconds()
        tables, nothing = self._tables, dict[bytes, bytes]()
        return (
            is_our_turn
            and all(self._count(address) <= limit for address, limit in limits.items())
            and all(
                tables.get(address.table, nothing).get(address.field) == value
                for address, value in transaction.expected.items()
            )
            and all(
                tables.get(address.table, nothing).get(address.field) is None
                for address, _ in transaction.new
            )
            and all(
                (self._value(address) or b"").startswith(head) for address, head in transaction.begins.items()
            )
            and all(
                _uncounted(self._value(address) or b"") == _uncounted(value)
                for address, (value, _) in transaction.counted.items()
            )
        )

    def _count(self, address: CellAddress) -> int:
        return int(self._value(address) or 0)

    def _value(self, address: CellAddress) -> bytes | None:
        return self._tables.get(address.table, {}).get(address.field)

    def _append(self, address: CellAddress, part: bytes) -> None:
        """Append to a block, or where that is full to the one that continues it."""
        while len(stored := self._value(address) or b"") >= BLOCK_BYTES:
            address = continued_block(address)
        self._write(address, stored + part)

    def _write(self, address: CellAddress, value: bytes | None) -> None:
        table = self._tables.setdefault(address.table, {})
        if value is None:
            table.pop(address.field, None)
        else:
            table[address.field] = value


def _aged(block: bytes) -> Iterator[tuple[Aged, ...]]:
    """Yield the page cells that begin to age with a block, those of each part together."""
    for part in unpack_parts(block):
        if part.pages:
            yield tuple(Aged(part.rank + step, handle, content) for step, handle, content in part.pages)


def _uncounted(value: bytes) -> tuple[bytes, bytes]:
    """Return a cluster cell without its count."""
    return value[:RANK_BYTES], value[_COUNT_END:]


def _final(rank: int, base: int) -> int:
    return rank - PROVISIONAL_RANK + base if rank >= PROVISIONAL_RANK else rank


def _ranked(value: bytes, base: int) -> bytes:
    rank = _final(int.from_bytes(value[:RANK_BYTES], "big"), base)
    return rank.to_bytes(RANK_BYTES, "big") + value[RANK_BYTES:]
