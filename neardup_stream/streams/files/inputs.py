"""Files and pipes as runs of bytes: opened, named by their content, decompressed, damage reported.

A regular file is named by the digest of its bytes as they lie on disk, so that a copy under another
name is the same input. A pipe cannot be read twice and is named by its path.
"""

import gzip
import hashlib
import io
import lzma
import os
import select
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from stat import S_ISDIR
from typing import Protocol

from backports import zstd

from neardup_stream.errors import ConfigError, CorruptData
from neardup_stream.message import Partition
from neardup_stream.streams.files.gzip_members import decompress_members
from neardup_stream.streams.files.sniffing import decompress_sniffed

__all__ = ["CHUNK_BYTES", "STDIN", "Input", "check_readable", "is_pipe", "is_regular", "open_input"]

STDIN = "-"
"""The path that means standard input."""

CHUNK_BYTES = 1 << 23
"""Decompressed bytes taken from a file at a time: enough for a batch of pages that learn from each other."""

IDLE_MS = 100
"""How long a silent pipe is waited for before an empty chunk says so."""

DIGEST_BYTES = 16

_FILE = "file:"
"""Begins the input id of a regular file."""

_DAMAGE = (
    EOFError,
    OSError,
    zlib.error,
    zstd.ZstdError,
    zipfile.BadZipFile,
    RuntimeError,  # a zip file with a password, or packed as nobody else does
    lzma.LZMAError,
    UnicodeDecodeError,  # names in a zip file
)
"""What reading a damaged file, or one that ends too early, raises."""


class _ByteStream(Protocol):
    def read1(self, size: int, /) -> bytes: ...


_DECOMPRESSORS: dict[str, Callable[[io.RawIOBase], _ByteStream]] = {
    ".gz": lambda raw: gzip.GzipFile(fileobj=raw),
    ".zst": zstd.ZstdFile,
}


_ARCHIVES = ([".warc", ".gz"], [".wet", ".gz"])
"""What has a gzip member for each record, so that a damaged one does not hide the others."""


_COLLECTION = ".wacz"
"""A zip file with archives in one of its folders."""

_COLLECTED = "archive/"


@dataclass(frozen=True, slots=True)
class Input:
    """One opened file or pipe.

    Attributes:
        path: as given, for messages.
        partition: `file:<digest>`, `pipe:<path>` or `stdin`, the latter two with the name of the run where
            it has one; its number counts repeats of one input.
        timestamp_ms: when it was last written to, as the file system says.
        chunks: its decompressed bytes, at most `CHUNK_BYTES` at a time; an empty chunk means that a
            pipe is silent but open. Raises `CorruptData` where the file is damaged or ends too early.
    """

    path: str
    partition: Partition
    timestamp_ms: int
    chunks: Iterator[bytes]


def is_pipe(path: str) -> bool:
    """Whether `path` can be read only once: standard input, a FIFO, a process substitution."""
    return path == STDIN or not Path(path).is_file()


def is_regular(partition: Partition) -> bool:
    """Whether a partition is a regular file, which the next run may read again; a pipe never comes again."""
    return partition.input_id.startswith(_FILE)


def check_readable(path: str) -> None:
    """Find out before work starts what would fail later.

    Raises:
        ConfigError: nothing is there, it is a directory, or it may not be read.
    """
    if path == STDIN:
        return
    try:
        status = Path(path).stat()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ConfigError(f"{path}: no such file") from error
    except OSError as error:  # a name that is too long, links in a circle
        raise ConfigError(f"{path}: {error.strerror}") from error
    if S_ISDIR(status.st_mode):
        raise ConfigError(f"{path}: is a directory, expected a file")
    if not os.access(path, os.R_OK):
        raise ConfigError(f"{path}: may not be read")


