"""Read pages from JSON Lines, and write events to them."""

import os
from collections.abc import Iterator, Sequence
from fcntl import F_GETFL, fcntl
from functools import partial
from io import FileIO
from pathlib import Path
from stat import S_ISREG
from typing import Final, Self

from neardup_stream.cut_short import in_thread
from neardup_stream.errors import StreamUnavailable
from neardup_stream.message import Message, Position, Record
from neardup_stream.streams.files.inputs import Input
from neardup_stream.streams.files.outputs import OutputFile, shown_name

__all__ = ["JSON_LINES_ENDINGS", "JsonLinesSink", "read_json_lines"]

JSON_LINES_ENDINGS: Final = (".jsonl", ".jl", ".ndjson")
"""Of file names; compressed files have a second ending."""


def read_json_lines(source: Input, max_page_bytes: int) -> Iterator[list[Record]]:
    """Yield a record for each line, in blocks; the offset is the line's number from 0.

    Blank lines give no record but keep their number. Of a line longer than `max_page_bytes` only the first
    `max_page_bytes + 1` bytes are kept: enough for the decoder to reject it.
    """
    partition, timestamp_ms = source.partition, source.timestamp_ms
    first = 0
    for lines in _lines(source.chunks, max_page_bytes + 1):
        yield [
            Record(position=Position(partition, offset), key=None, value=line, timestamp_ms=timestamp_ms)
            for offset, line in enumerate(lines, first)
            if line and not line.isspace()
        ]
        first += len(lines)


def _lines(chunks: Iterator[bytes], max_bytes: int) -> Iterator[list[bytes]]:
    """Yield whole lines without their newline, cut to `max_bytes`; an empty list for an empty chunk."""
    unfinished = b""
    for chunk in chunks:
        lines = chunk.split(b"\n")
        lines[0] = unfinished + lines[0]
        unfinished = lines.pop()[:max_bytes]
        yield [line[:max_bytes] for line in lines]
    if unfinished:
        yield [unfinished]


class JsonLinesSink:
    """Write each value and a newline; lines have no keys, headers or times.

    A `send` returns when the operating system has the bytes. If the reader closed the pipe, it raises
    `BrokenPipeError` itself, which is an error neither of ours nor of the stream.

    Args:
        path: a file, which is replaced when the block ends without an exception; `-` is standard output.
    """

    max_message_bytes: int | None = None

    def __init__(self, path: str) -> None:
        self._path = path
        self._output = OutputFile(path)
        self._file: FileIO | None = None

    async def __aenter__(self) -> Self:
        """Create the file; a named pipe is open once it has a reader.

        Raises:
            ConfigError: it may not be written.
        """
        self._file = await self._output.enter_in_thread()
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Close the file and rename it; standard output stays open.

        Raises:
            StreamUnavailable: the disk is full or failed.
        """
        if self._file is not None:
            self._output.__exit__(*exc)

    def finish(self) -> None:
        """Close the file and rename it now, whatever ends the block.

        Raises:
            StreamUnavailable: the disk is full or failed.
        """
        self._file = None
        self._output.__exit__()

    @property
    def partial_path(self) -> Path | None:
        """Return the temporary file, until it is renamed; None otherwise."""
        return self._output.partial_path

    async def send(self, messages: Sequence[Message]) -> None:
        """Write all messages or none, as far as the file can be truncated.

        If cancelled while a full pipe waits for its reader, part of a line may be written.

        Raises:
            StreamUnavailable: the disk is full or failed.
            BrokenPipeError: the reader of our output closed it.
        """
        if messages:
            lines = b"".join(_line(message) for message in messages)
            await in_thread(partial(self._write, lines))

    def _write(self, lines: bytes) -> None:
        file = self._file
        assert file is not None  # noqa: S101 - opened by __aenter__
        start, written = _end_of(file), 0
        try:
            while written < len(lines):
                written += file.write(memoryview(lines)[written:])
        except BrokenPipeError:
            raise
        except OSError as error:
            if start is not None and start + written == os.fstat(file.fileno()).st_size:
                file.truncate(start)  # otherwise half a line would precede its repetition
                file.seek(start)
            raise StreamUnavailable(f"{shown_name(self._path)}: {os.strerror(error.errno or 0)}") from error


def _end_of(file: FileIO) -> int | None:
    """Return where in the file the next byte is written; None where it is none with places."""
    status = os.fstat(file.fileno())
    if not S_ISREG(status.st_mode):
        return None
    return status.st_size if fcntl(file.fileno(), F_GETFL) & os.O_APPEND else file.tell()


def _line(message: Message) -> bytes:
    return (message.value or b"") + b"\n"
