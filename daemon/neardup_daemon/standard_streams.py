"""Standard input, output and error that are closed at the start, or whose reader leaves."""

import codecs
import errno
import os
import sys
from io import BufferedWriter, FileIO, TextIOWrapper
from typing import Any, Final, TextIO

from neardup_stream.errors import ConfigError
from neardup_stream.streams.files.waiting_file import NamedFile

__all__ = ["buffer_standard_output", "discard", "open_closed_streams"]


class _ClosedOutput(FileIO):
    """Standard output that was closed at the start: the first write says so."""

    def write(self, data: Any) -> int:
        """Write where `discard` has led the stream; raise ConfigError before."""
        try:
            return super().write(data)
        except OSError as error:
            if error.errno != errno.EBADF:
                raise
            raise ConfigError("standard output is closed: redirect it to a file, or to /dev/null") from error


def open_closed_streams() -> None:
    """Open `/dev/null` in the place of each standard stream that the process was started without.

    Otherwise the first files and sockets get the numbers of these streams, and events are written into them.
    Standard output is opened for reading only, so that no write to it succeeds, of any process.
    """
    if sys.stdin is None:
        sys.stdin = open(_devnull(os.O_RDWR), encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stdout is None:
        closed = _ClosedOutput(_devnull(os.O_RDONLY), "w", closefd=False)
        sys.stdout = TextIOWrapper(BufferedWriter(closed), encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = open(_devnull(os.O_RDWR), "w", encoding="utf-8", closefd=False)  # noqa: SIM115


_USUAL: Final = frozenset({"strict", "surrogateescape"})
"""What Python does of its own accord with characters that an encoding does not have."""


def buffer_standard_output() -> None:
    """Give standard output a buffer, also with PYTHONUNBUFFERED, and let it wait for room.

    What its encoding does not have is written as an escape sequence, as on standard error.

    Without a buffer Python loses what the operating system does not take at once, as of a disk that becomes
    full; without waiting a write to a full pipe fails where another program made the pipe non-blocking.
    """
    former = sys.stdout
    if isinstance(getattr(former.buffer, "raw", None), _ClosedOutput):
        return
    sys.stdout = TextIOWrapper(
        BufferedWriter(NamedFile(former.fileno(), "standard output", closefd=False)),
        encoding=former.encoding,
        errors=former.errors if _is_utf8(former) or former.errors not in _USUAL else "backslashreplace",
        line_buffering=former.isatty(),
    )


def _is_utf8(stream: TextIO) -> bool:
    """Return whether a stream encodes every character."""
    return codecs.lookup(stream.encoding).name == "utf-8"


def _devnull(flags: int) -> int:
    descriptor = os.open(os.devnull, flags)  # the lowest free number, which is this stream's
    os.set_inheritable(descriptor, True)  # noqa: FBT003 - positional only
    return descriptor


def discard(stream: TextIO) -> None:
    """Let all that is written to a stream go nowhere.

    The interpreter flushes once more when it ends, and would complain of what could not be written.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
