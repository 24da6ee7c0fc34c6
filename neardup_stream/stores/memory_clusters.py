"""The reference store of clusters: the simplest correct thing, for tests."""

from bisect import insort
from collections import deque
from collections.abc import Callable, Mapping, Sequence

from neardup_stream.message import Partition
from neardup_stream.page import Handle
from neardup_stream.stores.cluster_store import (
    CLUSTERS,
    PAGES,
    PROVISIONAL_RANK,
    RANK_BYTES,
    TRIMMED,
    Aged,
    Cell,
    Member,
    MemberRange,
    Transaction,
    partition_name,
    rows_table,
)

__all__ = ["MemoryClusters"]

_HANDLE_END = RANK_BYTES + 8


class MemoryClusters:
    """A ClusterStore in dicts.

    Args:
        now_seconds: the store's clock.
    """

    slot_count = 1

    def __init__(self, now_seconds: Callable[[], float] = lambda: 0.0) -> None:
        self._now_seconds = now_seconds
        self._tables: dict[str, dict[bytes, bytes]] = {}
        self._members: dict[bytes, list[tuple[int, Handle]]] = {}
        self._last_rank = 0
        self._aging: deque[tuple[float, Aged]] = deque()

    async def read(
        self, cells: Sequence[Cell], ranges: Sequence[MemberRange] = ()
    ) -> tuple[list[bytes | None], list[list[Member]]]:
        """See the contract."""
        values = [self._value(cell) for cell in cells]
        return values, [
            [Member(key, *member) for member in self._members.get(key, [])[:limit]] for key, limit in ranges
        ]

    async def commit(self, transaction: Transaction) -> int | None:
        """See the contract."""
        if not self._holds(transaction):
            return None
        base = self._last_rank
        self._last_rank += transaction.rank_count
        for cell, value in transaction.writes.items():
            self._write(cell, value and _ranked(value, base))
        for key, rank, handle in transaction.left:
            if (members := self._members.get(key)) and (rank, handle) in members:
                members.remove((rank, handle))
        for key, rank, handle in transaction.joined:
            insort(self._members.setdefault(key, []), (_final(rank, base), handle))
        self._aging.extend((self._now_seconds(), aged) for aged in transaction.aging)
        return base

    async def trim(
        self, offsets: Mapping[Partition, int], grave_seconds: float, due_limit: int
    ) -> list[Aged]:
        """See the contract."""
        now = self._now_seconds()
        for partition, offset in offsets.items():
            self._trim(partition, offset, now)
        return [aged for since, aged in self._aging if since + grave_seconds <= now][:due_limit]

    async def sweep(self, due: Sequence[Aged]) -> None:
        """See the contract."""
        for aged in due:
            if not self._aging or self._aging[0][1] != aged:
                return
            self._aging.popleft()
            cell = Cell(PAGES, aged.handle.to_bytes(8, "big"))
            value = self._value(cell)
            if (
                value
                and value[:RANK_BYTES] == aged.rank.to_bytes(RANK_BYTES, "big")
                and value[RANK_BYTES] < 2
            ):
                self._write(cell, None)

    async def walk(self, slot: int) -> list[tuple[bytes, bytes]]:
        """See the contract."""
        return list(self._tables.get(CLUSTERS, {}).items()) if slot == 0 else []

    def _trim(self, partition: Partition, offset: int, now: float) -> None:
        name = partition_name(partition)
        floor = int(self._value(Cell(TRIMMED, name)) or 0)
        self._write(Cell(TRIMMED, name), b"%d" % max(floor, offset))
        rows = self._tables.get(rows_table(partition), {})
        for field in sorted((field for field in rows if int(field) < offset), key=int):
            row = rows.pop(field)
            if rank := int.from_bytes(row[:RANK_BYTES], "big"):
                handle = Handle(int.from_bytes(row[RANK_BYTES:_HANDLE_END], "big"))
                self._aging.append((now, Aged(rank, handle)))

    def _holds(self, transaction: Transaction) -> bool:
        return all(
            int(self._value(Cell(TRIMMED, partition_name(partition))) or 0) <= offset
            for partition, offset in transaction.floors.items()
        ) and all(self._value(cell) == value for cell, value in transaction.expected.items())

    def _value(self, cell: Cell) -> bytes | None:
        return self._tables.get(cell.table, {}).get(cell.field)

    def _write(self, cell: Cell, value: bytes | None) -> None:
        table = self._tables.setdefault(cell.table, {})
        if value is None:
            table.pop(cell.field, None)
        else:
            table[cell.field] = value


def _final(rank: int, base: int) -> int:
    return rank - PROVISIONAL_RANK + base if rank >= PROVISIONAL_RANK else rank


def _ranked(value: bytes, base: int) -> bytes:
    rank = _final(int.from_bytes(value[:RANK_BYTES], "big"), base)
    return rank.to_bytes(RANK_BYTES, "big") + value[RANK_BYTES:]
