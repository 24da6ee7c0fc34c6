"""Make the names of files durable: a rename lies on the disk only once its directory was synchronized."""

import os
from errno import EACCES, EINVAL, ENOSYS, ENOTSUP, EOPNOTSUPP
from pathlib import Path
from typing import Final

__all__ = ["sync_directory"]


_NEVER_SYNCHRONIZED: Final = frozenset({EACCES, EINVAL, ENOSYS, ENOTSUP, EOPNOTSUPP})
"""What it fails with where we may not read the directory, or its file system cannot."""


def sync_directory(directory: Path) -> None:
    """Return once every name in a directory, as it is now, survives a loss of power.

    At once where the directory may not be read, or its file system cannot do it.

    Raises:
        OSError: the disk failed.
    """
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno not in _NEVER_SYNCHRONIZED:
            raise
