"""Read files as a source: one after another, decompressed in a thread ahead of the pipeline."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterator, KeysView, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import Self

from neardup_stream.cut_short import in_thread
from neardup_stream.errors import ConfigError, CorruptData
from neardup_stream.message import Partition, Position, Record
from neardup_stream.streams.buffer import take_records
from neardup_stream.streams.files.digests import Identify, identity_of
from neardup_stream.streams.files.file_names import has_ending
from neardup_stream.streams.files.inputs import (
    STDIN,
    Input,
    check_readable,
    compressible_endings,
    is_pipe,
    open_input,
)
from neardup_stream.streams.files.jsonl import JSON_LINES_ENDINGS, read_json_lines
from neardup_stream.streams.files.parquet import PARQUET_ENDING, read_parquet, require_parquet
from neardup_stream.streams.files.warc import read_warc
from neardup_stream.streams.files.warc_blocks import BEGINNING
from neardup_stream.streams.finite import FiniteSource
from neardup_stream.streams.protocol import EndOfStream

__all__ = ["FileSource", "PlaceOf", "check_inputs", "read_again", "record_number"]

PlaceOf = Callable[[Position], str]
"""Names the place of a record, for a person."""

_Reader = Callable[[Input, int], Iterator[list[Record]]]


def _read_sniffed(source: Input, max_page_bytes: int) -> Iterator[list[Record]]:
    """Read WARC or JSON Lines, depending on the first bytes."""
    beginning = b""
    for chunk in source.chunks:
        beginning += chunk
        if len(beginning) >= len(BEGINNING):
            break
        if not chunk:
            yield []
    chunks = chain(filter(None, [beginning]), source.chunks)
    read = read_warc if beginning.startswith(BEGINNING) else read_json_lines
    yield from read(replace(source, chunks=chunks), max_page_bytes)


_READERS: dict[str, _Reader] = {
    **dict.fromkeys(compressible_endings(JSON_LINES_ENDINGS), read_json_lines),
    **dict.fromkeys(compressible_endings((".warc", ".wet")), read_warc),
    ".wacz": read_warc,
    PARQUET_ENDING: read_parquet,
}
"""Readers by the end of the file name."""


class FileSource(FiniteSource):
    """Read JSON Lines, WARC, WET, WACZ and Parquet files and pipes in the order given, each a partition.

    Args:
        paths: files with known name endings, or `-`; the format of a pipe with any other name is detected
            from its first bytes: WARC, else JSON Lines, either of them compressed or not.
        max_page_bytes: larger pages are cut and rejected, without holding more of them in memory.
        run_name: part of the identity of pipes, for a store that outlives the run: a pipe has other
            contents in each run, while the identity of a file is its contents.
        identify: returns the input ids of regular files; see `EarlyDigests` and `LateDigests`.

    Cost: the bytes of about two chunks, decompressed.
    """

    def __init__(
        self,
        paths: Sequence[str],
        max_page_bytes: int,
        run_name: str = "",
        identify: Identify = identity_of,
    ) -> None:
        self._identify = identify
        self._paths = tuple(paths)
        self._max_page_bytes = max_page_bytes
        self._run_name = run_name
        self._ready: deque[Record] = deque()
        self._units: dict[Partition, str] = {}
        self._blocks: Iterator[list[Record]] = iter(())
        self._next_block: asyncio.Task[list[Record] | None] | None = None

    async def __aenter__(self) -> Self:
        """Check every path, then begin to read the first.

        Raises:
            ConfigError: one is missing, unreadable, or of an unknown type, its reader is not installed, or
                standard input is named twice.
        """
        _require_one_stdin(self._paths)
        readers = [(path, _reader_of(path)) for path in self._paths]
        self._ready.clear()
        self._blocks = _read_blocks(
            readers, self._max_page_bytes, self._run_name, self._identify, self._units
        )
        self._read_ahead()
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Cut the chunk short that is being read, wait until it is, then close the files."""
        if self._next_block is not None:
            self._next_block.cancel()
            await asyncio.wait({self._next_block})
            with suppress(asyncio.CancelledError, ConfigError, CorruptData):  # of what nothing has read
                self._next_block.result()
        self._blocks = iter(())

    async def read(self, max_records: int, max_bytes: int) -> Sequence[Record]:
        """Return the next records; none while a pipe of JSON Lines is silent.

        Raises:
            EndOfStream: every file was read to its end.
            CorruptData: a file is damaged; all readable records of it, and of the files after it, were
                returned.
        """
        if not self._ready:
            await self._fill()
        return take_records(self._ready, max_records, max_bytes)

    async def batches(self, max_records: int, max_bytes: int) -> AsyncIterator[Sequence[Record]]:
        """Read every file to its end.

        Raises:
            CorruptData: as `read`, after the last batch.
        """
        while True:
            try:
                records = await self.read(max_records, max_bytes)
            except EndOfStream:
                return
            yield records

    @property
    def is_exhausted(self) -> bool:
        """Whether every record of every file was returned; known a moment after the last one was."""
        block = self._next_block
        if self._ready or block is None or not block.done() or block.cancelled():
            return False
        return block.exception() is None and block.result() is None

    @property
    def partitions(self) -> KeysView[Partition]:
        """What the paths were when they were opened, in their order."""
        return self._units.keys()

    def place_of(self, position: Position) -> str:
        """Return the place of a record that was read, for a person: `crawl.jsonl, line 3`, counted from 1."""
        return f"{self._units[position.partition]} {position.offset + 1}"

    async def _fill(self) -> None:
        assert self._next_block is not None  # noqa: S101 - set when this was opened
        await asyncio.wait(
            {self._next_block}
        )  # unlike awaiting the future, a cancelled wait does not cancel it
        # A failed block, and the end, stay in place: every later read returns the same.
        block = self._next_block.result()
        if block is None:
            raise EndOfStream
        self._ready.extend(block)
        self._read_ahead()

    def _read_ahead(self) -> None:
        blocks = self._blocks
        self._next_block = asyncio.create_task(in_thread(lambda: next(blocks, None)))


