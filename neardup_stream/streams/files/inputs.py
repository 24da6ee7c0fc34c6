"""Open files and pipes, identify them by their content, decompress them, and report damage.

The identity of a regular file is the digest of its bytes on disk, so that a copy under another name is the
same input. A pipe cannot be read twice; its identity is its path.
"""

import gzip
import io
import os
import select
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from stat import S_ISDIR
from typing import Protocol

from backports import zstd

from neardup_stream.errors import ConfigError, CorruptData
from neardup_stream.message import Partition
from neardup_stream.streams.files.digests import FILE, Identify, identity_of
from neardup_stream.streams.files.file_names import has_ending, utf8_name
from neardup_stream.streams.files.record_places import FilePlaces, Members, UnknownPlaces
from neardup_stream.streams.files.sniffing import decompress_sniffed
from neardup_stream.streams.files.wacz import COLLECTION_ENDING, DAMAGE, collection_chunks
from neardup_stream.streams.files.waiting_file import wait_for
from neardup_stream.streams.files.warc_framing import Places

__all__ = [
    "CHUNK_BYTES",
    "STDIN",
    "Input",
    "check_readable",
    "compressible_endings",
    "is_pipe",
    "is_regular",
    "open_input",
]

STDIN = "-"
"""The path that means standard input."""

CHUNK_BYTES = 1 << 23
"""Decompressed bytes read from a file at once: enough for a batch of pages, whose frames are learned
together.
"""

IDLE_MS = 100
"""How long to wait for a silent pipe before returning an empty chunk."""


class _ByteStream(Protocol):
    def read1(self, size: int, /) -> bytes: ...


_DECOMPRESSORS: dict[str, Callable[[io.RawIOBase], _ByteStream]] = {
    ".gz": lambda raw: gzip.GzipFile(fileobj=raw),
    ".zst": zstd.ZstdFile,
}


def compressible_endings(endings: Sequence[str]) -> tuple[str, ...]:
    """Return the endings of file names, each as it is and followed by that of each known compression."""
    return tuple(ending + packed for ending in endings for packed in ("", *_DECOMPRESSORS))


_ARCHIVES = (".warc.gz", ".wet.gz")
"""File types with a gzip member for each record, so that a damaged one does not hide the others."""


@dataclass(frozen=True, slots=True)
class Input:
    """An opened file or pipe.

    Attributes:
        path: as given, for messages.
        partition: `file:<digest>`, `pipe:<path>` or `stdin`, the latter two with the name of the run if
            it has one; its number counts repeats of one input. While the digest is not known a file is
            `path:<path>`, see `LateDigests`.
        timestamp_ms: modification time in the file system.
        chunks: its decompressed bytes, at most `CHUNK_BYTES` at a time; an empty chunk means that a
            pipe is silent but open. Raises `CorruptData` where the file is damaged or ends too early.
        places: where records of an archive begin and end in them, as far as that is known.
        descriptor: that reads it, for what does not read it from its beginning to its end.
    """

    path: str
    partition: Partition
    timestamp_ms: int
    chunks: Iterator[bytes]
    places: Places
    descriptor: int


def is_pipe(path: str) -> bool:
    """Return whether `path` can be read only once: standard input, a FIFO, a process substitution."""
    return path == STDIN or not Path(path).is_file()


def is_regular(partition: Partition) -> bool:
    """Return whether a partition is a regular file, which another run may read again, unlike a pipe."""
    return partition.input_id.startswith(FILE)


def check_readable(path: str) -> None:
    """Check before work starts that a path can be read.

    Raises:
        ConfigError: the path does not exist, is a directory, or may not be read.
    """
    if path == STDIN:
        return
    try:
        status = Path(path).stat()
    except (FileNotFoundError, NotADirectoryError) as error:
        remedy = "; files are named by their path, and servers in settings" if "://" in path else ""
        raise ConfigError(f"{path}: no such file{remedy}") from error
    except OSError as error:  # the name is too long, or its links form a cycle
        raise ConfigError(f"{path}: {error.strerror}") from error
    if S_ISDIR(status.st_mode):
        raise ConfigError(f"{path}: is a directory, expected a file")
    if not os.access(path, os.R_OK):
        raise ConfigError(f"{path}: may not be read")


