"""Parquet: one page a row, its columns named as the fields of a page's JSON are, or by `page.fields`.

pyarrow, which reads them, is installed with the extra `parquet`.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from types import ModuleType
from typing import Any, Final

import msgspec

from neardup_stream.errors import ConfigError, CorruptData
from neardup_stream.message import Position, Record
from neardup_stream.streams.inputs import Input

__all__ = ["read_parquet", "require_parquet"]

_ROWS_AT_ONCE: Final = 256


def require_parquet() -> ModuleType:
    """Return the module that reads Parquet.

    Raises:
        ConfigError: it is not installed.
    """
    try:
        import pyarrow.parquet  # noqa: PLC0415 - an extra, and slow to import
    except ImportError as error:
        raise ConfigError(
            "Parquet files need pyarrow, which is not installed: pip install 'neardup-stream[parquet]'"
        ) from error
    module: ModuleType = pyarrow.parquet
    return module


def read_parquet(source: Input, max_page_bytes: int) -> Iterator[list[Record]]:
    """Return a record a row, in blocks; the offset is the row's number from 0.

    A value is the JSON of the row: columns by name, without those that are null; bytes as base64, so that a
    column of bytes is what `body` is; a time without zone is UTC. Of a longer value only the first
    `max_page_bytes + 1` bytes are kept: enough for the decoder to refuse it.

    Raises:
        ConfigError: pyarrow is not installed.
        CorruptData: the file is damaged, cut off, or no Parquet.

    Cost: a row group's pages of each column in memory, decompressed.
    """
    parquet = require_parquet()
    first = 0
    try:
        with parquet.ParquetFile(source.path) as file:
            for batch in file.iter_batches(_ROWS_AT_ONCE):
                rows = batch.to_pylist()
                yield [_record(source, offset, row, max_page_bytes) for offset, row in enumerate(rows, first)]
                first += len(rows)
    except (OSError, ValueError) as error:  # ArrowInvalid is a ValueError, other Arrow errors are OSErrors
        raise CorruptData(f"{source.path}: damaged or cut off before row {first}: {error}") from error


def _record(source: Input, offset: int, row: dict[str, Any], max_page_bytes: int) -> Record:
    given = {name: _plain(value) for name, value in row.items() if value is not None}
    value = msgspec.json.encode(given)[: max_page_bytes + 1]
    position = Position(source.partition, offset)
    return Record(position=position, key=None, value=value, timestamp_ms=source.timestamp_ms)


def _plain(value: Any) -> Any:
    """A value that JSON has; what no JSON has is told as text."""
    if isinstance(value, datetime) and value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    return value
