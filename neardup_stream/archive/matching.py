"""Write the part of an archive that finds near-duplicates: columns and keys."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from neardup_stream.archive.columns import ColumnsWriter
from neardup_stream.archive.frozen import KEYS
from neardup_stream.archive.pages import FrozenPage
from neardup_stream.archive.slots import KeyTables
from neardup_stream.archive.spills import Spilling
from neardup_stream.archive.writing import ArchiveWriter

__all__ = ["KeysOfRows", "LateKeys", "MatchingWriter"]


class KeysOfRows(NamedTuple):
    """Keys, and the row of the page that each one is of; one entry each."""

    keys: NDArray[np.uint64]
    rows: NDArray[np.uint32]


class LateKeys(Protocol):
    """Keys that depend on all pages of an archive; a context manager."""

    def __enter__(self) -> Self:
        """Create temporary files."""

    def __exit__(self, *exc: object) -> None:
        """Remove them."""

    def add(self, pages: Sequence[FrozenPage], first_row: int) -> None:
        """See `PartWriter`."""

    def made(self) -> Iterator[KeysOfRows]:
        """Return the keys of all pages that came, in their order."""

    def write(self, writer: ArchiveWriter) -> None:
        """Write what a reader must know to make such keys, after `made`.

        Raises:
            StreamUnavailable: the disk is full or failed.
        """


class MatchingWriter(Spilling):
    """Collects sketches and keys, and writes their sections; see `PartWriter`.

    Args:
        directory: for temporary files.
        sketch_bytes: size of a sketch.
        memory_bytes: what keys in memory may take.
        late_keys: keys beside those that pages bring with them; None for none.
    """

    name = KEYS

    def __init__(
        self, directory: Path, sketch_bytes: int, memory_bytes: int, late_keys: LateKeys | None = None
    ) -> None:
        self._late_keys = late_keys
        self._keys = KeyTables(directory, memory_bytes)
        self._columns = ColumnsWriter(directory, sketch_bytes)
        super().__init__((self._keys, self._columns, *(() if late_keys is None else (late_keys,))))

    def add(self, pages: Sequence[FrozenPage], first_row: int) -> None:
        """See `PartWriter`; see `ColumnsWriter.add`."""
        self._columns.add(pages)
        words = np.frombuffer(b"".join([page.keys for page in pages]), "<u8")
        counts = np.array([len(page.keys) // 8 for page in pages])
        rows = np.arange(first_row, first_row + len(pages), dtype=np.uint32)
        self._keys.add(words, np.repeat(rows, counts))
        if self._late_keys is not None:
            self._late_keys.add(pages, first_row)

    def facts(self) -> Mapping[str, Any]:
        """Return nothing: the schema of the archive says all."""
        return {}

    def write(self, writer: ArchiveWriter, page_count: int) -> None:
        """See `PartWriter`."""
        self._columns.write(writer)
        if self._late_keys is not None:
            for keys, of_rows in self._late_keys.made():
                self._keys.add(keys, of_rows)
            self._late_keys.write(writer)
        self._keys.write(writer, page_count)
