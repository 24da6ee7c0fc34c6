"""Run programs in processes of their own, and time them with all processes that they start."""

import ctypes
import os
import resource
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

__all__ = ["Spent", "adopt_orphans", "event_pairs", "run_timed"]

_SUBREAPER: Final = 36
"""Of prctl."""


class Spent(NamedTuple):
    """What a program took: wall clock, and CPU time of all its processes."""

    seconds: float
    cpu_seconds: float


class _Id(msgspec.Struct):
    id: str


class _Data(msgspec.Struct):
    page: _Id
    matches: list[_Id] = []


class _Event(msgspec.Struct):
    data: _Data


def adopt_orphans() -> None:
    """Make workers that a program leaves behind children of this process, so that their CPU time counts."""
    assert ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0) == 0


def run_timed(command: Sequence[str]) -> Spent:
    """Run a program to its end; it must succeed."""
    # Installed programs have their bytecode; the first run of a checkout writes its own.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    cpu, start = _cpu_seconds(), time.perf_counter()
    ended = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    seconds = time.perf_counter() - start
    assert ended.returncode == 0, ended.stderr
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    return Spent(seconds, _cpu_seconds() - cpu)


def event_pairs(path: Path) -> set[tuple[str, str]]:
    """Return the pairs that a file of events names: a page and each of its matches."""
    events = [msgspec.json.decode(line, type=_Event).data for line in path.read_bytes().splitlines()]
    return {(event.page.id, match.id) for event in events for match in event.matches}


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
