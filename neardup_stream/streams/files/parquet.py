"""Read Parquet files: one page a row, with columns named as the fields of a page's JSON, or by `page.fields`.

pyarrow, which reads them, is installed with the extra `parquet`.
"""

from collections.abc import Iterator
from types import ModuleType
from typing import IO, Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from neardup_stream.chunks import in_runs
from neardup_stream.errors import ConfigError, CorruptData
from neardup_stream.message import Position, Record
from neardup_stream.streams.files.inputs import CHUNK_BYTES, Input
from neardup_stream.streams.files.parquet_sizes import is_bytes, value_bytes
from neardup_stream.streams.files.parquet_values import json_value

__all__ = [
    "PARQUET_ENDING",
    "ROWS_AT_ONCE",
    "column_names",
    "opened_parquet",
    "read_parquet",
    "require_parquet",
    "stored_schema",
]

PARQUET_ENDING: Final = ".parquet"

ROWS_AT_ONCE: Final = 256
"""Where a page is damaged, no more rows before it are lost."""

_BUFFER_BYTES: Final = 1 << 16
"""Compressed, of each column: else pyarrow reads all that a row group has of it."""

_CHARACTER_BYTES: Final = 4
"""The longest character of UTF-8; a cut may lose one."""


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
    """Return a record a row, in blocks of some CHUNK_BYTES; the offset is the row's number from 0.

    A value is the JSON of the row: columns by name, without those that are null; bytes as base64, so that a
    column of bytes is what `body` is; times are UTC, also those without zone, and cut to microseconds. What
    no page has, as a year after 9999, is text that is no time.
    Of a longer value only the first `max_page_bytes + 1` bytes are kept: enough for the decoder to refuse it.

    Raises:
        ConfigError: pyarrow is not installed.
        CorruptData: the file is damaged, cut off, no Parquet, or has what pyarrow does not read.

    Cost: a page of each column in memory, decompressed, with 256 rows; of a column with a dictionary the
        values of a row group, each once.
    """
    first = 0
    for batch in _batches(source):
        rows = _Rows(batch, max_page_bytes)
        for start, end in in_runs(np.minimum(rows.sizes, max_page_bytes + 1), CHUNK_BYTES):
            yield [_record(source, first, rows, row) for row in range(start, end)]
        first += batch.num_rows


def stored_schema(path: str) -> Any:
    """Return the columns of a file and their types, as pyarrow has them.

    Raises:
        ConfigError: pyarrow is not installed.
        CorruptData: the file does not say them.
    """
    parquet = require_parquet()
    import pyarrow as pa  # noqa: PLC0415 - see require_parquet

    try:
        return parquet.read_schema(path)
    except (OSError, UnicodeDecodeError, pa.ArrowException) as error:
        raise CorruptData(f"{path}: its columns cannot be read: {error}") from error


def column_names(path: str) -> list[str]:
    """Return the columns of a file; none where it cannot be read."""
    try:
        return list(stored_schema(path).names)
    except CorruptData:
        return []


def opened_parquet(descriptor: int) -> IO[bytes]:
    """Return a file for pyarrow, which would open a name anew: it may be another file's meanwhile.

    The position of the descriptor is moved, and it stays open when the file is closed.
    """
    return open(descriptor, "rb", closefd=False)


def _batches(source: Input) -> Iterator[Any]:
    """Return the rows as Arrow has them, with values that repeat in a column kept once."""
    import pyarrow as pa  # noqa: PLC0415 - see require_parquet

    first = 0
    try:
        for batch in _stored_batches(source.descriptor):
            batch.validate(full=True)  # the places of repeated values are not checked before
            yield _in_microseconds(pa, batch)
            first += batch.num_rows
    except (OSError, UnicodeDecodeError, pa.ArrowException) as error:  # names of columns may be no UTF-8
        raise CorruptData(
            f"{source.path}: damaged, cut off, or not supported by pyarrow, from row {first} on: {error}"
        ) from error


def _stored_batches(descriptor: int) -> Iterator[Any]:
    """Return the rows group by group: Arrow keeps the values of a column until the next dictionary comes."""
    parquet = require_parquet()
    with opened_parquet(descriptor) as source, parquet.ParquetFile(source, buffer_size=_BUFFER_BYTES) as file:
        for group in range(file.num_row_groups):
            reader = parquet.ParquetFile(
                source,
                metadata=file.metadata,
                buffer_size=_BUFFER_BYTES,
                read_dictionary=_repeating_columns(file, group),
            )
            yield from reader.iter_batches(ROWS_AT_ONCE, row_groups=[group])


