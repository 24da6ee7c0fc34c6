"""Write and read the columns of an archive: what is stored of each page besides its URL, in log order."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final, Self

import numpy as np

from neardup_stream.archive.pages import FrozenPage
from neardup_stream.archive.spills import SpilledColumn
from neardup_stream.archive.writing import ArchiveWriter
from neardup_stream.bits.packed import bits_for, pack

__all__ = ["WHOLE_ROWS", "ColumnsWriter"]

WHOLE_ROWS: Final = 64
"""Rows to an entry of `whole.starts`."""

_WORDS: Final = ("simhash", "text", "scope")
_COUNTS: Final = ("shingles", "whole.count")
_NAMES: Final = (*_WORDS, *_COUNTS, "sketch", "whole", "whole.sizes", "whole.starts")


class ColumnsWriter:
    """Collects pages, WHOLE_ROWS at a time, and writes the columns; a context manager.

    Args:
        directory: for temporary files.
        sketch_bytes: size of a sketch.
    """

    def __init__(self, directory: Path, sketch_bytes: int) -> None:
        self._columns = {name: SpilledColumn(directory) for name in _NAMES}
        self._stack = ExitStack()
        self._sketch_bytes = sketch_bytes
        self._largest = dict.fromkeys(_COUNTS, 0)
        self._is_scoped = False
        self._count = 0

    def __enter__(self) -> Self:
        """Create the temporary files."""
        for column in self._columns.values():
            self._stack.enter_context(column)
        return self

    def __exit__(self, *exc: object) -> None:
        """Remove them."""
        self._stack.close()

    def add(self, pages: Sequence[FrozenPage]) -> None:
        """Append WHOLE_ROWS pages; fewer only at the end."""
        columns = self._columns
        words = zip(*((page.fingerprint, page.text_fingerprint, page.scope) for page in pages), strict=True)
        for name, values in zip(_WORDS, words, strict=True):
            columns[name].write(np.array(values, "<u8").tobytes())
        counts = zip(*((page.shingle_count, page.whole_count) for page in pages), strict=True)
        for name, values in zip(_COUNTS, counts, strict=True):
            columns[name].write(np.array(values, "<u8").tobytes())
            self._largest[name] = max(self._largest[name], *values)
        columns["sketch"].write(b"".join(page.sketch.ljust(self._sketch_bytes, b"\0") for page in pages))
        columns["whole.starts"].write(columns["whole"].size_bytes.to_bytes(8, "little"))
        columns["whole.sizes"].write(bytes(len(page.whole) for page in pages))
        columns["whole"].write(b"".join(page.whole for page in pages))
        self._is_scoped = self._is_scoped or any(page.scope for page in pages)
        self._count += len(pages)

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
            self._write(writer, "whole.sizes", 8)
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