@contextmanager
def open_input(path: str, seen: Counter[str], run_name: str = "") -> Iterator[Input]:
    """Open `path` and close it again.

    Args:
        path: a file, or `-`.
        seen: how often each input id was opened in this run; counted up here.
        run_name: tells what a pipe holds now from what it held in another run.

    Cost: a regular file is read once for its digest, before its first chunk.
    """
    with _open_raw(path) as raw:
        input_id = _input_id(path, raw, run_name)
        partition = Partition(input_id, seen[input_id])
        seen[input_id] += 1
        timestamp_ms = os.fstat(raw.fileno()).st_mtime_ns // 1_000_000
        yield Input(path, partition, timestamp_ms, _chunks(path, raw))


def _open_raw(path: str) -> io.FileIO:
    try:
        return io.FileIO(0, closefd=False) if path == STDIN else io.FileIO(path)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error


def _input_id(path: str, raw: io.FileIO, run_name: str) -> str:
    if is_pipe(path):
        name = "stdin" if path == STDIN else f"pipe:{path}"
        return f"{name}:{run_name}" if run_name else name
    digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
    while chunk := raw.read(CHUNK_BYTES):
        digest.update(chunk)
    raw.seek(0)
    return f"{_FILE}{digest.hexdigest()}"


def _chunks(path: str, raw: io.FileIO) -> Iterator[bytes]:
    decompress = _DECOMPRESSORS.get(Path(path).suffix)
    try:
        if Path(path).suffix == _COLLECTION:
            yield from _collection_chunks(raw)
        elif Path(path).suffixes[-2:] in _ARCHIVES:
            yield from decompress_members(raw.read, _begins_record)
        elif decompress is not None and os.fstat(raw.fileno()).st_size:  # an empty file holds no lines
            stream = decompress(raw)
            yield from _gathered(stream)
        else:
            yield from decompress_sniffed(_pipe_chunks(raw) if is_pipe(path) else _file_chunks(raw))
    except (*_DAMAGE, CorruptData) as error:
        # The position runs up to a buffer ahead of the damage: near enough to look there.
        place = "" if is_pipe(path) else f" before byte {raw.tell()}"
        raise CorruptData(f"{path}: damaged or cut off{place}: {error}") from error


def _collection_chunks(raw: io.FileIO) -> Iterator[bytes]:
    """The archives of a collection, one behind the other."""
    with zipfile.ZipFile(raw) as collection:
        for name in collection.namelist():
            if not name.startswith(_COLLECTED):
                continue
            with collection.open(name) as archive:
                if name.endswith(".gz"):
                    yield from decompress_members(archive.read, _begins_record)
                else:
                    yield from iter(partial(archive.read, CHUNK_BYTES), b"")


def _file_chunks(raw: io.FileIO) -> Iterator[bytes]:
    while chunk := raw.read(CHUNK_BYTES):
        yield chunk


def _gathered(stream: _ByteStream) -> Iterator[bytes]:
    """Chunks of full size, of a stream that hands out less; what precedes damage comes before its error."""
    chunk = bytearray()
    try:
        while piece := stream.read1(CHUNK_BYTES):
            chunk += piece
            if len(chunk) >= CHUNK_BYTES:
                yield bytes(chunk)
                chunk.clear()
    except _DAMAGE:
        if chunk:
            yield bytes(chunk)
        raise
    if chunk:
        yield bytes(chunk)


def _begins_record(beginning: bytes) -> bool:
    return beginning.startswith(b"WARC/")


def _pipe_chunks(raw: io.FileIO) -> Iterator[bytes]:
    """What the writer wrote so far, at once; a reader that waits for more must be able to give up."""
    poll = select.poll()
    poll.register(raw, select.POLLIN)
    while True:
        if not poll.poll(IDLE_MS):
            yield b""
            continue
        chunk = bytearray()
        while len(chunk) < CHUNK_BYTES and poll.poll(0):
            piece = raw.read(CHUNK_BYTES - len(chunk))
            if not piece:
                break
            chunk += piece
        if not chunk:
            return
        yield bytes(chunk)
