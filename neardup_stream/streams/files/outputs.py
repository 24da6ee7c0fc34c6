"""Write output files under a temporary name, and rename them once they are complete."""

import logging
import os
import re
import secrets
from asyncio import CancelledError
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from errno import EBADF, ENXIO
from fcntl import F_GETFL, fcntl
from io import BufferedWriter
from pathlib import Path
from stat import S_IMODE, S_ISBLK, S_ISDIR, S_ISFIFO, S_ISREG
from time import sleep
from typing import IO, Final, NamedTuple

from neardup_stream.cut_short import CHECK_SECONDS, check_cut, in_thread
from neardup_stream.durable_names import sync_directory
from neardup_stream.errors import ConfigError, StreamUnavailable
from neardup_stream.streams.files.waiting_file import NamedFile, WaitingFile

__all__ = [
    "STANDARD_OUTPUT",
    "OutputFile",
    "buffered_output",
    "check_outputs",
    "check_outside",
    "is_written_directly",
    "shown_name",
]

_logger = logging.getLogger(__name__)

STANDARD_OUTPUT: Final = "-"
_STDIN_FD, _STDOUT_FD = 0, 1
_LONGEST_NAME_BYTES = 255
_DESCRIPTOR = re.compile(r"(?:/dev/fd|/proc/(self|thread-self|[0-9]+)/fd)/([0-9]+)\Z")
_NAMED_DESCRIPTORS = {"/dev/stdout": 1, "/dev/stderr": 2}


class _Target(NamedTuple):
    """The identity of a file.

    Attributes:
        device: of the file, or of the directory in which it is to be created.
        inode: the same.
        name: in that directory; empty for a file that exists.
        is_pipe: whether outputs may share it.
    """

    device: int
    inode: int
    name: str = ""
    is_pipe: bool = False


def check_outputs(inputs: Sequence[str], outputs: Sequence[str]) -> None:
    """Raise if an output is an input or another output, under any name or link.

    Terminals and devices are always accepted; several outputs may share a pipe or standard output.

    Args:
        inputs: paths; `-` is standard input.
        outputs: paths; `-` is standard output.

    Raises:
        ConfigError: writing an output would destroy an input or another output.
    """
    read = {_target(path, _STDIN_FD) for path in inputs}
    written: dict[_Target, str] = {}
    for path in outputs:
        target = _target(path, _STDOUT_FD)
        if target is None:
            continue
        if target in read:
            raise ConfigError(f"{path!r} is an input and an output: write the output to another file")
        if target in written and not target.is_pipe and {path, written[target]} != {STANDARD_OUTPUT}:
            raise ConfigError(f"{written[target]!r} and {path!r} are the same output: name two files")
        written[target] = path


def check_outside(state_dir: Path, outputs: Sequence[str]) -> None:
    """Raise if an output is in the folder of an index.

    Args:
        state_dir: the folder.
        outputs: paths; `-` is standard output.

    Raises:
        ConfigError: writing it could destroy the index.
    """
    folder = os.path.realpath(state_dir)  # unlike Path.resolve it takes a link to itself as it is
    for path in outputs:
        if path != STANDARD_OUTPUT and Path(os.path.realpath(path)).is_relative_to(folder):
            raise ConfigError(f"{path!r} is in the folder of --state: write it to another")


def _target(path: str, standard_fd: int) -> _Target | None:
    """Return the identity of `path`; None if nothing can be destroyed, or opening it will fail."""
    try:
        status = os.fstat(standard_fd) if path == STANDARD_OUTPUT else Path(path).stat()
    except FileNotFoundError:
        return _absent_target(Path(path))
    except OSError:
        return None
    if not (S_ISREG(status.st_mode) or S_ISBLK(status.st_mode) or S_ISFIFO(status.st_mode)):
        return None
    return _Target(status.st_dev, status.st_ino, is_pipe=S_ISFIFO(status.st_mode))


def _absent_target(path: Path) -> _Target | None:
    """Return the identity of a file to create: the directory after all links, and the name there."""
    place = path.resolve()
    try:
        directory = place.parent.stat()
    except OSError:
        return None
    return _Target(directory.st_dev, directory.st_ino, place.name)


