"""How many worker processes a command starts by default."""

import os
from typing import Final

__all__ = ["MOST_WORKERS", "default_workers"]

MOST_WORKERS: Final = 8
"""With more, the process that takes in what they prepare is the bottleneck."""


def default_workers() -> int:
    """Return the number of cores that this process may use, at most eight."""
    return min(len(os.sched_getaffinity(0)), MOST_WORKERS)