def _repeating_columns(file: Any, group: int) -> list[str]:
    """Return the columns of strings or bytes of which a row group stores a value once for many rows.

    Not those within lists: of these pyarrow cannot keep them so.
    """
    from pyarrow import types  # noqa: PLC0415 - see require_parquet

    own = sorted(
        field.name
        for field in file.schema_arrow
        if (types.is_string(field.type) or types.is_binary(field.type)) and "." not in field.name
    )
    # pyarrow ends the process where the metadata of a column are damaged; reading a row raises.
    if not own or next(file.iter_batches(1, row_groups=[group]), None) is None:
        return []
    metadata = file.metadata.row_group(group)
    stored = map(metadata.column, range(metadata.num_columns))
    with_dictionary = {column.path_in_schema for column in stored if column.has_dictionary_page}
    return [name for name in own if name in with_dictionary]


def _in_microseconds(pa: Any, batch: Any) -> Any:
    """Return the rows with times that Python has: in microseconds, not nanoseconds, and UTC."""
    columns = []
    for column in batch.columns:
        coarse = _coarse_type(pa, column.type)
        columns.append(column if coarse == column.type else column.cast(coarse, safe=False))
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _coarse_type(pa: Any, kind: Any) -> Any:
    types, coarse = pa.types, kind
    if types.is_timestamp(kind):
        coarse = pa.timestamp("us" if kind.unit == "ns" else kind.unit, kind.tz and "UTC")
    elif types.is_duration(kind) and kind.unit == "ns":
        coarse = pa.duration("us")
    elif types.is_time64(kind) and kind.unit == "ns":
        coarse = pa.time64("us")
    elif types.is_struct(kind):
        coarse = pa.struct([field.with_type(_coarse_type(pa, field.type)) for field in kind])
    elif types.is_list(kind):
        coarse = pa.list_(kind.value_field.with_type(_coarse_type(pa, kind.value_type)))
    elif types.is_fixed_size_list(kind):
        item = kind.value_field.with_type(_coarse_type(pa, kind.value_type))
        coarse = pa.list_(item, kind.list_size)
    elif types.is_large_list(kind):
        coarse = pa.large_list(kind.value_field.with_type(_coarse_type(pa, kind.value_type)))
    elif types.is_map(kind):
        coarse = pa.map_(_coarse_type(pa, kind.key_type), _coarse_type(pa, kind.item_type))
    return coarse


class _Rows:
    """The rows of a batch.

    Attributes:
        sizes: bytes that the JSON of each has at least.
    """

    def __init__(self, batch: Any, max_page_bytes: int) -> None:
        self.max_page_bytes = max_page_bytes
        self._columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        self._sizes = {name: value_bytes(column) for name, column in self._columns.items()}
        self.sizes: NDArray[np.int64] = sum(self._sizes.values(), np.zeros(batch.num_rows, np.int64))

    def values(self, row: int) -> dict[str, Any]:
        """Return a row by column; of one that is too long only the beginnings of long values."""
        if self.sizes[row] <= self.max_page_bytes:
            return {name: json_value(column[row]) for name, column in self._columns.items()}
        return {name: self._beginning(name, row) for name in self._columns}

    def _beginning(self, name: str, row: int) -> Any:
        """Return a value, or the beginning of a long string; in the place of a long list as many spaces."""
        from pyarrow import types  # noqa: PLC0415 - see require_parquet

        value, most_bytes = self._columns[name][row], self.max_page_bytes + 1 + _CHARACTER_BYTES
        plain = value.value if types.is_dictionary(value.type) else value
        if not plain.is_valid or not is_bytes(types, plain.type):
            return " " * most_bytes if self._sizes[name][row] >= most_bytes else json_value(plain)
        buffer = plain.as_buffer()
        cut = buffer.slice(0, min(most_bytes, buffer.size)).to_pybytes()
        is_text = types.is_string(plain.type) or types.is_large_string(plain.type)
        return cut.decode("utf-8", "ignore") if is_text else cut


def _record(source: Input, first: int, rows: _Rows, row: int) -> Record:
    given = {name: value for name, value in rows.values(row).items() if value is not None}
    value = msgspec.json.encode(given)[: rows.max_page_bytes + 1]
    position = Position(source.partition, first + row)
    return Record(position=position, key=None, value=value, timestamp_ms=source.timestamp_ms)
