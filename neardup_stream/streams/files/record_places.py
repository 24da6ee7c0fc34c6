"""Know where records of an archive may begin, for a record whose content holds what looks like records."""

import os
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator

from neardup_stream.streams.files.gzip_members import decompress_members
from neardup_stream.streams.files.warc_blocks import BEGINNING
from neardup_stream.streams.files.warc_framing import is_record_end

__all__ = ["FilePlaces", "Members", "UnknownPlaces"]

_LOOK_BYTES = 1 << 12


class UnknownPlaces:
    """Those of a pipe, and of an archive that is compressed as a whole."""

    def begin(self, place: int) -> None:
        """Note nothing."""

    def ends_at(self, place: int) -> bool | None:  # noqa: ARG002 - of those that know
        """Return None."""
        return None

    def may_divide(self, places: Iterable[int]) -> bool:  # noqa: ARG002 - the same
        """Return True."""
        return True


class FilePlaces(UnknownPlaces):
    """Those of an archive in a regular file that is not compressed.

    Args:
        descriptor: of the file, open.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def ends_at(self, place: int) -> bool | None:
        """Look there."""
        if os.pread(self._descriptor, len(BEGINNING), 0) != BEGINNING:
            return None
        is_within = place <= os.fstat(self._descriptor).st_size
        return is_within and is_record_end(os.pread(self._descriptor, _LOOK_BYTES, place))


class Members(UnknownPlaces):
    """Decompresses archives that may have a gzip member for each record: then records begin where members do.

    That an archive is one of these shows the record before, if it was a whole member.
    """

    def __init__(self) -> None:
        self._place = 0
        self._starts: list[int] = []  # of members behind the beginning of the record
        self._is_at_start = self._is_one_each = False

    def decompressed(self, read: Callable[[int], bytes]) -> Iterator[bytes]:
        """Yield the content of an archive, which follows that of the one before; see `decompress_members`."""
        for piece in decompress_members(read, _begins_record, self._begin_member):
            self._place += len(piece)
            yield piece

    def stored(self, read: Callable[[], bytes]) -> Iterator[bytes]:
        """Yield the content of an archive that has no members of gzip."""
        while piece := read():
            self._place += len(piece)
            yield piece

    def begin(self, place: int) -> None:
        """Note a record."""
        was_at_start, at = self._is_at_start, bisect_left(self._starts, place)
        self._is_at_start = self._starts[at : at + 1] == [place]
        self._is_one_each = was_at_start and self._is_at_start
        del self._starts[: at + self._is_at_start]

    def may_divide(self, places: Iterable[int]) -> bool:
        """Return whether a member begins at one of them, or records need not begin with members."""
        return not self._is_one_each or not set(self._starts).isdisjoint(places)

    def _begin_member(self) -> None:
        self._starts.append(self._place)


def _begins_record(beginning: bytes) -> bool:
    return beginning.startswith(BEGINNING)
