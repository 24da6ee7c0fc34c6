"""A limit for the size of files, which stands for a full disk."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["largest_file"]


@contextmanager
def largest_file(size_bytes: int) -> Iterator[None]:
    """Let no file of this process grow beyond this size."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
