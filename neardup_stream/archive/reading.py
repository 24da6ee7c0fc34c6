"""Read archive files: mapped into memory, with every 4 KiB page verified before its first use."""

import os
from hashlib import blake2b
from mmap import ACCESS_READ, mmap
from pathlib import Path
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from neardup_stream.archive.kernels import load_archive_kernel
from neardup_stream.archive.layout import CHECKS, MAX_PAGES, TAIL_BYTES, Header, Section, padded
from neardup_stream.archive.units import PAGE_BYTES
from neardup_stream.bits.packed import MAX_PACKED_BITS
from neardup_stream.errors import ConfigError, CorruptData

__all__ = ["ArchiveFile"]

_CHECK_AT_ONCE_BYTES = 1 << 24
_CHECKSUM_BITS = 32


class ArchiveFile:
    """One archive file, mapped read-only. What it returns was checked, or it raises.

    The mapping stays valid when the file is replaced or removed; a process that overwrites the file in place
    kills its readers (SIGBUS), so no process may do it.

    Args:
        path: of the file.

    Attributes:
        path: of the file.
        header: what it holds.
        words: the whole file as words of 8 bytes.
        data: the whole file as bytes.
        checks: the checksum of each page.
        seen: 1 for each page that was checked; compiled code reads and writes it.

    Raises:
        ConfigError: there is no such file, or it is no archive.
        CorruptData: it is damaged or cut off.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._kernel: ModuleType = load_archive_kernel()
        mapped, self.header = _mapped(path)
        self.data = np.frombuffer(mapped, np.uint8)
        self.words = self.data[: self.data.size // 8 * 8].view("<u8")
        self.seen = np.zeros(self.data.size // PAGE_BYTES, np.uint8)
        self.seen[0] = 1  # the header has a checksum of its own
        self.sections = self.header.by_name
        self.checks = self._read_checks()

    def require(self, name: str) -> Section:
        """Return the entry of a section.

        Raises:
            CorruptData: there is none.
        """
        if name not in self.sections:
            raise CorruptData(f"{self.path} has no section {name!r}, which every archive of its kind has")
        return self.sections[name]

    def section(self, name: str) -> NDArray[np.uint8]:
        """Return all bytes of a section, checked; none for one that is not there.

        Raises:
            CorruptData: a page of it is damaged.
        """
        section = self.sections.get(name)
        return self.bytes_of(section, 0, section.size_bytes) if section else np.empty(0, np.uint8)

    def bytes_of(self, section: Section, start: int, end: int) -> NDArray[np.uint8]:
        """Return some bytes of a section, checked.

        Raises:
            CorruptData: a page of them is damaged, or they end behind the section.
        """
        if not 0 <= start <= end <= section.size_bytes:
            raise CorruptData(f"{self.path}: bytes {start} to {end} are not in section {section.name!r}")
        first, last = section.offset + start, section.offset + end
        self.require_sound(self._kernel.check_pages(self.words, self.checks, self.seen, first, last))
        return self.data[first:last]

    def rows_of(self, section: Section, rows: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return the items of a section whose items are whole bytes, checked, uint8[rows, bytes of an item].

        Raises:
            CorruptData: a page of them is damaged, or there is no such item.
        """
        self.touch(section, rows)
        size = section.item_bits // 8
        begin = section.offset
        table = self.data[begin : begin + section.item_count * size].reshape(section.item_count, size)
        return table[rows]

    def touch(self, section: Section, rows: NDArray[np.int64]) -> None:
        """Check the pages that hold these items of a section.

        Raises:
            CorruptData: one of them is damaged, or there is no such item.
        """
        if rows.size and not 0 <= rows.min() <= rows.max() < section.item_count:
            raise CorruptData(f"{self.path}: section {section.name!r} has no item {rows.max()}")
        self.require_sound(
            self._kernel.touch_rows(
                self.words, self.checks, self.seen, section.offset, section.item_bits, rows
            )
        )

    def require_sound(self, damaged_page: int) -> None:
        """Raise for the page that compiled code found damaged.

        Raises:
            CorruptData: there is one.
        """
        if damaged_page == self._kernel.SOUND:
            return
        at = damaged_page * PAGE_BYTES
        name = next(
            (each.name for each in self.header.sections if each.offset <= at < each.offset + each.size_bytes),
            "padding",
        )
        raise CorruptData(
            f"{self.path} is damaged in section {name!r}, in the 4 KiB at byte {at}:"
            " restore it from a copy, or freeze it again"
        )

    def check_all(self) -> None:
        """Read the whole file and check everything in it, what was checked before too.

        Raises:
            CorruptData: something is damaged.

        Cost: 1 s a GB.
        """
        last = self.sections[CHECKS]
        self.seen[1:] = 0
        pages_end = last.offset
        for start in range(PAGE_BYTES, pages_end, _CHECK_AT_ONCE_BYTES):
            end = min(start + _CHECK_AT_ONCE_BYTES, pages_end)
            self.require_sound(self._kernel.check_pages(self.words, self.checks, self.seen, start, end))
        for section in self.header.sections:
            self._check_digest(section)

    def _check_digest(self, section: Section) -> None:
        end = section.offset + section.size_bytes
        digest = blake2b(self.data[section.offset : end].data, digest_size=len(section.digest)).digest()
        padding = self.data[end : section.offset + padded(section.size_bytes)]
        if digest != section.digest or padding.any():
            raise CorruptData(f"{self.path} is damaged in section {section.name!r}: its digest differs")

    def _read_checks(self) -> NDArray[np.uint32]:
        section = self.require(CHECKS)
        others = [each for each in self.header.sections if each is not section]
        is_sound = (
            section.offset == section.item_count * PAGE_BYTES
            and section.size_bytes == 4 * section.item_count
            and section.item_bits == _CHECKSUM_BITS
            and _room(section) <= self.data.size
            and self.data.size % PAGE_BYTES == 0
            and all(_is_possible(each) and _room(each) <= section.offset for each in others)
            and self.header.page_count <= MAX_PAGES
        )
        if not is_sound:
            raise CorruptData(f"{self.path} is damaged: its header names sections that are not possible")
        return self.data[section.offset : section.offset + section.size_bytes].view("<u4")


def _is_possible(section: Section) -> bool:
    """Return whether a section begins where one may, and has room for items of a width that can be read."""
    return (
        section.offset % PAGE_BYTES == 0
        and section.offset >= PAGE_BYTES
        and section.item_count * section.item_bits <= 8 * section.size_bytes
        and (section.item_bits <= MAX_PACKED_BITS or section.item_bits % 8 == 0)
    )


def _room(section: Section) -> int:
    """Return where a section ends with the zeros behind it, so that words are read that begin in it."""
    return section.offset + (padded(section.size_bytes + TAIL_BYTES) if section.size_bytes else 0)


def _mapped(path: Path) -> tuple[mmap, Header]:
    try:
        if path.is_fifo():  # it would not be opened before it has a writer
            raise ConfigError(f"{path} is no archive: it is a pipe")
        with path.open("rb") as file:
            beginning = file.read(PAGE_BYTES)
            size = os.fstat(file.fileno()).st_size
            header = Header.unpack(beginning, str(path), size)
            return mmap(file.fileno(), 0, access=ACCESS_READ), header
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error
