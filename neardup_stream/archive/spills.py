"""Sort more than fits into memory, with an anonymous temporary file.

Such a file is gone when the process ends, however it ends.
"""

import os
import tempfile
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from struct import Struct
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from neardup_stream.archive.kernels import load_archive_kernel
from neardup_stream.chunks import in_chunks
from neardup_stream.errors import StreamUnavailable

__all__ = [
    "PARTITIONS",
    "PARTITION_BITS",
    "PartitionedRows",
    "SortedRow",
    "SortedRows",
    "SpilledColumn",
    "Spilling",
]

PARTITION_BITS = 8
PARTITIONS = 1 << PARTITION_BITS
_CHUNK_BYTES = 1 << 20
_MERGED_CHUNK_BYTES = 1 << 17
_MERGED_ROWS = 512
_ROW_OVERHEAD_BYTES = 240
_ROW = Struct("<IIQ")
_WORD_BYTES = 4


SortedRow = tuple[bytes, int, bytes]
"""A row: its key, its number among all that came, its data. A plain tuple, which sorts in half the time."""


class _TemporaryFile:
    """A file without a name; a context manager."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._stack = ExitStack()
        self._descriptor = -1
        self.size_bytes = 0

    def __enter__(self) -> Self:
        file = self._stack.enter_context(tempfile.TemporaryFile(dir=self._directory, buffering=0))
        self._descriptor = file.fileno()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    def append(self, data: bytes | bytearray) -> tuple[int, int]:
        """Write behind all that is there; return where it begins and ends.

        Raises:
            StreamUnavailable: the disk is full or failed.
        """
        start, view = self.size_bytes, memoryview(data)
        try:
            while view:
                written = os.pwrite(self._descriptor, view, self.size_bytes)
                self.size_bytes += written
                view = view[written:]
        except OSError as error:
            raise StreamUnavailable(
                f"cannot write a temporary file in {self._directory}: {error.strerror}; make room there",
                "disk",
            ) from error
        return start, self.size_bytes

    def read(self, start: int, size: int) -> bytes:
        """Read some bytes of it."""
        pieces = []
        while size:
            piece = os.pread(self._descriptor, size, start)
            if not piece:
                raise EOFError(f"a temporary file has no byte {start}")
            pieces.append(piece)
            start, size = start + len(piece), size - len(piece)
        return b"".join(pieces)


class SortedRows:
    """Rows in the order of their keys; a context manager.

    Args:
        directory: for the temporary file.
        memory_bytes: what rows in memory may take.
    """

    def __init__(self, directory: Path, memory_bytes: int) -> None:
        self._file = _TemporaryFile(directory)
        self._memory_bytes = memory_bytes
        self._held: list[SortedRow] = []
        self._held_bytes = 0
        self._runs: list[tuple[int, int]] = []
        self.count = 0

    def __enter__(self) -> Self:
        """Create the file."""
        self._file.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove it."""
        self._file.__exit__(kind, error, trace)

    def add(self, key: bytes, data: bytes) -> None:
        """Take in a row; its number is how many came before it."""
        self._held.append((key, self.count, data))
        self.count += 1
        self._held_bytes += len(key) + len(data) + _ROW_OVERHEAD_BYTES
        if self._held_bytes >= self._memory_bytes:
            self._spill()

    def in_order(self) -> Iterator[SortedRow]:
        """Yield all rows, once."""
        self._held.sort()
        held, self._held = self._held, []
        yield from _merged([*(self._read(*run) for run in self._runs), in_chunks(held, _MERGED_ROWS)])

    def _spill(self) -> None:
        self._held.sort()
        start, packed = self._file.size_bytes, bytearray()
        for key, number, data in self._held:
            packed += _ROW.pack(len(key), len(data), number)
            packed += key
            packed += data
            if len(packed) >= _CHUNK_BYTES:
                self._file.append(packed)
                packed.clear()
        self._runs.append((start, self._file.append(packed)[1]))
        self._held, self._held_bytes = [], 0

    def _read(self, start: int, end: int) -> Iterator[list[SortedRow]]:
        """Yield the rows of a run, some at once."""
        data = b""
        while start < end:
            wanted = max(_MERGED_CHUNK_BYTES, _row_bytes(data) - len(data))
            piece = self._file.read(start, min(wanted, end - start))
            start += len(piece)
            data += piece
            rows, at = _unpacked(data)
            data = data[at:]
            if rows:
                yield rows


def _row_bytes(data: bytes) -> int:
    """Return the size of the first row, as far as it is known."""
    if len(data) < _ROW.size:
        return _ROW.size
    key_bytes, data_bytes, _ = _ROW.unpack_from(data)
    return int(_ROW.size + key_bytes + data_bytes)