def record_number(position: Position) -> str:
    """Return the number of a record for a person, who counts from 1.

    >>> record_number(Position(Partition("file", 0), 0))
    'record 1'
    """
    return f"record {position.offset + 1}"


def read_again(paths: Sequence[str], max_page_bytes: int, run_name: str = "") -> Iterator[list[Record]]:
    """Return the records of files once more, block by block, at the positions that `FileSource` gave them.

    Raises:
        ConfigError: a path is missing or unreadable.
        CorruptData: after the last block, a file is damaged.
    """
    return _read_blocks([(path, _reader_of(path)) for path in paths], max_page_bytes, run_name)


def check_inputs(paths: Sequence[str], other_endings: Sequence[str] = ()) -> None:
    """Check that pages can be read from paths, by their names and rights; nothing is opened or imported.

    Args:
        paths: of files of pages.
        other_endings: of names that the caller reads itself, to be named beside ours.

    Raises:
        ConfigError: one is missing, unreadable, or of an unknown type, or standard input is named twice.
    """
    _require_one_stdin(paths)
    for path in paths:
        _format_of(path, other_endings)


def _require_one_stdin(paths: Sequence[str]) -> None:
    if list(paths).count(STDIN) > 1:
        raise ConfigError("standard input (-) is named twice: its pages can be read once")


def _reader_of(path: str) -> _Reader:
    reader = _format_of(path)
    if reader is read_parquet:
        require_parquet()
    return reader


def _format_of(path: str, other_endings: Sequence[str] = ()) -> _Reader:
    check_readable(path)
    for suffix, reader in _READERS.items():
        if has_ending(path, suffix):
            return reader
    if path == STDIN or is_pipe(path):
        return _read_sniffed
    if has_ending(path, (".json", ".json.gz")):
        raise ConfigError(
            f"{path}: a file of pages has one page a line and a name that ends in .jsonl; one page as JSON is"
            " for explain, or in one line for standard input (-)"
        )
    raise ConfigError(
        f"{path}: pages are read from JSON Lines, WARC, WET, WACZ and Parquet; the name ends in none of"
        f" {', '.join([*_READERS, *other_endings])}"
    )


def _read_blocks(
    readers: Sequence[tuple[str, _Reader]],
    max_page_bytes: int,
    run_name: str,
    identify: Identify = identity_of,
    units: dict[Partition, str] | None = None,
) -> Iterator[list[Record]]:
    """Yield the blocks of every file, also after a damaged one; raise CorruptData at the end if any was.

    `units` is filled with what the offsets of each file count: `crawl.jsonl, line`.
    """
    seen: Counter[str] = Counter()
    damage: list[str] = []
    for path, read in readers:
        try:
            with open_input(path, seen, run_name, identify) as source:
                if units is not None:
                    unit = "line" if read is read_json_lines else "record"
                    units[source.partition] = f"{'standard input' if path == STDIN else path}, {unit}"
                yield from read(source, max_page_bytes)
        except CorruptData as error:
            damage.append(str(error))
    if damage:
        raise CorruptData("; ".join(damage))
