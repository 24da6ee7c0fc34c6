"""Copies chosen rows of input files into a new one: the deduplicated corpus.

JSON Lines hold the rows as they were read. Parquet, from Parquet alone, keeps the columns and their types:
Arrow record batches go from file to file, and only rows are left out.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from itertools import chain
from typing import IO, Any, Final

import numpy as np
from numpy.typing import NDArray

from neardup_stream.cut_short import check_cut
from neardup_stream.errors import ConfigError, CorruptData
from neardup_stream.message import Partition, Position, Record
from neardup_stream.streams.files.file_names import has_ending
from neardup_stream.streams.files.inputs import Input, compressible_endings, is_pipe, open_input
from neardup_stream.streams.files.jsonl import JSON_LINES_ENDINGS
from neardup_stream.streams.files.outputs import buffered_output
from neardup_stream.streams.files.parquet import (
    PARQUET_ENDING,
    ROWS_AT_ONCE,
    opened_parquet,
    require_parquet,
    stored_schema,
)
from neardup_stream.streams.files.source import read_again

__all__ = ["Rows", "check_corpus", "copy_rows"]

_READ_AT_ONCE: Final = 8192
"""Rows of Parquet that is not damaged."""


class Rows:
    """Rows of inputs."""

    def __init__(self) -> None:
        self._offsets: defaultdict[Partition, list[int]] = defaultdict(list)

    def add(self, position: Position) -> None:
        """Add the row at this position."""
        self._offsets[position.partition].append(position.offset)

    def __len__(self) -> int:
        return sum(map(len, self._offsets.values()))

    def of(self, partition: Partition) -> NDArray[np.int64]:
        """Return the rows of one input, ascending."""
        return np.unique(np.array(self._offsets.get(partition, ()), np.int64))


def check_corpus(inputs: Sequence[str], output: str) -> None:
    """Refuse a corpus that cannot be written, before work starts.

    Raises:
        ConfigError: an input cannot be read a second time, the output is of a kind that is not written, or
            does not go with the inputs.
    """
    if pipes := [path for path in inputs if is_pipe(path)]:
        raise ConfigError(f"{pipes[0]!r} cannot be read a second time: name a file to keep pages of it")
    lines = ", ".join(JSON_LINES_ENDINGS)
    if has_ending(output, PARQUET_ENDING):
        require_parquet()
        allowed: tuple[str, ...] = (PARQUET_ENDING,)
        kept, remedy = "of Parquet alone", f"keep its pages in a file whose name ends in {lines}"
    elif has_ending(output, JSON_LINES_ENDINGS):
        allowed = (PARQUET_ENDING, *compressible_endings(JSON_LINES_ENDINGS))
        kept, remedy = "of JSON Lines and Parquet", "--write-warc keeps the pages of WARC files"
    else:
        raise ConfigError(f"{output!r} must end in {lines}, {PARQUET_ENDING} to keep pages in it")
    if others := [path for path in inputs if not has_ending(path, allowed)]:
        raise ConfigError(f"{output!r} keeps rows {kept}, and {others[0]!r} is none: {remedy}")
    if has_ending(output, PARQUET_ENDING):
        with suppress(CorruptData):  # the run reports a damaged input
            _common_schema(inputs, is_damaged=True)


def copy_rows(
    inputs: Sequence[str],
    rows: Rows,
    output: str,
    max_page_bytes: int,
    run_name: str,
    *,
    is_damaged: bool = False,
) -> int:
    """Write rows of the inputs, in their order, and return how many were written.

    Where it is cut short, which `check_cut` says now and then, the output keeps what it was.

    Args:
        inputs: paths that `check_corpus` has accepted for this output.
        rows: to be copied.
        output: path, which is replaced once it is complete.
        max_page_bytes: no row that is copied is longer.
        run_name: of the source that read the inputs first.
        is_damaged: whether that source could not read all; then as much is copied as can be read.

    Raises:
        CorruptData: no input was damaged, and rows are missing: one has changed since it was read; or
            pyarrow does not copy the rows.
        ConfigError: the inputs have different columns, or the output may not be written.
        StreamUnavailable: the disk is full or failed.

    Cost: one more pass over the inputs; memory of a block of rows.
    """
    with buffered_output(output) as file:
        if has_ending(output, PARQUET_ENDING):
            count = _copy_parquet(file, inputs, rows, run_name, is_damaged=is_damaged)
        else:
            records = chain.from_iterable(read_again(inputs, max_page_bytes, run_name))
            count = _copy_lines(file, records, rows)
        if count < len(rows) and not is_damaged:
            raise CorruptData(
                f"{len(rows) - count} of {len(rows)} pages to be kept are missing: an input has changed"
                " while it was read; run again"
            )
    return count


def _copy_lines(file: IO[bytes], records: Iterable[Record], rows: Rows) -> int:
    count = 0
    wanted: dict[Partition, set[int]] = {}
    with suppress(CorruptData):  # the run has reported it
        for record in records:
            check_cut()
            partition, offset = record.position.partition, record.position.offset
            if partition not in wanted:
                wanted[partition] = set(rows.of(partition).tolist())
            if offset in wanted[partition]:
                file.write((record.value or b"") + b"\n")
                count += 1
    return count


def _copy_parquet(
    file: IO[bytes], inputs: Sequence[str], rows: Rows, run_name: str, *, is_damaged: bool
) -> int:
    parquet, count = require_parquet(), 0
    schema = _common_schema(inputs, is_damaged=is_damaged)
    seen: Counter[str] = Counter()
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for path in inputs:
            with open_input(path, seen, run_name) as opened:
                for batch in _batches(opened, rows.of(opened.partition), is_damaged=is_damaged):
                    check_cut()
                    writer.write_batch(batch)
                    count += batch.num_rows
    return count


def _common_schema(paths: Sequence[str], *, is_damaged: bool) -> Any:
    """Return the columns of all files; where inputs are damaged, of all that still say theirs."""
    schemas = {}
    for path in paths:
        with suppress(CorruptData) if is_damaged else nullcontext():
            schemas[path] = stored_schema(path)
    if not schemas:
        raise CorruptData("no input says its columns, so no rows can be kept")
    (first_path, first), *others = schemas.items()
    for path, schema in others:
        if not schema.equals(first):
            raise ConfigError(
                f"{path!r} has other columns than {first_path!r}: keep their pages in a file each"
            )
    return first


def _batches(opened: Input, wanted: NDArray[np.int64], *, is_damaged: bool) -> Iterator[Any]:
    """Return the wanted rows of a file; of damaged inputs as far as it can be read."""
    import pyarrow as pa  # noqa: PLC0415 - see require_parquet

    try:
        with opened_parquet(opened.descriptor) as source, require_parquet().ParquetFile(source) as file:
            first = 0
            for batch in _read_batches(file, ROWS_AT_ONCE if is_damaged else _READ_AT_ONCE):
                here = wanted[
                    np.searchsorted(wanted, first) : np.searchsorted(wanted, first + batch.num_rows)
                ]
                if here.size:
                    yield batch.take(pa.array(here - first))
                first += batch.num_rows
    except (OSError, UnicodeDecodeError, pa.ArrowException) as error:
        if not is_damaged:  # else the run has reported it
            raise CorruptData(f"{opened.path}: its rows cannot be copied by pyarrow: {error}") from error


def _read_batches(file: Any, row_count: int) -> Iterator[Any]:
    """Return all rows as `read_parquet` reads them, so that of damaged files no fewer are read."""
    for group in range(file.num_row_groups):
        yield from file.iter_batches(row_count, row_groups=[group])