class OutputFile:
    """A file to write, as a context manager; its name always refers to the old or the complete new contents.

    A regular file is written under another name in the same directory, and renamed when the block ends
    without an exception. After an exception the original file is unchanged, and the new data is in
    `partial_path`. Standard output, pipes and devices are written directly; where one has no reader, or is
    full, opening and writing wait, and call `check_cut`.

    Args:
        path: where to write; `-` is standard output.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._place = Path(path)
        self._partial: Path | None = None
        self._file: WaitingFile | None = None

    @property
    def partial_path(self) -> Path | None:
        """Return the temporary file, until it is renamed; None otherwise."""
        return self._partial

    def __enter__(self) -> WaitingFile:
        """Open the file; errors of writing to it name it.

        Raises:
            ConfigError: it may not be written.
        """
        try:
            self._file = _standard_output() if self._path == STANDARD_OUTPUT else self._opened()
        except OSError as error:
            raise ConfigError(f"cannot open {self._path!r}: {error.strerror}") from error
        return self._file

    async def enter_in_thread(self) -> WaitingFile:
        """Open the file, as `with` does, without stopping the event loop while a pipe has no reader.

        If cancelled, it is closed again.

        Raises:
            ConfigError: it may not be written.
        """
        try:
            return await in_thread(self.__enter__)
        except CancelledError as cancelled:
            if self._file is not None:
                self.__exit__(cancelled)
            raise

    def __exit__(self, *exc: object) -> None:
        """Close the file; rename it unless there was an exception.

        What is renamed has its name also after a loss of power, where its directory can be synchronized.

        Raises:
            StreamUnavailable: the disk is full or failed, or the name cannot be replaced.
        """
        assert self._file is not None  # noqa: S101 - opened by __enter__
        with self._file as file:
            if self._partial is None:
                return
            if any(exc):
                self._keep(file)
                return
            try:
                os.fsync(file.fileno())
                self._partial.replace(self._place)
            except OSError as failure:
                raise StreamUnavailable(
                    f"cannot write {self._path}: {failure.strerror}; all output is in {self._partial}"
                ) from failure
        self._partial = None
        self._keep_name()

    def check_writable(self) -> None:
        """Refuse a file or open file that may not be written, before work starts; nothing is left behind.

        Raises:
            ConfigError: it may not be written.
        """
        if _is_pipe_or_device(self._path) and _descriptor(self._place) is None:
            return  # to open it may mean to wait for its reader
        with self.__enter__() as file:
            if self._partial is not None:
                self._keep(file)

    def _opened(self) -> WaitingFile:
        descriptor = _descriptor(self._place)
        if descriptor is not None:
            return NamedFile(_duplicate(descriptor), self._path)
        status = _status(self._place)
        if status is not None and not S_ISREG(status.st_mode):
            return NamedFile(_open_pipe(self._place) if S_ISFIFO(status.st_mode) else self._path, self._path)
        if status is not None:
            os.close(os.open(self._place, os.O_WRONLY))  # raises for a file that may not be written
        self._place = self._place.resolve()
        partial = self._place.with_name(_partial_name(self._place.name))
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
        file = NamedFile(descriptor, self._path)
        self._partial = partial
        if status is not None:
            os.fchmod(file.fileno(), S_IMODE(status.st_mode))
        return file

    def _keep_name(self) -> None:
        try:
            sync_directory(self._place.parent)
        except OSError as failure:
            raise StreamUnavailable(f"cannot write {self._path}: {failure.strerror}") from failure

    def _keep(self, file: WaitingFile) -> None:
        assert self._partial is not None  # noqa: S101 - asked by the caller
        if os.fstat(file.fileno()).st_size == 0:
            self._partial.unlink(missing_ok=True)
            self._partial = None
        else:
            _logger.warning("partial_output_kept", extra={"fields": {"path": str(self._partial)}})


@contextmanager
def buffered_output(path: str) -> Iterator[IO[bytes]]:
    """Open an output file with a buffer, for many small writes.

    Raises:
        ConfigError, StreamUnavailable: as for `OutputFile`.
    """
    with OutputFile(path) as file:
        buffered = BufferedWriter(file)
        try:
            yield buffered
        finally:
            buffered.detach()  # flushes; the output closes the file


def _standard_output() -> WaitingFile:
    if fcntl(_STDOUT_FD, F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
        raise ConfigError("standard output is closed: name an output file, or redirect it")
    return NamedFile(_duplicate(_STDOUT_FD), shown_name(STANDARD_OUTPUT))


def shown_name(path: str) -> str:
    """Return what errors call an output.

    >>> shown_name("-")
    'standard output'
    """
    return "standard output" if path == STANDARD_OUTPUT else path


def is_written_directly(path: str) -> bool:
    """Return whether a path is written where it is, unlike a file that gets its name once it is complete."""
    return path == STANDARD_OUTPUT or _is_pipe_or_device(path) or _descriptor(Path(path)) is not None


def _is_pipe_or_device(path: str) -> bool:
    """Return whether a path names a pipe, a terminal or a device; none of them if it cannot be reached."""
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        return False
    return not (S_ISREG(mode) or S_ISDIR(mode))


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _descriptor(path: Path) -> int | None:
    """Return which of our open files a path names, such as /dev/stdout or /proc/self/fd/1; else None."""
    name = str(path.absolute())
    match = _DESCRIPTOR.match(name)
    if match is None:
        return _NAMED_DESCRIPTORS.get(name)
    is_ours = match[1] in {None, "self", "thread-self", str(os.getpid())}
    return int(match[2]) if is_ours else None


def _duplicate(descriptor: int) -> int:
    """Return another descriptor of an open file: to open its name would begin and empty it once more.

    That of a pipe does not block, where the system gives us one of our own: another program may fill the pipe
    just before we write.

    Raises:
        OSError: it is not open for writing.
    """
    if fcntl(descriptor, F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
        raise OSError(EBADF, os.strerror(EBADF))
    if S_ISFIFO(os.fstat(descriptor).st_mode):
        with suppress(OSError):  # there is no /proc, its reader has left, or it is that of another user
            return os.open(f"/proc/self/fd/{descriptor}", os.O_WRONLY | os.O_NONBLOCK)
    return os.dup(descriptor)


def _open_pipe(path: Path) -> int:
    """Return a descriptor of a named pipe, once it has a reader; only a wait of our own can be cut short."""
    while True:
        try:
            return os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != ENXIO:
                raise
        check_cut()
        sleep(CHECK_SECONDS)


def _partial_name(name: str) -> str:
    """Return a new name within the length limit of names."""
    suffix = f".{secrets.token_hex(4)}.partial"
    kept = os.fsencode(name)[: _LONGEST_NAME_BYTES - len(suffix)]
    return os.fsdecode(kept) + suffix
