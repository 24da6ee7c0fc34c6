"""Page records in memory that a test can look into, copy, lose and put back."""

from neardup_stream.page import Handle
from neardup_stream.stores.memory.records import MemoryRecords

__all__ = ["lose_record", "put_back_record", "stored_records"]


def stored_records(records: MemoryRecords) -> dict[Handle, bytes]:
    """Return a copy of all that is stored."""
    return {handle: packed for slot in records._slots.values() for handle, packed in slot.items()}


def lose_record(records: MemoryRecords, handle: Handle) -> None:
    """Remove a record; neither its floor nor its name stays."""
    records._slot_of(handle).pop(handle, None)


def put_back_record(records: MemoryRecords, handle: Handle, packed: bytes) -> None:
    """Make a record what it was."""
    records._slot_of(handle)[handle] = packed
