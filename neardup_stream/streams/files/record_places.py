"""Know where records of an archive may begin, for a record whose content holds what looks like records."""

import os
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterator

from neardup_stream.streams.files.gzip_members import decompress_members
from neardup_stream.streams.files.warc_framing import is_record_end

__all__ = ["FilePlaces", "Members", "UnknownPlaces"]

_LOOK_BYTES = 1 << 12
_KNOWN_MEMBERS = 1 << 16
"""The latest members whose beginnings are remembered."""


class UnknownPlaces:
    """Those of a pipe, and of an archive that is compressed as a whole."""

    def ends_at(self, place: int) -> bool | None:  # noqa: ARG002 - of those that know
        """Return None."""
        return None

    def begins_at(self, place: int) -> bool:  # noqa: ARG002 - the same
        """Return that none is known."""
        return False


class FilePlaces(UnknownPlaces):
    """Those of an archive in a regular file that is not compressed.

    Args:
        descriptor: of the file, open.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def ends_at(self, place: int) -> bool | None:
        """Look there."""
        if os.pread(self._descriptor, len(_WARC), 0) != _WARC:
            return None
        is_within = place <= os.fstat(self._descriptor).st_size
        return is_within and is_record_end(os.pread(self._descriptor, _LOOK_BYTES, place))


class Members(UnknownPlaces):
    """Decompresses archives with a gzip member for each record: records begin where members do."""

    def __init__(self) -> None:
        self._place = 0
        self._starts: deque[int] = deque(maxlen=_KNOWN_MEMBERS)

    def decompressed(self, read: Callable[[int], bytes]) -> Iterator[bytes]:
        """Yield the content of an archive, which follows that of the one before; see `decompress_members`."""
        for piece in decompress_members(read, _begins_record, self._begin):
            self._place += len(piece)
            yield piece

    def stored(self, read: Callable[[], bytes]) -> Iterator[bytes]:
        """Yield the content of an archive that is not compressed, and has no members."""
        self._begin()
        while piece := read():
            self._place += len(piece)
            yield piece

    def begins_at(self, place: int) -> bool:
        """Return whether a member begins there, of those that were decompressed lately."""
        at = bisect_left(self._starts, place)
        return at < len(self._starts) and self._starts[at] == place

    def _begin(self) -> None:
        self._starts.append(self._place)


_WARC = b"WARC/"


def _begins_record(beginning: bytes) -> bool:
    return beginning.startswith(_WARC)
