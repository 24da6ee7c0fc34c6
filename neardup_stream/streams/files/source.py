"""Read files as a source: one after another, decompressed in a thread ahead of the pipeline."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import Self

from neardup_stream.errors import ConfigError, CorruptData
from neardup_stream.message import Partition, Record
from neardup_stream.streams.buffer import take_records
from neardup_stream.streams.files.inputs import STDIN, Input, check_readable, is_pipe, open_input
from neardup_stream.streams.files.jsonl import read_json_lines
from neardup_stream.streams.files.parquet import read_parquet, require_parquet
from neardup_stream.streams.files.warc import read_warc
from neardup_stream.streams.protocol import Drain, EndOfStream, Finish, TakeOver

__all__ = ["FileSource", "read_again"]

_Reader = Callable[[Input, int], Iterator[list[Record]]]


def _read_sniffed(source: Input, max_page_bytes: int) -> Iterator[list[Record]]:
    """Read WARC or JSON Lines, depending on the first bytes."""
    beginning = b""
    for chunk in source.chunks:
        beginning += chunk
        if len(beginning) >= len(_WARC):
            break
        if not chunk:
            yield []
    chunks = chain(filter(None, [beginning]), source.chunks)
    read = read_warc if beginning.startswith(_WARC) else read_json_lines
    yield from read(replace(source, chunks=chunks), max_page_bytes)


_WARC = b"WARC/"

_READERS: dict[str, _Reader] = {
    **{
        name + compression: read_json_lines
        for name in (".jsonl", ".jl", ".ndjson")
        for compression in ("", ".gz", ".zst")
    },
    ".warc": read_warc,
    ".warc.gz": read_warc,
    ".wacz": read_warc,
    ".wet": read_warc,
    ".wet.gz": read_warc,
    ".parquet": read_parquet,
}
"""Readers by the end of the file name."""


class FileSource:
    """Read JSON Lines, WARC, WET and Parquet files and pipes in the order given, each a partition.

    There is no resuming: opened again, the source starts at the beginning, and finished work is recognized by
    its position. So commits have no effect.

    Args:
        paths: files with known name endings, or `-`; the format of a pipe with any other name is detected
            from its first bytes: WARC, else JSON Lines, either of them compressed or not.
        max_page_bytes: larger pages are cut and rejected, without holding more of them in memory.
        run_name: part of the identity of pipes, for a store that outlives the run: a pipe has other
            contents in each run, while the identity of a file is its contents.

    Cost: the bytes of about two chunks, decompressed.
    """

    def __init__(self, paths: Sequence[str], max_page_bytes: int, run_name: str = "") -> None:
        self._paths = tuple(paths)
        self._max_page_bytes = max_page_bytes
        self._run_name = run_name
        self._ready: deque[Record] = deque()
        self._blocks: Iterator[list[Record]] = iter(())
        self._next_block: asyncio.Future[list[Record] | None] | None = None

    async def __aenter__(self) -> Self:
        """Check every path before reading the first.

        Raises:
            ConfigError: one is missing, unreadable, or of an unknown type, or its reader is not installed.
        """
        readers = [(path, _reader_of(path)) for path in self._paths]
        self._ready.clear()
        self._blocks = _read_blocks(readers, self._max_page_bytes, self._run_name)
        self._next_block = None
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Wait for the chunk being read, then close the files."""
        if self._next_block is not None:
            with suppress(CorruptData):
                await self._next_block
        self._blocks = iter(())

    def on_revoke(self, drain: Drain) -> None:
        """Do nothing: files are never revoked."""

    def on_assign(self, take_over: TakeOver) -> None:
        """Do nothing: files are never assigned."""

    def on_gap(self, finish: Finish) -> None:
        """Do nothing: a file has no gaps."""

    async def read(self, max_records: int, max_bytes: int) -> Sequence[Record]:
        """Return the next records; none while a pipe is silent.

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

    async def note_decided(self, next_offsets: Mapping[Partition, int]) -> Collection[Partition]:
        """Return every partition: all are still assigned. No other reader continues from a file."""
        return next_offsets.keys()

    async def commit(self, next_offsets: Mapping[Partition, int]) -> Mapping[Partition, int]:
        """Return the offsets: commits are not stored, because the next run starts at the beginning."""
        return next_offsets

    def lag(self) -> Mapping[Partition, int]:
        """Return nothing: the number of lines of a file is known only at its end."""
        return {}

    async def _fill(self) -> None:
        if self._next_block is None:
            self._read_ahead()
        assert self._next_block is not None  # noqa: S101 - just set
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
        self._next_block = asyncio.get_running_loop().run_in_executor(None, next, self._blocks, None)


def read_again(paths: Sequence[str], max_page_bytes: int, run_name: str = "") -> Iterator[list[Record]]:
    """Return the records of files once more, block by block, at the positions that `FileSource` gave them.

    Raises:
        ConfigError: a path is missing or unreadable.
        CorruptData: after the last block, a file is damaged.
    """
    return _read_blocks([(path, _reader_of(path)) for path in paths], max_page_bytes, run_name)


def _reader_of(path: str) -> _Reader:
    check_readable(path)
    for suffix, reader in _READERS.items():
        if path.endswith(suffix):
            if reader is read_parquet:
                require_parquet()
            return reader
    if path == STDIN or is_pipe(path):
        return _read_sniffed
    raise ConfigError(f"{path}: the name ends in none of {', '.join(_READERS)}")


def _read_blocks(
    readers: Sequence[tuple[str, _Reader]], max_page_bytes: int, run_name: str
) -> Iterator[list[Record]]:
    """Yield the blocks of every file, also after a damaged one; raise CorruptData at the end if any was."""
    seen: Counter[str] = Counter()
    damage: list[str] = []
    for path, read in readers:
        try:
            with open_input(path, seen, run_name) as source:
                yield from read(source, max_page_bytes)
        except CorruptData as error:
            damage.append(str(error))
    if damage:
        raise CorruptData("; ".join(damage))
