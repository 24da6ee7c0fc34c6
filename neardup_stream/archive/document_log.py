"""Write and read the document log.

URL, id and time of every page, in compressed blocks with binary search.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

from backports import zstd

from neardup_stream.archive.log_blocks import (
    BLOCK_PAGES,
    LoggedPage,
    is_url,
    log_key,
    pack_block,
    unpack_block,
)
from neardup_stream.archive.reading import ArchiveFile
from neardup_stream.archive.spills import SpilledColumn, Spilling
from neardup_stream.archive.writing import ArchiveWriter
from neardup_stream.errors import CorruptData

__all__ = ["DocumentLog", "LogWriter"]

_LEVEL: Final = 9
_DICT_BYTES: Final = 1 << 15
_SAMPLED_BLOCKS: Final = 2000
_FEWEST_SAMPLES: Final = 100
"""With fewer blocks a dictionary would take more bytes than it saves."""

_START_BYTES: Final = 16
_CACHED_BLOCKS: Final = 256


class LogWriter(Spilling):
    """Collects blocks, and writes the sections `log.*`; a context manager.

    Args:
        directory: for temporary files.
    """

    def __init__(self, directory: Path) -> None:
        self._raw, self._firsts = SpilledColumn(directory), SpilledColumn(directory)
        self._frames, self._starts = SpilledColumn(directory), SpilledColumn(directory)
        super().__init__((self._raw, self._firsts, self._frames, self._starts))
        self._sizes: list[int] = []
        self._first_starts: list[int] = [0]

    def add(self, pages: Sequence[LoggedPage], keys: Sequence[bytes], first_key: bytes) -> None:
        """Append BLOCK_PAGES pages; fewer only at the end.

        Args:
            pages: in the order of their keys.
            keys: theirs.
            first_key: by which the block is found: no greater than that of any page in it, and no less
                than that of any page before it, of those that are to be found.
        """
        block = pack_block(pages, keys)
        self._raw.write(block)
        self._sizes.append(len(block))
        self._firsts.write(first_key)
        self._first_starts.append(self._firsts.size_bytes)

    def write(self, writer: ArchiveWriter) -> None:
        """Write the sections.

        Raises:
            StreamUnavailable: the disk is full or failed.
        """
        trained = _trained(self._samples()) if len(self._sizes) >= _FEWEST_SAMPLES else None
        compressor = zstd.ZstdCompressor(level=_LEVEL, zstd_dict=trained)
        for block, first_start in zip(self._blocks(), self._first_starts, strict=False):
            self._write_start(first_start)
            self._frames.write(compressor.compress(block, zstd.ZstdCompressor.FLUSH_FRAME))
        self._write_start(self._first_starts[-1])
        writer.add("log.dict", [trained.dict_content] if trained else [], 1 if trained else 0)
        writer.add("log.frames", self._frames.chunks(), len(self._sizes))
        writer.add("log.starts", self._starts.chunks(), len(self._sizes) + 1, 8 * _START_BYTES)
        writer.add("log.firsts", self._firsts.chunks(), len(self._sizes))

    def _write_start(self, first_start: int) -> None:
        self._starts.write(self._frames.size_bytes.to_bytes(8, "little") + first_start.to_bytes(8, "little"))

    def _blocks(self) -> Iterator[bytes]:
        start = 0
        for size in self._sizes:
            yield self._raw.read(start, size)
            start += size

    def _samples(self) -> list[bytes]:
        step = -(-len(self._sizes) // _SAMPLED_BLOCKS)
        samples, start = [], 0
        for number, size in enumerate(self._sizes):
            if number % step == 0:
                samples.append(self._raw.read(start, size))
            start += size
        return samples


class DocumentLog:
    """Reads the sections `log.*` of an archive; pages are named by their place in the order of the log.

    Args:
        file: the archive.

    Raises:
        CorruptData: the log does not hold as many pages as the header says.
    """

    def __init__(self, file: ArchiveFile) -> None:
        self._blocks = _LogBlocks(file)
        self._block = lru_cache(maxsize=_CACHED_BLOCKS)(self._blocks.read)

    def page(self, row: int) -> LoggedPage:
        """Return what the log says of a page.

        Raises:
            CorruptData: the log is damaged.

        Cost: 250 µs, less where its neighbors were read lately.
        """
        return self._block(row // BLOCK_PAGES)[row % BLOCK_PAGES]

    def all_pages(self) -> Iterator[LoggedPage]:
        """Yield all pages in their order. Cost: 4 µs a page."""
        for number in range(self._blocks.count):
            yield from self._blocks.read(number)

    def find(self, page_ids: Sequence[str]) -> Mapping[str, int]:
        """Return the rows of the pages that have these ids.

        Raises:
            CorruptData: the log is damaged.

        Cost: 1 ms an id that is a URL; if any other is among them, the whole log is read.
        """
        found = {page_id: row for page_id in page_ids if (row := self._row_of_url(page_id)) is not None}
        others = {each for each in page_ids if each not in found and not is_url(each)}
        if others:
            found |= {page.id: row for row, page in enumerate(self.all_pages()) if page.id in others}
        return found

    def _row_of_url(self, page_id: str) -> int | None:
        """Return the row of a page whose id is a URL: its block is the last that begins at or before it."""
        wanted = log_key(LoggedPage(page_id, page_id, 0))
        low, high = 0, self._blocks.count
        while low < high:
            middle = (low + high) // 2
            if self._blocks.first_key(middle) <= wanted:
                low = middle + 1
            else:
                high = middle
        # Pages with ids of their own may stand under the same URL, in this block or in those before it.
        number = low - 1
        while number >= 0:
            if (row := self._row_in(number, page_id)) is not None:
                return row
            first_key = self._blocks.first_key(number)
            if self._is_emptied(number):
                number = self._first_block_from(first_key, number)
                # Earlier releases gave an emptied block the first key of the block before it.
                at = number
                while not self._is_emptied(at):  # ends at the emptied block
                    if (row := self._row_in(at, page_id)) is not None:
                        return row
                    at += 1
            if first_key < wanted:
                break
            number -= 1
        return None

    def _row_in(self, number: int, page_id: str) -> int | None:
        places = (place for place, page in enumerate(self._block(number)) if page.id == page_id)
        return next((number * BLOCK_PAGES + place for place in places), None)

    def _is_emptied(self, number: int) -> bool:
        """Return whether a rewrite has left no page of a block."""
        return not any(page.id or page.url for page in self._block(number))

    def _first_block_from(self, key: bytes, high: int) -> int:
        """Return the first block whose first key is this one, given any block of which that is so."""
        low = 0
        while low < high:
            middle = (low + high) // 2
            if self._blocks.first_key(middle) < key:
                low = middle + 1
            else:
                high = middle
        return low


class _LogBlocks:
    """Reads the blocks; apart from those that are kept in memory, which would keep their owner in memory."""

    def __init__(self, file: ArchiveFile) -> None:
        self._file = file
        self._frames, self._starts = file.require("log.frames"), file.require("log.starts")
        self._firsts = file.require("log.firsts")
        self._page_count = file.header.page_count
        self.count = self._frames.item_count
        content = file.section("log.dict").tobytes()
        try:
            self._dict = zstd.ZstdDict(content) if content else None
        except ValueError as error:
            raise CorruptData(f"{file.path}: the dictionary of its log cannot be read: {error}") from error
        if self.count != -(-self._page_count // BLOCK_PAGES):
            raise CorruptData(f"{file.path} has {self.count} log blocks for {self._page_count} pages")
        if (self._starts.item_bits, self._starts.item_count) != (8 * _START_BYTES, self.count + 1):
            raise CorruptData(f"{file.path} does not say where each of its {self.count} log blocks begins")

    def first_key(self, number: int) -> bytes:
        (_, start), (_, end) = self._start_of(number), self._start_of(number + 1)
        return self._file.bytes_of(self._firsts, start, end).tobytes()

    def read(self, number: int) -> list[LoggedPage]:
        (start, _), (end, _) = self._start_of(number), self._start_of(number + 1)
        frame = self._file.bytes_of(self._frames, start, end).tobytes()
        name = f"{self._file.path}: block {number} of the log"
        try:
            pages = unpack_block(zstd.decompress(frame, zstd_dict=self._dict), name)
        except zstd.ZstdError as error:
            raise CorruptData(f"{name} cannot be decompressed: {error}") from error
        if len(pages) != min(BLOCK_PAGES, self._page_count - number * BLOCK_PAGES):
            raise CorruptData(f"{name} has {len(pages)} pages")
        return pages

    def _start_of(self, number: int) -> tuple[int, int]:
        at = number * _START_BYTES
        frame, first = self._file.bytes_of(self._starts, at, at + _START_BYTES).view("<u8").tolist()
        return frame, first


def _trained(samples: Sequence[bytes]) -> zstd.ZstdDict:
    return zstd.train_dict(samples, _DICT_BYTES)
