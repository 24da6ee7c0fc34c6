"""Implement the store of page records in the memory of one process: the simplest correct thing."""

from collections import defaultdict
from collections.abc import Sequence

from neardup_stream.page import Handle
from neardup_stream.stores.page_record import record_header
from neardup_stream.stores.protocol import RankWrite, RecordAnswer, RecordChange, RecordDrop, WalkedRecords

__all__ = ["MemoryRecords"]


class MemoryRecords:
    """A RecordStore in a dict.

    Args:
        slot_bits: log2 of the number of slots.
    """

    def __init__(self, slot_bits: int = 4) -> None:
        self._slot_bits = slot_bits
        self._slots: defaultdict[int, dict[Handle, bytes]] = defaultdict(dict)
        self._floors: defaultdict[int, int] = defaultdict(int)
        self._dropped: set[Handle] = set()

    @property
    def slot_count(self) -> int:
        """See the contract."""
        return 1 << self._slot_bits

    def known_floor(self, handle: Handle) -> int:
        """See the contract."""
        return self._floors[self._number_of(handle)]

    def value(self, handle: Handle) -> bytes | None:
        """Return the record of a page; None where it has none."""
        return self._slot_of(handle).get(handle)

    def put(self, handle: Handle, value: bytes) -> None:
        """Store a record, whatever is stored."""
        self._slot_of(handle)[handle] = value

    async def fetch(self, handles: Sequence[Handle]) -> list[bytes | None]:
        """See the contract."""
        return [self.value(handle) for handle in handles]

    async def replace(self, changes: Sequence[RecordChange]) -> list[RecordAnswer]:
        """See the contract."""
        return [self._replace(change) for change in changes]

    async def write_ranks(self, writes: Sequence[RankWrite]) -> None:
        """See the contract."""
        for write in writes:
            header, slot = record_header(write.rank, write.version_byte), self._slot_of(write.handle)
            value = slot.get(write.handle, b"")
            if value[len(header) - 1 : len(header)] == header[-1:]:
                slot[write.handle] = header + value[len(header) :]

    async def drop(self, drops: Sequence[RecordDrop]) -> list[bool]:
        """See the contract."""
        return [self._drop(drop) for drop in drops]

    async def walk(self, slot: int, slot_limit: int) -> WalkedRecords:
        """See the contract: one slot at a time."""
        del slot_limit
        return WalkedRecords(list(self._slots[slot].items()), slot + 1)

    def _replace(self, change: RecordChange) -> RecordAnswer:
        slot = self._slot_of(change.handle)
        stored, floor = slot.get(change.handle), self.known_floor(change.handle)
        was_dropped = change.handle in self._dropped
        is_known = (change.floor, change.was_dropped) == (floor, was_dropped)
        if stored == change.expected and (stored is not None or is_known):
            slot[change.handle] = stored = change.new
        return RecordAnswer(stored) if stored is not None else RecordAnswer(None, floor, was_dropped)

    def _drop(self, drop: RecordDrop) -> bool:
        slot, number = self._slot_of(drop.handle), self._number_of(drop.handle)
        if slot.get(drop.handle) == drop.expected:
            slot.pop(drop.handle, None)
            self._floors[number] = max(self._floors[number], drop.floor)
        is_gone = drop.handle not in slot and self._floors[number] >= drop.floor
        if is_gone:
            self._dropped.add(drop.handle)
        return is_gone

    def _slot_of(self, handle: Handle) -> dict[Handle, bytes]:
        return self._slots[self._number_of(handle)]

    def _number_of(self, handle: Handle) -> int:
        return handle >> (64 - self._slot_bits)
