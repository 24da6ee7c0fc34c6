"""Limit how many buffered records one read returns."""

from collections import deque

from neardup_stream.message import Record

__all__ = ["take_records"]


def take_records(ready: deque[Record], max_records: int, max_bytes: int) -> list[Record]:
    """Return records from the front: at most so many, and so many bytes unless the first alone is larger."""
    taken: list[Record] = []
    room_bytes = max_bytes
    while ready and len(taken) < max_records:
        size_bytes = ready[0].size_bytes
        if size_bytes > room_bytes and taken:
            break
        room_bytes -= size_bytes
        taken.append(ready.popleft())
    return taken
