"""Read the archives of a WACZ collection: a zip file with WARC files in a folder, or with such collections.

Sources: WACZ 1.1.1; Multi-WACZ 0.1.0, of which each collection is stored uncompressed.
"""

import io
import lzma
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from functools import partial
from typing import IO, TYPE_CHECKING

from backports import zstd

from neardup_stream.errors import CorruptData
from neardup_stream.streams.files.file_names import has_ending
from neardup_stream.streams.files.record_places import Members

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["COLLECTION_ENDING", "DAMAGE", "collection_chunks"]

COLLECTION_ENDING = ".wacz"

DAMAGE = (
    EOFError,
    OSError,
    zlib.error,
    zstd.ZstdError,
    zipfile.BadZipFile,
    RuntimeError,  # a zip file with a password, or with an unsupported compression
    lzma.LZMAError,
    UnicodeDecodeError,  # names in a zip file
    struct.error,  # a header that is cut off
    OverflowError,  # a place in a zip file
    CorruptData,
)
"""The exceptions for a damaged file, or one that ends too early."""

_LENGTHS, _LENGTHS_AT = struct.Struct("<HH"), 26
"""Bytes of the name and of the extra field, the last part of a local header of a zip file."""

_ARCHIVES = "archive/"


def collection_chunks(file: io.FileIO, members: Members, chunk_bytes: int) -> Iterator[bytes]:
    """Yield the archives of a collection, one after the other; those behind a damaged one too.

    Raises:
        CorruptData: the file or one of its archives is damaged, or it has none.
    """
    reading = _Reading(file, members, chunk_bytes)
    yield from reading.chunks(file, is_outer=True)
    if reading.damage:
        raise CorruptData(reading.damage)
    if not reading.archive_count:
        raise CorruptData(f"no collection: it has no files in {_ARCHIVES}, nor collections with some")


class _Reading:
    """The reading of one file, which says what it has found.

    Attributes:
        damage: the first; empty for none.
        archive_count: how many archives were found, damaged ones too.
    """

    def __init__(self, file: io.FileIO, members: Members, chunk_bytes: int) -> None:
        self._file = file
        self._members = members
        self._chunk_bytes = chunk_bytes
        self.damage = ""
        self.archive_count = 0

    def chunks(self, collection: IO[bytes], *, is_outer: bool) -> Iterator[bytes]:
        with zipfile.ZipFile(collection) as packed:
            for member in packed.infolist():
                try:
                    if member.filename.startswith(_ARCHIVES) and not member.is_dir():
                        self.archive_count += 1
                        yield from self._archive_chunks(packed, member)
                    elif is_outer and has_ending(member.filename, COLLECTION_ENDING):
                        inner = io.BufferedReader(_Stored(self._file, member))
                        yield from self.chunks(inner, is_outer=False)
                except (*DAMAGE, ValueError) as error:  # the latter of places that no file can have
                    self.damage = self.damage or f"{member.filename}: {error}"

    def _archive_chunks(self, packed: zipfile.ZipFile, member: zipfile.ZipInfo) -> Iterator[bytes]:
        with packed.open(member) as archive:
            if has_ending(member.filename, ".gz"):
                yield from self._members.decompressed(archive.read)
            elif has_ending(member.filename, ".zst") and member.file_size:  # an empty one has no frames
                yield from self._members.stored(partial(zstd.ZstdFile(archive).read1, self._chunk_bytes))
            else:
                yield from self._members.stored(partial(archive.read, self._chunk_bytes))


class _Stored(io.RawIOBase):
    """A file that is stored in a zip file as it is, in which a place is found without reading."""

    def __init__(self, file: io.FileIO, member: zipfile.ZipInfo) -> None:
        if member.compress_type != zipfile.ZIP_STORED:
            raise CorruptData("a collection within a collection has to be stored uncompressed")
        self._descriptor = file.fileno()
        name_bytes, extra_bytes = _LENGTHS.unpack(
            os.pread(self._descriptor, _LENGTHS.size, member.header_offset + _LENGTHS_AT)
        )
        self._start = member.header_offset + _LENGTHS_AT + _LENGTHS.size + name_bytes + extra_bytes
        self._size_bytes = member.file_size
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        self._at = max(0, offset + (0, self._at, self._size_bytes)[whence])
        return self._at

    def readinto(self, buffer: "Buffer", /) -> int:
        room = memoryview(buffer)[: max(0, self._size_bytes - self._at)]
        count = os.preadv(self._descriptor, [room], self._start + self._at)
        self._at += count
        return count
