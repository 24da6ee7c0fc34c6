"""Page records in the memory of one process: the simplest correct thing."""

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
        self._values: dict[Handle, bytes] = {}
        self._handles: defaultdict[int, dict[Handle, None]] = defaultdict(dict)
        self._floors: defaultdict[int, int] = defaultdict(int)
        self._dropped: set[Handle] = set()

    @property
    def slot_count(self) -> int:
        """See the contract."""
        return 1 << self._slot_bits

    def known_floor(self, handle: Handle) -> int:
        """See the contract."""
        return self._floors[self._slot(handle)]

    async def fetch(self, handles: Sequence[Handle]) -> list[bytes | None]:
        """See the contract."""
        return [self._values.get(handle) for handle in handles]

    async def replace(self, changes: Sequence[RecordChange]) -> list[RecordAnswer]:
        """See the contract."""
        return [self._replace(change) for change in changes]

    async def mark(self, marks: Sequence[RankWrite]) -> None:
        """See the contract."""
        for handle, version_byte, rank in marks:
            header = record_header(rank, version_byte)
            value = self._values.get(handle, b"")
            if value[len(header) - 1 : len(header)] == header[-1:]:
                self._values[handle] = header + value[len(header) :]

    async def drop(self, drops: Sequence[RecordDrop]) -> list[bool]:
        """See the contract."""
        return [self._drop(drop) for drop in drops]

    async def walk(self, slot: int, slot_limit: int) -> WalkedRecords:
        """See the contract: one slot at a time."""
        del slot_limit
        handles = self._handles.get(slot, {})
        records = [(handle, self._values[handle]) for handle in handles if handle in self._values]
        return WalkedRecords(records, slot + 1)

    def _replace(self, change: RecordChange) -> RecordAnswer:
        stored, floor = self._values.get(change.handle), self._floors[self._slot(change.handle)]
        was_dropped = change.handle in self._dropped
        is_known = (change.floor, change.was_dropped) == (floor, was_dropped)
        if stored == change.expected and (stored is not None or is_known):
            self._values[change.handle] = stored = change.new
            self._handles[self._slot(change.handle)][change.handle] = None
        return RecordAnswer(stored) if stored is not None else RecordAnswer(None, floor, was_dropped)

    def _drop(self, drop: RecordDrop) -> bool:
        slot = self._slot(drop.handle)
        if self._values.get(drop.handle) == drop.expected:
            self._values.pop(drop.handle, None)
            self._dropped.add(drop.handle)
            self._floors[slot] = max(self._floors[slot], drop.floor)
        return drop.handle not in self._values and self._floors[slot] >= drop.floor

    def _slot(self, handle: Handle) -> int:
        return handle >> (64 - self._slot_bits)
