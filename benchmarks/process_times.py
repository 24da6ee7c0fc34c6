"""Read what processes have spent: CPU time of one process, and of all that it has started."""

import os
from collections.abc import Iterator
from pathlib import Path

__all__ = ["cpu_seconds", "started_cpu_seconds"]

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_OWN = slice(11, 13)
_REAPED = slice(13, 15)
"""Fields of `/proc/PID/stat` behind the name: user and system time, its own and that of ended children."""


def cpu_seconds(pid: int) -> float:
    """Return the processor time of one process, without those that it has started."""
    return _seconds(pid, _OWN)


def started_cpu_seconds(pid: int, *, but: int = 0) -> float:
    """Return the processor time of all processes that a process has started, and they in turn.

    Those that have ended count once their parent has waited for them.

    Args:
        pid: of the process.
        but: a process among them that is left out, with those that it has started.
    """
    ended = _seconds(pid, _REAPED)
    return ended + sum(_seconds(each, _OWN) + _seconds(each, _REAPED) for each in _started(pid, but))


def _started(pid: int, but: int) -> Iterator[int]:
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (task / "children").read_text(encoding="ascii").split()):
            if child != but:
                yield child
                yield from _started(child, but)


def _seconds(pid: int, fields: slice) -> float:
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    ticks = stat.rpartition(")")[2].split()[fields]
    return sum(map(int, ticks)) / _TICKS_PER_SECOND
