"""Define what a worker process may use, apart from what starts it."""

from typing import NamedTuple

__all__ = ["WorkerLimits"]


class WorkerLimits(NamedTuple):
    """What each item of a request may use, and work on all its items at once.

    Attributes:
        cpu_seconds: of all threads, in user and system mode.
        memory_bytes: more than the child has when it starts.
    """

    cpu_seconds: float
    memory_bytes: int
