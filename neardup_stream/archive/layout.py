"""Encode and decode the header of an archive file, which lists its sections. Pure."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup_stream.archive.kernels import load_archive_kernel
from neardup_stream.archive.units import PAGE_BYTES
from neardup_stream.errors import ConfigError, CorruptData

__all__ = [
    "CHECKS",
    "FORMAT_VERSION",
    "MAGIC",
    "MAX_FILE_BYTES",
    "MAX_PAGES",
    "MAX_SECTIONS",
    "TAIL_BYTES",
    "Header",
    "Section",
    "checksums",
    "padded",
]

MAGIC = b"\x89NDARCH\n"
FORMAT_VERSION = 1
MAX_SECTIONS = 60
MAX_PAGES = (1 << 32) - 2
MAX_FILE_BYTES = 1 << 48

TAIL_BYTES = 8
"""Of padding behind every section at least: compiled code reads packed items in words of 8 bytes."""

CHECKS = "checks"
"""The name of the last section, which holds the checksums of all pages before it."""

_FIXED = struct.Struct("<8sHHIQQQQ16s16s")
_SECTION = struct.Struct("<16sQQQII16s")
_CHECKSUM = struct.Struct("<Q")
_CHECKED_BYTES = PAGE_BYTES - _CHECKSUM.size
_ID_BYTES = 16
_ROWS_ID_START = _CHECKED_BYTES - _ID_BYTES
_NO_ID = bytes(_ID_BYTES)


class Section(NamedTuple):
    """One section's entry in the header.

    Attributes:
        name: ASCII, at most 16 bytes.
        offset: of its first byte in the file, a multiple of PAGE_BYTES.
        size_bytes: without the padding.
        item_count: what its items are depends on the section.
        item_bits: width of an item; 0 where items differ in width.
        flags: 0 so far.
        digest: BLAKE2b of its bytes, 16 bytes.
    """

    name: str
    offset: int
    size_bytes: int
    item_count: int
    item_bits: int
    flags: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class Header:
    """What the first 4,096 bytes say.

    Attributes:
        file_bytes: size of the whole file.
        page_count: pages in the document log.
        created_ms: latest `fetched_at` of a page that a rewrite has not left out, epoch milliseconds; 0
            without such pages.
        seed: of the keys.
        archive_id: 16 bytes, BLAKE2b of the sections' digests.
        schema_id: 16 bytes, see the section `facts`.
        sections: in the order of their offsets.
        rewritten_from: rows id of the archive that this one was rewritten from; zeros where it was not.
    """

    file_bytes: int
    page_count: int
    created_ms: int
    seed: int
    archive_id: bytes
    schema_id: bytes
    sections: tuple[Section, ...]
    rewritten_from: bytes = _NO_ID

    @property
    def rows_id(self) -> bytes:
        """Return the same for archives whose rows have the same numbers, so that forgets of one hold for all.

        It is the id of the archive that was frozen, and of those that were rewritten from it.
        """
        return self.archive_id if self.rewritten_from == _NO_ID else self.rewritten_from

    @property
    def by_name(self) -> Mapping[str, Section]:
        """Return the sections by their names."""
        return {section.name: section for section in self.sections}

    def pack(self) -> bytes:
        """Return the first PAGE_BYTES bytes of the file."""
        fixed = _FIXED.pack(
            MAGIC,
            FORMAT_VERSION,
            0,
            len(self.sections),
            self.file_bytes,
            self.page_count,
            self.created_ms,
            self.seed,
            self.archive_id,
            self.schema_id,
        )
        entries = b"".join(
            _SECTION.pack(section.name.encode("ascii"), *section[1:]) for section in self.sections
        )
        checked = (fixed + entries).ljust(_ROWS_ID_START, b"\0") + self.rewritten_from
        return checked + _CHECKSUM.pack(_header_checksum(checked))

    @staticmethod
    def unpack(page: bytes, name: str, file_bytes: int) -> "Header":
        """Read what `pack` wrote.

        Args:
            page: the first PAGE_BYTES bytes of the file, fewer if it is shorter.
            name: of the file, for messages.
            file_bytes: its size.

        Raises:
            ConfigError: it is no archive, or one of another version of the format.
            CorruptData: it is one, but damaged or cut off.
        """
        if page[: len(MAGIC)] != MAGIC[: len(page)]:
            raise ConfigError(f"{name} is no archive: it does not begin as one; 'freeze' makes archives")
        if len(page) < PAGE_BYTES:
            raise CorruptData(f"{name} is cut off: {file_bytes} bytes are less than a header")
        _, version, _, count, size, pages, created_ms, seed, archive_id, schema_id = _FIXED.unpack_from(page)
        if version != FORMAT_VERSION:
            raise ConfigError(
                f"{name} is an archive of format {version}; this program reads {FORMAT_VERSION}"
            )
        (stored,) = _CHECKSUM.unpack_from(page, _CHECKED_BYTES)
        if stored != _header_checksum(page[:_CHECKED_BYTES]) or count > MAX_SECTIONS:
            raise CorruptData(f"{name} is damaged: its header does not have the checksum that it states")
        sections = tuple(
            _section(_SECTION.unpack_from(page, _FIXED.size + i * _SECTION.size)) for i in range(count)
        )
        rewritten_from = page[_ROWS_ID_START:_CHECKED_BYTES]
        header = Header(size, pages, created_ms, seed, archive_id, schema_id, sections, rewritten_from)
        if header.file_bytes != file_bytes:
            raise CorruptData(
                f"{name} is cut off or has grown: {file_bytes} bytes, its header says {header.file_bytes}"
            )
        return header


def padded(size_bytes: int) -> int:
    """Return the next multiple of PAGE_BYTES."""
    return -(-size_bytes // PAGE_BYTES) * PAGE_BYTES


def checksums(pages: bytes, number: int) -> NDArray[np.uint32]:
    """Return one checksum for each PAGE_BYTES bytes; `number` is that of the first page in its file.

    Cost: 0.3 µs a page.
    """
    words = np.frombuffer(pages, "<u8")
    sums = np.empty(len(pages) // PAGE_BYTES, np.uint32)
    load_archive_kernel().checksum_pages(words, number, sums)
    return sums


def _section(fields: Sequence[object]) -> Section:
    name, *rest = fields
    assert isinstance(name, bytes)  # noqa: S101 - as the struct says
    return Section(name.rstrip(b"\0").decode("ascii", "replace"), *rest)  # type: ignore[arg-type]


def _header_checksum(checked: bytes) -> int:
    """64 bits: the checksums of the header, 0 in the place of this one, as page 0 and as page 2**32."""
    page = checked + bytes(_CHECKSUM.size)
    low, high = checksums(page, 0)[0], checksums(page, 1 << 32)[0]
    return int(high) << 32 | int(low)
