"""Choose how many worker processes a command starts, and bound how many may be asked for."""

import os
from typing import Final

from neardup_stream.errors import ConfigError

__all__ = ["MOST_WORKERS", "WORKER_LIMIT", "check_workers", "default_workers"]

MOST_WORKERS: Final = 8
"""With more, the process that takes in what they prepare is the bottleneck."""

WORKER_LIMIT: Final = 64
"""Processes that may be asked for: each takes some 150 MB, and beyond eight they only wait."""


def check_workers(count: int) -> int:
    """Return a number of worker processes that was asked for.

    Raises:
        ConfigError: it is less than 1 or more than `WORKER_LIMIT`.
    """
    if not 1 <= count <= WORKER_LIMIT:
        raise ConfigError(
            f"--workers {count}: it must be from 1 to {WORKER_LIMIT}; each worker takes some 150 MB, and"
            f" more than {MOST_WORKERS} are no faster"
        )
    return count


def default_workers() -> int:
    """Return the number of cores that this process may use, at most eight."""
    return min(len(os.sched_getaffinity(0)), MOST_WORKERS)