@contextmanager
def open_input(
    path: str, seen: Counter[str], run_name: str = "", identify: Identify = identity_of
) -> Iterator[Input]:
    """Open `path` and close it again.

    Args:
        path: a file, or `-`.
        seen: how often each input id was opened in this run; incremented here.
        run_name: distinguishes the contents of a pipe from those in another run.
        identify: returns the input id of a regular file; by default its digest is computed here, before its
            first chunk.
    """
    with _open_raw(path) as raw:
        input_id = _input_id(path, raw, run_name, identify)
        partition = Partition(input_id, seen[input_id])
        seen[input_id] += 1
        timestamp_ms = os.fstat(raw.fileno()).st_mtime_ns // 1_000_000
        members = Members()
        places = members if _has_members(path) else _places(path, raw)
        yield Input(path, partition, timestamp_ms, _chunks(path, raw, members), places, raw.fileno())


def _open_raw(path: str) -> io.FileIO:
    try:
        if path == STDIN:
            return io.FileIO(0, closefd=False)
        is_named_pipe = Path(path).resolve().is_fifo()  # that of a process substitution has no name
        return _open_named_pipe(path) if is_named_pipe else io.FileIO(path)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error


def _open_named_pipe(path: str) -> io.FileIO:
    """Open a pipe without waiting for its writer, which no signal could end."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(descriptor, True)
    return io.FileIO(descriptor)


def _input_id(path: str, raw: io.FileIO, run_name: str, identify: Identify) -> str:
    if is_pipe(path):
        name = "stdin" if path == STDIN else f"pipe:{utf8_name(path)}"
        return f"{name}:{run_name}" if run_name else name
    return identify(path, raw.fileno())


def _has_members(path: str) -> bool:
    return has_ending(path, (COLLECTION_ENDING, *_ARCHIVES))


def _places(path: str, raw: io.FileIO) -> Places:
    return UnknownPlaces() if is_pipe(path) else FilePlaces(raw.fileno())


def _chunks(path: str, raw: io.FileIO, members: Members) -> Iterator[bytes]:
    has_begun = False
    try:
        for chunk in _decompressed(path, raw, members):
            has_begun = has_begun or bool(chunk)
            yield chunk
    except DAMAGE as error:
        # Damage may set the flag of a frame in the middle that says so.
        if not has_begun and isinstance(error, zstd.ZstdError) and "ictionary" in str(error):
            remedy = "which is not read here: decompress it first (zstd -d -D DICTIONARY)"
            raise CorruptData(f"{path}: compressed with a dictionary, {remedy}") from error
        # The position may be up to one buffer after the damage.
        place = "" if is_pipe(path) or has_ending(path, COLLECTION_ENDING) else f" before byte {raw.tell()}"
        raise CorruptData(f"{path}: damaged or cut off{place}: {error}") from error


def _decompressed(path: str, raw: io.FileIO, members: Members) -> Iterator[bytes]:
    decompress = _DECOMPRESSORS.get(Path(path).suffix.lower())
    if has_ending(path, COLLECTION_ENDING):
        yield from collection_chunks(raw, members, CHUNK_BYTES)
    elif has_ending(path, _ARCHIVES):
        yield from members.decompressed(partial(_read_pipe, raw) if is_pipe(path) else raw.read)
    elif decompress is not None and os.fstat(raw.fileno()).st_size:  # an empty file has no lines
        yield from _gathered(decompress(raw))
    else:
        yield from decompress_sniffed(_pipe_chunks(raw) if is_pipe(path) else _file_chunks(raw))


def _read_pipe(raw: io.FileIO, size_bytes: int) -> bytes:
    """Read once there is something, or no writer any more, which a pipe without one yet seems to have had."""
    wait_for(raw, select.POLLIN)
    return raw.read(size_bytes)


def _file_chunks(raw: io.FileIO) -> Iterator[bytes]:
    while chunk := raw.read(CHUNK_BYTES):
        yield chunk


def _gathered(stream: _ByteStream) -> Iterator[bytes]:
    """Yield chunks of full size from a stream that returns smaller ones.

    Data before damage precedes the error.
    """
    chunk = bytearray()
    try:
        while piece := stream.read1(CHUNK_BYTES):
            chunk += piece
            if len(chunk) >= CHUNK_BYTES:
                yield bytes(chunk)
                chunk.clear()
    except DAMAGE:
        if chunk:
            yield bytes(chunk)
        raise
    if chunk:
        yield bytes(chunk)


def _pipe_chunks(raw: io.FileIO) -> Iterator[bytes]:
    """Yield what the writer wrote so far, without waiting for a full chunk, so that a reader can stop."""
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