def _unpacked(data: bytes) -> tuple[list[SortedRow], int]:
    """Return the rows that are there in whole, and where they end."""
    rows: list[SortedRow] = []
    at = 0
    while at + _ROW.size <= len(data):
        key_bytes, data_bytes, number = _ROW.unpack_from(data, at)
        key_at = at + _ROW.size
        data_at = key_at + key_bytes
        end = data_at + data_bytes
        if end > len(data):
            break
        rows.append((data[key_at:data_at], number, data[data_at:end]))
        at = end
    return rows, at


def _merged(runs: Sequence[Iterator[list[SortedRow]]]) -> Iterator[SortedRow]:
    """Yield the rows of several runs in order.

    Of each run some are there; up to the least of those that end them all are in order.
    """
    heads = [(head, run) for run in runs if (head := next(run, []))]
    while heads:
        bound = min(head[-1] for head, _ in heads)
        rows: list[SortedRow] = []
        rest = []
        for head, run in heads:
            end = bisect_right(head, bound)
            rows += head[:end]
            if following := head[end:] or next(run, []):
                rest.append((following, run))
        rows.sort()  # it finds the runs, and merges them
        yield from rows
        heads = rest


class PartitionedRows:
    """Rows of numbers, apart by the leading bits of their first field, uint64; a context manager.

    Within a partition they stay in the order in which they came.

    Args:
        dtype: of a row.
        directory: for the temporary file.
        memory_bytes: what rows in memory may take.
    """

    def __init__(self, dtype: np.dtype[np.void], directory: Path, memory_bytes: int) -> None:
        self._dtype = dtype
        self._file = _TemporaryFile(directory)
        self._memory_bytes = memory_bytes
        self._held: list[NDArray[Any]] = []
        self._held_bytes = 0
        self._extents: list[list[tuple[int, int]]] = [[] for _ in range(PARTITIONS)]
        self.count = 0

    def __enter__(self) -> Self:
        """Create the file."""
        self._file.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove it."""
        self._file.__exit__(kind, error, trace)

    def add(self, rows: NDArray[Any]) -> None:
        """Take in rows."""
        self._held.append(rows)
        self._held_bytes += rows.nbytes
        self.count += rows.size
        if 3 * self._held_bytes >= self._memory_bytes:  # sorting them takes twice as much again
            self._spill()

    def partition(self, number: int) -> NDArray[Any]:
        """Return the rows whose first field begins with the bits of `number`."""
        self._spill()
        pieces = [self._file.read(start, end - start) for start, end in self._extents[number]]
        return np.frombuffer(b"".join(pieces), self._dtype)

    def _spill(self) -> None:
        if not self._held:
            return
        rows = np.concatenate(self._held)
        self._held, self._held_bytes = [], 0
        words = np.empty((rows.size, self._dtype.itemsize // _WORD_BYTES), np.uint32)
        ends = np.empty(PARTITIONS, np.int64)
        load_archive_kernel().partition_rows(rows.view(np.uint32).reshape(words.shape), words, ends)
        at, _ = self._file.append(words.tobytes())
        start = 0
        for number, end in enumerate((self._dtype.itemsize * ends).tolist()):
            if end > start:
                self._extents[number].append((at + start, at + end))
            start = end


class Spilling:
    """What keeps temporary files as long as its context lasts.

    Args:
        parts: whose files they are.
    """

    def __init__(self, parts: Iterable[AbstractContextManager[object]]) -> None:
        self._with_files = tuple(parts)
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Create the temporary files."""
        for part in self._with_files:
            self._stack.enter_context(part)
        return self

    def __exit__(self, *exc: object) -> None:
        """Remove them."""
        self._stack.close()


class SpilledColumn:
    """Bytes that are written first, and read when all are there; a context manager."""

    def __init__(self, directory: Path) -> None:
        self._file = _TemporaryFile(directory)
        self._held = bytearray()
        self.size_bytes = 0

    def __enter__(self) -> Self:
        """Create the file."""
        self._file.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        """Remove it."""
        self._file.__exit__(*exc)

    def write(self, data: bytes) -> None:
        """Append."""
        self._held += data
        self.size_bytes += len(data)
        if len(self._held) >= _CHUNK_BYTES:
            self._file.append(self._held)
            self._held.clear()

    def chunks(self, multiple: int = 1) -> Iterator[bytes]:
        """Yield all bytes, in pieces whose sizes are multiples of `multiple`, but for the last."""
        size = max(1, _CHUNK_BYTES // multiple) * multiple
        for start in range(0, self.size_bytes, size):
            yield self.read(start, min(size, self.size_bytes - start))

    def read(self, start: int, size: int) -> bytes:
        """Read some bytes of it."""
        self._file.append(self._held)
        self._held.clear()
        return self._file.read(start, size)
