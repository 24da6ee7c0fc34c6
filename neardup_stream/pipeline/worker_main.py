"""Run the other side of `worker_process`: a parent that loads everything once, and its working child.

    daemon ── control socket ──► parent ── fork ──► child
       └───────────── a socket for each child ────────┘

The parent waits for its child and says how it ended; the daemon then asks for another one, which starts in
milliseconds, because nothing has to be loaded again. The child limits itself: the kernel ends it when an
item of a request takes too much CPU time, also in compiled code that never returns to Python, and refuses it
memory. Before each item it notes the item in memory that the daemon reads (`worker_item`), so the daemon
knows which one ended the process. Both end when the daemon does.
"""

import contextlib
import gc
import os
import pickle
import resource
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Final, NamedTuple

from neardup_stream.held_signals import ENDING_SIGNALS
from neardup_stream.pipeline.worker_item import WorkerItem
from neardup_stream.pipeline.worker_limits import WorkerLimits

__all__ = [
    "ERROR",
    "OUT_OF_MEMORY",
    "RESULT",
    "SHORT_OF_MEMORY",
    "Job",
    "OnItem",
    "Work",
    "ignore_signals",
    "pack_status",
    "serve",
]

OnItem = Callable[[int | None], None]
"""Called with the place of the item that is worked on next; with None before work on all items at once."""

Work = Callable[[bytes, OnItem], bytes]
"""What is done in the other process: answers a request, and calls the function before each item of it."""

RESULT: Final = b"+"
ERROR: Final = b"-"
"""The first byte of an answer; behind it stands the result, or the traceback."""

OUT_OF_MEMORY: Final = 99
"""The exit code of a child that was refused memory: the item took more than its limit."""

SHORT_OF_MEMORY: Final = 98
"""The same of a child that had grown before the request came: the item may have taken less."""

_ROOM_BYTES: Final = 64 << 20
"""What the child may hold besides the memory of one item: half of it for what earlier requests left behind,
half for the results of the other items of the request."""

_STATUS_BYTES: Final = 4

_COLLECTED_AT: Final = (700, 10, 10)
"""Python's own, whatever the process that forks a worker has set: garbage of pages may be large."""


class Job(NamedTuple):
    """What a worker is started for; it crosses in a pickle.

    Attributes:
        load: called once, in the parent: imports, compiles and warms up, and returns what does the work.
        limits: of each item of a request, and of work on all items at once.
    """

    load: Callable[[], Work]
    limits: WorkerLimits


def pack_status(exit_code: int) -> bytes:
    """Return how a child ended, as bytes: its exit code, or the negative number of a signal."""
    return exit_code.to_bytes(_STATUS_BYTES, "big", signed=True)


def main(control: socket.socket, item: WorkerItem) -> None:
    """Serve the job that is written to standard input until the daemon closes its end."""
    ignore_signals()
    gc.disable()  # until all is loaded, which stays
    serve(control, item, pickle.load(sys.stdin.buffer))  # noqa: S301 - the daemon wrote it


def ignore_signals() -> None:
    """Ignore what stops the daemon: a signal to the terminal or the group is for it, and it drains first."""
    for number in ENDING_SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def serve(control: socket.socket, item: WorkerItem, job: Job) -> None:
    """Load the job, and serve until the daemon closes its end."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    work = job.load()
    gc.freeze()
    gc.set_threshold(*_COLLECTED_AT)
    gc.enable()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the daemon is gone
        control.sendall(pack_status(0))
        while True:
            message, descriptors, _, _ = socket.recv_fds(control, 1, 1)
            if not message:
                return
            control.sendall(
                pack_status(_run_child(control, descriptors[0], work, _Limiter(job.limits, item)))
            )


def _run_child(control: socket.socket, descriptor: int, work: Work, limiter: "_Limiter") -> int:
    child = os.fork()
    if child == 0:
        control.close()
        os._exit(_serve(Connection(descriptor), work, limiter))
    os.close(descriptor)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def _serve(connection: Connection, work: Work, limiter: "_Limiter") -> int:
    """Answer requests until the daemon closes its end; returns the exit code."""
    has_room = True
    try:
        limiter.limit_memory()
        while True:
            request = connection.recv_bytes()
            has_room = limiter.has_room()
            limiter.begin(None)
            answer = work(request, limiter.begin)
            limiter.end()
            connection.send_bytes(RESULT + answer)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return 0
    except MemoryError:
        return OUT_OF_MEMORY if has_room else SHORT_OF_MEMORY
    except Exception:  # noqa: BLE001 - the top of this process: the daemon decides what it means
        connection.send_bytes(ERROR + traceback.format_exc().encode("utf-8", "replace"))
        return 1


class _Limiter:
    """Limits what this process takes, and notes for which item.

    Args:
        limits: of one item.
        item: noted there.
    """

    def __init__(self, limits: WorkerLimits, item: WorkerItem) -> None:
        self._limits = limits
        self._item = item
        self._first_bytes = 0

    def limit_memory(self) -> None:
        """Refuse this process more than it has, the memory of one item and some room."""
        self._first_bytes = _data_bytes()
        limit_bytes = self._first_bytes + self._limits.memory_bytes + _ROOM_BYTES
        resource.setrlimit(resource.RLIMIT_DATA, (limit_bytes, limit_bytes))

    def has_room(self) -> bool:
        """Return whether an item that is refused memory now must have taken more than its limit."""
        return _data_bytes() <= self._first_bytes + _ROOM_BYTES // 2

    def begin(self, item: int | None) -> None:
        """Note the item, and give it CPU time of its own: SIGPROF ends the process when it is used up.

        Cost: 1 µs.
        """
        signal.setitimer(signal.ITIMER_PROF, self._limits.cpu_seconds)
        self._item.write(item)  # last: time that is used up before is that of the item noted before

    def end(self) -> None:
        """Note that no item is worked on, and count no CPU time until the next one begins."""
        signal.setitimer(signal.ITIMER_PROF, 0)
        self._item.write(None)


def _data_bytes() -> int:
    """Return what counts for RLIMIT_DATA. Cost: 20 µs."""
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 - one line of the kernel's
        return int(file.read().split()[5]) * resource.getpagesize()


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])), WorkerItem(int(sys.argv[2])))
