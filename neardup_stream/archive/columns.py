"""Write and read the columns of an archive: what is stored of each page besides its URL, in log order."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from neardup_stream.archive.pages import FrozenPage
from neardup_stream.archive.reading import ArchiveFile
from neardup_stream.archive.spills import SpilledColumn, Spilling
from neardup_stream.archive.writing import ArchiveWriter
from neardup_stream.bits.packed import bits_for, pack

__all__ = ["WHOLE_ROWS", "ColumnsWriter", "whole_sizes"]

WHOLE_ROWS: Final = 64
"""Rows to an entry of `whole.starts`."""

_WIDE_SIZES: Final = "whole.sizes16"
"""In place of `whole.sizes`, under another name: what knows only the other refuses the archive."""

_BYTE_LIMIT: Final = 255
_COUNTS: Final = ("shingles", "whole.count")
_NAMES: Final = ("simhash", "text", "scope", *_COUNTS, "sketch", "whole", "whole.sizes", "whole.starts")


class ColumnsWriter(Spilling):
    """Collects pages and writes the columns; a context manager.

    Args:
        directory: for temporary files.
        sketch_bytes: size of a sketch.
    """

    def __init__(self, directory: Path, sketch_bytes: int) -> None:
        self._columns = {name: SpilledColumn(directory) for name in _NAMES}
        super().__init__(self._columns.values())
        self._sketch_bytes = sketch_bytes
        self._largest = dict.fromkeys((*_COUNTS, "whole.sizes"), 0)
        self._is_scoped = False
        self._count = 0

    def add(self, pages: Sequence[FrozenPage]) -> None:
        """Append a multiple of WHOLE_ROWS pages; others only at the end."""
        columns, wholes = self._columns, [page.whole for page in pages]
        columns["simhash"].write(_words([page.fingerprint for page in pages]))
        columns["text"].write(_words([page.text_fingerprint for page in pages]))
        columns["scope"].write(_words([page.scope for page in pages]))
        self._add_counts("shingles", [page.shingle_count for page in pages])
        self._add_counts("whole.count", [page.whole_count for page in pages])
        columns["sketch"].write(b"".join([page.sketch.ljust(self._sketch_bytes, b"\0") for page in pages]))
        ends = np.cumsum([columns["whole"].size_bytes, *map(len, wholes)])
        columns["whole.starts"].write(ends[:-1:WHOLE_ROWS].astype("<u8").tobytes())
        sizes = np.fromiter(map(len, wholes), "<u2", len(wholes))
        columns["whole.sizes"].write(sizes.tobytes())
        self._largest["whole.sizes"] = max(self._largest["whole.sizes"], int(sizes.max(initial=0)))
        columns["whole"].write(b"".join(wholes))
        self._is_scoped = self._is_scoped or any(page.scope for page in pages)
        self._count += len(pages)

    def _add_counts(self, name: str, counts: Sequence[int]) -> None:
        self._columns[name].write(_words(counts))
        self._largest[name] = max(self._largest[name], *counts)

    def write(self, writer: ArchiveWriter) -> None:
        """Write the sections.

        Raises:
            StreamUnavailable: the disk is full or failed.
        """
        self._write(writer, "simhash", 64)
        self._write(writer, "text", 64)
        self._write_counts(writer, "shingles")
        self._write(writer, "sketch", 8 * self._sketch_bytes)
        if self._is_scoped:
            self._write(writer, "scope", 64)
        if self._largest["whole.count"]:
            self._write_counts(writer, "whole.count")
            self._write_sizes(writer)
            self._write(writer, "whole.starts", 64)
            self._write(writer, "whole", 8)

    def _write(self, writer: ArchiveWriter, name: str, item_bits: int) -> None:
        column = self._columns[name]
        items = column.size_bytes * 8 // item_bits if item_bits else self._count
        writer.add(name, column.chunks(), items, item_bits)

    def _write_counts(self, writer: ArchiveWriter, name: str) -> None:
        width = bits_for(self._largest[name])
        chunks = (pack(np.frombuffer(chunk, "<u8"), width) for chunk in self._columns[name].chunks(64))
        writer.add(name, chunks, self._count, width)

    def _write_sizes(self, writer: ArchiveWriter) -> None:
        chunks = self._columns["whole.sizes"].chunks()
        if self._largest["whole.sizes"] > _BYTE_LIMIT:
            writer.add(_WIDE_SIZES, chunks, self._count, 16)
        else:
            narrowed = (np.frombuffer(chunk, "<u2").astype("<u1").tobytes() for chunk in chunks)
            writer.add("whole.sizes", narrowed, self._count, 8)


def whole_sizes(file: ArchiveFile, start: int, end: int) -> NDArray[np.int64]:
    """Return the sizes in bytes of some rows of `whole`.

    Raises:
        CorruptData: a page of the file is damaged, or there are no such rows.
    """
    is_wide = _WIDE_SIZES in file.sections
    section, item_bytes = file.require(_WIDE_SIZES if is_wide else "whole.sizes"), 1 + is_wide
    items = file.bytes_of(section, start * item_bytes, end * item_bytes)
    return items.view(f"<u{item_bytes}").astype(np.int64)


def _words(values: Sequence[int]) -> bytes:
    return np.array(values, "<u8").tobytes()
