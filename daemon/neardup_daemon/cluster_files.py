"""Writes the clusters of a corpus to a file: lines of JSON, or Parquet."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from functools import partial
from io import BytesIO
from types import TracebackType
from typing import Any, Final, Protocol, Self

import msgspec

from neardup_stream.clusters.clusters import Clusters
from neardup_stream.cut_short import in_thread
from neardup_stream.errors import ConfigError, StreamUnavailable
from neardup_stream.message import Message
from neardup_stream.page import Handle
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import RecordStore
from neardup_stream.streams.files.file_names import has_ending
from neardup_stream.streams.files.jsonl import JSON_LINES_ENDINGS, JsonLinesSink
from neardup_stream.streams.files.outputs import OutputFile, is_written_directly
from neardup_stream.streams.files.parquet import PARQUET_ENDING, require_parquet
from neardup_stream.streams.files.waiting_file import WaitingFile

__all__ = ["ClusterOutput", "ClusterRow", "cluster_output", "cluster_rows"]

_BATCH_CLUSTERS: Final = 256


class ClusterRow(msgspec.Struct, frozen=True):
    """A cluster of two or more pages.

    Attributes:
        cluster_id: as in the events.
        representative: id of its representative.
        members: page ids, in the order in which they were decided.
    """

    cluster_id: str
    representative: str
    members: list[str]


class ClusterOutput(Protocol):
    """A file of clusters, which is replaced when the block ends without an exception."""

    async def __aenter__(self) -> Self:
        """Open the file; raises ConfigError if it may not be written."""
        ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        """Close the file; raises StreamUnavailable if the disk is full or failed."""
        ...

    async def write(self, rows: Sequence[ClusterRow]) -> None:
        """Write clusters; raises StreamUnavailable if the disk is full or failed."""
        ...


def cluster_output(path: str) -> ClusterOutput:
    """Return what writes clusters to this path: Parquet or lines of JSON, as its name ends.

    Raises:
        ConfigError: the name of a file ends otherwise, or Parquet is wanted and pyarrow is not installed.
    """
    if has_ending(path, PARQUET_ENDING):
        return _ClusterTable(path)
    if has_ending(path, JSON_LINES_ENDINGS) or is_written_directly(path):
        return _ClusterLines(path)
    endings = ", ".join((*JSON_LINES_ENDINGS, PARQUET_ENDING))
    raise ConfigError(f"{path!r} must end in {endings} to hold clusters")


class _ClusterLines(JsonLinesSink):
    async def write(self, rows: Sequence[ClusterRow]) -> None:
        """Write a line for each cluster."""
        await self.send([Message(key=None, value=msgspec.json.encode(row)) for row in rows])


class _ClusterTable:
    """Parquet with the columns `cluster_id`, `representative` and `members`.

    It is encoded in memory, some clusters at a time, because pyarrow takes every write for a complete one.
    """

    def __init__(self, path: str) -> None:
        parquet = require_parquet()
        self._path = path
        self._output = OutputFile(path)
        self._open = AsyncExitStack()
        self._schema = _schema()
        self._encoded = BytesIO()
        self._writer = parquet.ParquetWriter(self._encoded, self._schema)
        self._file: WaitingFile | None = None
        self._is_readable = False  # once it has a footer

    async def __aenter__(self) -> Self:
        """Create the file; a named pipe is open once it has a reader."""
        self._file = await self._output.enter_in_thread()
        self._open.push(self._output)
        self._open.push_async_exit(self._end)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Write the footer, close the file and give it its name."""
        await self._open.__aexit__(kind, error, traceback)

    async def write(self, rows: Sequence[ClusterRow]) -> None:
        """Write a row for each cluster."""
        await in_thread(partial(self._write, rows))

    async def _end(
        self, _kind: type[BaseException] | None, error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        """Write the footer; after an error only to a partial file with whole rows, which can be read then."""
        if error is None or (self._is_readable and self._output.partial_path is not None):
            await in_thread(self._write_footer)

    def _write(self, rows: Sequence[ClusterRow]) -> None:
        import pyarrow as pa  # noqa: PLC0415 - an extra, and slow to import

        self._writer.write_batch(
            pa.RecordBatch.from_pylist([msgspec.to_builtins(row) for row in rows], schema=self._schema)
        )
        self._pass_on()

    def _write_footer(self) -> None:
        self._writer.close()
        self._pass_on()

    def _pass_on(self) -> None:
        assert self._file is not None  # noqa: S101 - opened by __aenter__
        self._is_readable = False
        try:
            self._file.write_all(self._encoded.getvalue())
        except BrokenPipeError:
            raise
        except OSError as error:
            raise StreamUnavailable(f"cannot write {self._path}: {error.strerror}") from error
        self._is_readable = True
        self._encoded.seek(0)
        self._encoded.truncate()


def _schema() -> Any:
    import pyarrow as pa  # noqa: PLC0415 - an extra, and slow to import

    return pa.schema(
        [
            ("cluster_id", pa.string()),
            ("representative", pa.string()),
            ("members", pa.list_(pa.string())),
        ]
    )


class _Found(msgspec.Struct, frozen=True):
    cluster_id: str
    representative: str
    handles: list[Handle]


async def cluster_rows(clusters: Clusters, records: RecordStore) -> AsyncIterator[list[ClusterRow]]:
    """Return every cluster of two or more pages, some hundred at a time; no snapshot while others decide.

    Raises:
        StoreUnavailable: the store became unavailable.
        CorruptData: it holds something else.
    """
    batch: list[_Found] = []
    async for cluster_id, representative, handles in clusters.walk():
        batch.append(_Found(cluster_id, representative.id, handles))
        if len(batch) == _BATCH_CLUSTERS:
            yield await _rows(batch, records)
            batch = []
    if batch:
        yield await _rows(batch, records)


async def _rows(batch: Sequence[_Found], records: RecordStore) -> list[ClusterRow]:
    packed = iter(await records.fetch([handle for found in batch for handle in found.handles]))
    return [_row(found, [next(packed) for _ in found.handles]) for found in batch]


def _row(found: _Found, packed: Sequence[bytes | None]) -> ClusterRow:
    members = [PageRecord.unpack(each).id for each in packed if each is not None]
    return ClusterRow(found.cluster_id, found.representative, list(members))
