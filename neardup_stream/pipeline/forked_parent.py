"""Forks the parents of worker processes from one that has loaded everything, before it starts a thread.

A parent that is a program of its own loads Python, NumPy and the kernels once more: most of a second.
"""

import contextlib
import os
import signal
import socket
import traceback
from typing import Final

from neardup_stream.held_signals import held_signals
from neardup_stream.pipeline.worker_item import WorkerItem, open_item_memory
from neardup_stream.pipeline.worker_main import Job, ignore_signals, serve

__all__ = ["ForkedParent", "fork_parent"]

_LOAD: Final = b"!"


class ForkedParent:
    """A parent that was forked and waits, with nothing loaded of its job.

    Attributes:
        pid: of the process, which leads a group of its own.
        control: the socket to it.
        item: which item its child works on.
        returncode: its exit code, or the negative number of a signal, once `wait` has seen its end.
    """

    def __init__(self, pid: int, control: socket.socket, item: WorkerItem) -> None:
        self.pid = pid
        self.control = control
        self.item = item
        self._is_loading = False
        self.returncode: int | None = None

    def load(self) -> None:
        """Let the process load its job, unless it does; it then sends its status."""
        if not self._is_loading:
            self._is_loading = True
            with contextlib.suppress(OSError):  # it has ended: no status
                self.control.send(_LOAD)

    def wait(self) -> int:
        """Wait until the process has ended, and return its exit code, or the negative number of a signal.

        From then on its id may be that of another process.
        """
        if self.returncode is None:
            status = 0
            with contextlib.suppress(ChildProcessError):
                _, status = os.waitpid(self.pid, 0)
            self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def close(self) -> None:
        """End the process and its group, unless `wait` has seen its end."""
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            self.wait()
        self.control.close()


def fork_parent(job: Job) -> ForkedParent:
    """Fork this process, which has one thread; the other one serves the job once `load` is called.

    Raises:
        OSError: the system refuses another process.
    """
    ours, theirs = socket.socketpair()
    with theirs, open_item_memory() as memory:
        item = WorkerItem(memory)
        with held_signals():  # the hooks that Python calls at a fork drop what handlers raise
            pid = os.fork()
            if pid == 0:
                _run(theirs, item, job)
        with contextlib.suppress(OSError):  # it did so itself, and may have ended since
            os.setpgid(pid, pid)
    return ForkedParent(pid, ours, item)


def _run(control: socket.socket, item: WorkerItem, job: Job) -> None:
    """Be the parent; never returns."""
    exit_code = 1
    try:
        ignore_signals()
        os.setpgid(0, 0)
        _close_all_but(control.fileno())
        if control.recv(1):
            serve(control, item, job)
        exit_code = 0
    except BaseException:  # noqa: BLE001 - the top of this process
        os.write(2, traceback.format_exc().encode("utf-8", "replace"))
    finally:
        os._exit(exit_code)


def _close_all_but(descriptor: int) -> None:
    """Close what belongs to the other process: its outputs, and sockets that are to end with it."""
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1):
        os.dup2(null, standard)
    os.closerange(3, descriptor)
    os.closerange(descriptor + 1, os.sysconf("SC_OPEN_MAX"))
