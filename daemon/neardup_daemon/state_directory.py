"""The directory in which a private server keeps its data from one run to the next.

One run uses it at a time: it holds the lock of a file there, and so do the processes that it starts. Those of
a run that was killed need a moment to end, and the next run waits for them.
"""

import asyncio
import errno
import fcntl
import os
import stat
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import Final, TextIO

from neardup_daemon.exit_codes import DISK_TROUBLE
from neardup_stream.errors import ConfigError, StreamUnavailable

__all__ = ["held_state_directory"]

_WAIT_SECONDS: Final = 20.0
"""For the server of a killed run to bring its last writes to the disk."""
_PAUSE_SECONDS: Final = 0.01

_ROOT: Final = 0
_LONGEST_PID: Final = 20
_ENDED_STATES: Final = (b"Z", b"X")
"""Of a process, as its stat in /proc has them behind its name."""
_OPEN_LOCK: Final = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
"""Neither through a link nor emptying what it finds."""


@asynccontextmanager
async def held_state_directory(directory: Path, wait_seconds: float = _WAIT_SECONDS) -> AsyncIterator[int]:
    """Make the directory if it is missing, and hold its lock.

    Args:
        directory: on a file system that has locks.
        wait_seconds: for the processes of a run that has ended, 0 or more.

    Yields:
        the descriptor of the lock, for the processes that use the directory to inherit.

    Raises:
        ConfigError: it cannot be used, is not ours alone, or another run is using it.
        StreamUnavailable: it has no room, or its disk fails.
    """
    with ExitStack() as stack:
        try:
            lock = stack.enter_context(_opened_lock(directory))
            await _take(lock, directory, monotonic() + wait_seconds)
            os.truncate(lock.fileno(), 0)
            os.pwrite(lock.fileno(), b"%d" % os.getpid(), 0)
        except OSError as error:
            raise _unusable(directory, error) from error
        yield lock.fileno()


def _opened_lock(directory: Path) -> TextIO:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    _check_is_ours(directory)
    return os.fdopen(os.open(directory / "lock", _OPEN_LOCK, 0o600), "w")


async def _take(lock: TextIO, directory: Path, deadline: float) -> None:
    """Take the lock, once the processes of a run that has ended release it.

    Raises:
        ConfigError: another run holds it, or they are still there at the deadline.
        OSError: the file system has no locks.
    """
    while not _is_taken(lock):
        holder = _holder(lock)
        if holder is None or _is_running(holder):
            process = "" if holder is None else f": process {holder}"
            raise ConfigError(
                f"another run is using the state directory {directory}{process}; wait for it, stop it, or"
                " choose another directory"
            )
        if monotonic() > deadline:
            raise ConfigError(
                f"the state directory {directory} is still in use, though process {holder}, which used it"
                f" last, does not run here; stop what uses it ('fuser {directory}/lock' names it), or choose"
                " another directory"
            )
        await asyncio.sleep(_PAUSE_SECONDS)


def _is_taken(lock: TextIO) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(lock: TextIO) -> int | None:
    """Return which process took the lock last, as far as it has said so."""
    said = os.pread(lock.fileno(), _LONGEST_PID, 0)
    return int(said) if said.isdigit() else None


def _is_running(pid: int) -> bool:
    if _is_unread(pid):
        return False
    try:
        with suppress(PermissionError):
            os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):  # the latter for a number that no process can have
        return False
    return True


def _is_unread(pid: int) -> bool:
    """Return whether a process that is there has only its exit code left, which its parent has not read yet.

    False where there is no /proc.
    """
    try:
        status = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return False
    return status.rpartition(b")")[2].lstrip()[:1] in _ENDED_STATES  # its name may have parentheses too


def _unusable(directory: Path, error: OSError) -> ConfigError | StreamUnavailable:
    words = f"cannot use the state directory {directory}: {error.strerror}"
    return StreamUnavailable(words, "disk") if error.errno in DISK_TROUBLE else ConfigError(words)


def _check_is_ours(directory: Path) -> None:
    """Refuse a directory in which another user could replace a file of ours, or plant a link.

    Raises:
        ConfigError: it belongs to another user, or others may write in it.
        OSError: it is no directory.
    """
    status = directory.stat()
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    if status.st_uid not in {os.geteuid(), _ROOT}:
        raise ConfigError(
            f"the state directory {directory} belongs to another user: chown it, or use another"
        )
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise ConfigError(
            f"other users may write in the state directory {directory}: run 'chmod go-w' on it or use another"
        )
