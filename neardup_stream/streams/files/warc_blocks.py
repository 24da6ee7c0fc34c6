"""The block of a WARC record, and the records that may begin in it."""

import re
from collections.abc import Iterator

__all__ = ["BEGINNING", "FIRST_HEADER", "LONGEST_VERSION_BYTES", "VERSION", "Block", "next_version"]

BEGINNING = b"WARC/"
"""Of every record."""

VERSION = re.compile(rb"WARC/[0-9]+\.[0-9]+[ \t]*\r?\n")
"""The line that a record begins with."""

LONGEST_VERSION_BYTES = 32
FIRST_HEADER = b"warc-"

_NEXT_RECORD = re.compile(rb"\n\r?\n(WARC/[0-9]+\.[0-9]+[ \t]*\r?\nWARC-)", re.IGNORECASE)


def next_version(data: bytes, at: int = 0, *, within_lines: bool = True) -> int | None:
    """Return where the next version line begins.

    Args:
        data: to be searched.
        at: from there on.
        within_lines: also within a line, behind a record that was cut off there, if a header of WARC follows.
    """
    for found in VERSION.finditer(data, at):
        start, end = found.span()
        is_line = start > 0 and data[start - 1 : start] == b"\n"
        if is_line or (within_lines and data[end : end + len(FIRST_HEADER)].lower() == FIRST_HEADER):
            return start
    return None


class Block:
    """The bytes of one block, or the beginning of a long one; `is_cut` if it does not end there.

    It began at `start` of `buffer`, and reading returns there if the buffer is still the same.
    """

    def __init__(self, sought_bytes: int, kept_bytes: int, *, ends_at_version: bool) -> None:
        self._sought: list[bytes] = []
        self._rest: list[bytes] = []
        self._sought_room_bytes = sought_bytes
        self._rest_room_bytes = kept_bytes - sought_bytes
        self._ends_at_version = ends_at_version
        self.is_cut = False
        self.buffer = b""
        self.start = 0

    def add(self, piece: bytes) -> bool:
        """Keep a piece while there is room; return whether it is the last one that is searched."""
        if self._sought_room_bytes <= 0:
            if self._rest_room_bytes > 0:
                self._rest.append(piece)
                self._rest_room_bytes -= len(piece)
            return False
        self._sought.append(piece)
        self._sought_room_bytes -= len(piece)
        if self._ends_at_version:
            self.is_cut = next_version(piece) is not None
        return self._sought_room_bytes <= 0

    def first(self, size_bytes: int) -> bytes:
        """Return its beginning."""
        return b"".join(self._sought + self._rest)[:size_bytes]

    def sought(self) -> bytes:
        """Return what is searched."""
        return b"".join(self._sought)

    def records(self) -> Iterator[int]:
        """Yield where records begin in it."""
        return (found.start(1) for found in _NEXT_RECORD.finditer(self.sought()))

    def holds_version(self) -> bool:
        """Return whether a record may begin in it."""
        return next_version(self.sought()) is not None
