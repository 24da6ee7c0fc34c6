"""Make the names of files durable: a rename lies on the disk only once its directory was synchronized."""

import os
from pathlib import Path

__all__ = ["sync_directory"]


def sync_directory(directory: Path) -> None:
    """Return once every name in a directory, as it is now, survives a loss of power.

    Raises:
        OSError: the disk failed, the directory may not be read, or its file system cannot do it (EINVAL,
            ENOSYS, EOPNOTSUPP).
    """
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
