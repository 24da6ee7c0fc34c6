"""Store the visible texts of an archive's pages: compressed in blocks of adjacent pages, read by row.

Pages of one site stand together, so what they have in common is stored once a block.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final

from backports import zstd

from neardup_stream.archive.layout import Section
from neardup_stream.archive.leb128 import NumberReader, put_numbers
from neardup_stream.archive.logged import LoggedArchive
from neardup_stream.archive.pages import FrozenPage
from neardup_stream.archive.reading import ArchiveFile
from neardup_stream.archive.spills import SpilledColumn, Spilling
from neardup_stream.archive.writing import ArchiveWriter
from neardup_stream.errors import CorruptData

__all__ = ["TEXTS", "TEXTS_FRAMES", "TEXTS_STARTS", "KeptTexts", "TextsWriter", "has_texts"]

TEXTS: Final = "texts"
"""The part's name."""

TEXTS_FRAMES: Final = "texts.frames"
TEXTS_STARTS: Final = "texts.starts"
"""Its sections: compressed blocks, and where each begins."""

_LEVEL: Final = 6
_BLOCK_BYTES: Final = 1 << 17
"""Of texts, from which on a block is full: larger ones compress better, and take longer to read one of."""

_BLOCK_PAGES: Final = 64
_START_BYTES: Final = 16
_CACHED_BLOCKS: Final = 8


class TextsWriter(Spilling):
    """Collects texts, and writes the sections `texts.*`; see `PartWriter`.

    Args:
        directory: for temporary files.
    """

    name = TEXTS

    def __init__(self, directory: Path) -> None:
        self._frames, self._starts = SpilledColumn(directory), SpilledColumn(directory)
        super().__init__((self._frames, self._starts))
        self._block: list[bytes] = []
        self._block_bytes = self._text_bytes = self._count = 0
        self._compressor = zstd.ZstdCompressor(level=_LEVEL)

    def add(self, pages: Sequence[FrozenPage], first_row: int) -> None:  # noqa: ARG002 - rows are counted here
        """See `PartWriter`."""
        for page in pages:
            self.add_text(page.text)

    def add_text(self, text: bytes) -> None:
        """Append the text of the next page."""
        self._block.append(text)
        self._block_bytes += len(text)
        if self._block_bytes >= _BLOCK_BYTES or len(self._block) == _BLOCK_PAGES:
            self._close_block()

    def facts(self) -> Mapping[str, Any]:
        """Return how many bytes of text there are."""
        return {"text_bytes": self._text_bytes + self._block_bytes}

    def write(self, writer: ArchiveWriter, page_count: int) -> None:  # noqa: ARG002 - one text came for each
        """See `PartWriter`."""
        if self._block:
            self._close_block()
        self._write_start()
        block_count = self._starts.size_bytes // _START_BYTES - 1
        writer.add(TEXTS_FRAMES, self._frames.chunks(), block_count)
        writer.add(TEXTS_STARTS, self._starts.chunks(), block_count + 1, 8 * _START_BYTES)

    def _close_block(self) -> None:
        self._write_start()
        packed = bytearray()
        put_numbers(map(len, self._block), packed)
        packed += b"".join(self._block)
        self._frames.write(self._compressor.compress(packed, zstd.ZstdCompressor.FLUSH_FRAME))
        self._count += len(self._block)
        self._text_bytes += self._block_bytes
        self._block, self._block_bytes = [], 0

    def _write_start(self) -> None:
        self._starts.write(self._count.to_bytes(8, "little") + self._frames.size_bytes.to_bytes(8, "little"))


def has_texts(archive: LoggedArchive) -> bool:
    """Return whether an archive keeps the texts of its pages."""
    return TEXTS_FRAMES in archive.file.sections


class KeptTexts:
    """Reads the texts of an archive.

    Args:
        archive: opened.

    Raises:
        ConfigError: it was frozen without texts.
        CorruptData: it is damaged.
    """

    def __init__(self, archive: LoggedArchive) -> None:
        file, frames = archive.file, archive.require_part(TEXTS, TEXTS_FRAMES)
        starts = archive.require_part(TEXTS, TEXTS_STARTS)
        if not 0 < starts.item_count * _START_BYTES == starts.size_bytes:
            raise CorruptData(f"{file.path} does not say where its texts begin")
        pairs = file.section(starts.name).view("<u8").reshape(starts.item_count, 2)
        self._first_rows: list[int] = pairs[:, 0].tolist()
        if self._first_rows[-1] != archive.header.page_count:
            raise CorruptData(f"{file.path} has texts for {self._first_rows[-1]} pages")
        if self._first_rows[0] != 0 or self._first_rows != sorted(self._first_rows):
            raise CorruptData(f"{file.path} has blocks of texts that are not in the order of their pages")
        self._path = file.path
        # What is cached knows nothing of its owner, which would otherwise be kept in memory by itself.
        read = partial(_read_block, file, frames, self._first_rows, pairs[:, 1].tolist())
        self._block = lru_cache(maxsize=_CACHED_BLOCKS)(read)

    def text(self, row: int) -> str:
        """Return the visible text of a page, as it was frozen; empty for a page that a rewrite left out.

        Raises:
            CorruptData: it is damaged.

        Cost: 200 µs, less where its neighbors were read lately.
        """
        try:
            return self.packed_text(row).decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise CorruptData(f"{self._path}: the text of row {row} is not UTF-8: {error}") from error

    def packed_text(self, row: int) -> bytes:
        """Return the same as it is stored.

        Raises:
            CorruptData: it is damaged.
        """
        number = bisect_right(self._first_rows, row) - 1
        block: list[bytes] = self._block(number)
        return block[row - self._first_rows[number]]


def _read_block(
    file: ArchiveFile, frames: Section, first_rows: Sequence[int], starts: Sequence[int], number: int
) -> list[bytes]:
    start, end = starts[number : number + 2]
    frame = file.bytes_of(frames, start, end).tobytes()
    name = f"{file.path}: block {number} of the texts"
    try:
        reader = NumberReader(zstd.decompress(frame), name)
    except zstd.ZstdError as error:
        raise CorruptData(f"{name} cannot be decompressed: {error}") from error
    sizes = reader.numbers(first_rows[number + 1] - first_rows[number])
    return [reader.take(size) for size in sizes]
