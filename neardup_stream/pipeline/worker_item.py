"""The item that a worker process works on, in memory that the daemon reads when the process has ended."""

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

__all__ = ["WorkerItem", "open_item_memory"]

_ITEM_BYTES: Final = 4


@contextmanager
def open_item_memory() -> Iterator[int]:
    """Open memory for a `WorkerItem`, as a descriptor for a process that is started in the block."""
    descriptor = os.memfd_create("worker-item")
    try:
        os.ftruncate(descriptor, mmap.PAGESIZE)
        yield descriptor
    finally:
        os.close(descriptor)


class WorkerItem:
    """Holds the place of an item among those of a request, or None; two processes share it.

    Args:
        descriptor: of the memory; may be closed afterwards.
    """

    def __init__(self, descriptor: int) -> None:
        self._memory = mmap.mmap(descriptor, mmap.PAGESIZE)

    def write(self, item: int | None) -> None:
        """Note the item."""
        number = 0 if item is None else item + 1
        self._memory[:_ITEM_BYTES] = number.to_bytes(_ITEM_BYTES, "big")

    def read(self) -> int | None:
        """Return the item that either process noted last; None at first."""
        number = int.from_bytes(self._memory[:_ITEM_BYTES], "big")
        return number - 1 if number else None
