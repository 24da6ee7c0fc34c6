"""Create a temporary directory for its user alone, which is removed with its process.

A process that is killed cannot remove its directory, so the next one does. A lock in each directory marks
those still in use. The kernel releases it once the process has ended, and those that it forked, unless they
closed it. On a file system without locks a directory that is left stays.
"""

import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_ISDIR

__all__ = ["private_directory"]

_LOCK = "owner"

_NO_LOCKS = frozenset({errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS})
"""What locking fails with on a file system that has no locks, as some of networks."""


@contextmanager
def private_directory(parent: Path, prefix: str) -> Iterator[Path]:
    """Create a directory in `parent` and remove it, with all in it, when the block ends.

    Directories that killed processes of this user left in `parent` are removed first, where there are locks.

    Args:
        parent: where it is created; others may write there.
        prefix: of its name, and of those that are removed.

    Raises:
        OSError: it cannot be created.
    """
    for left in parent.glob(f"{prefix}*"):
        _remove_if_left(left)
    with tempfile.TemporaryDirectory(prefix=prefix, dir=parent, ignore_cleanup_errors=True) as name:
        directory = Path(name)
        with _locked(directory):
            yield directory


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Hold the lock of a new directory, if there are locks; it has its name only once it is held."""
    unnamed = directory / f".{_LOCK}"
    with unnamed.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
        else:
            unnamed.rename(directory / _LOCK)
        yield


def _remove_if_left(directory: Path) -> None:
    """Remove a directory of ours whose process has ended; leave any other, and one that just disappears."""
    with suppress(OSError):
        status = directory.lstat()
        if not S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            return
        lock = os.open(directory / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(directory, ignore_errors=True)
        finally:
            os.close(lock)
