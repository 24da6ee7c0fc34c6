"""Run work that may never end in a process that can be ended.

Libraries that parse markup hold the interpreter's lock while they work, and no thread can be stopped. So
untrusted pages are read in a process of their own, with a limit on CPU time and memory that the operating
system enforces. `worker_main` is what runs there.
"""

import contextlib
import logging
import os
import pickle
import signal
import socket
import subprocess
import sys
from multiprocessing.connection import Connection
from threading import Event, Lock
from typing import Final

from neardup_stream.errors import DependencyLost, InvariantBroken
from neardup_stream.pipeline.forked_parent import ForkedParent
from neardup_stream.pipeline.worker_item import WorkerItem, open_item_memory
from neardup_stream.pipeline.worker_main import ERROR, Job, pack_status

__all__ = ["STARTS", "WorkEnded", "WorkFailed", "WorkerProcess"]

STARTS: Final = 3
"""So often a process is started that is killed before it has loaded everything."""

_MODULE = "neardup_stream.pipeline.worker_main"

_logger = logging.getLogger(__name__)


class WorkEnded(Exception):  # noqa: N818 - what happened, caught by the one who asked
    """The process ended before it answered.

    Attributes:
        exit_code: its own, or the negative number of the signal that ended it.
        item: of the request, at which the process worked; None if it worked on none alone.
    """

    def __init__(self, exit_code: int, item: int | None) -> None:
        super().__init__(f"the worker process ended with {exit_code}")
        self.exit_code = exit_code
        self.item = item


class WorkFailed(Exception):  # noqa: N818 - the same
    """The work raised an exception; the text of this one is its traceback.

    Attributes:
        item: see `WorkEnded`.
    """

    def __init__(self, traceback: str, item: int | None) -> None:
        super().__init__(traceback)
        self.item = item


class WorkerProcess:
    """Runs a job's work in a process that is replaced whenever it ends.

    Args:
        job: what to do, and within which limits.
        forked: a parent that serves this job; None starts one as a program of its own.

    Threads may call at once: a request is sent while the one before it is worked on, so the process need not
    wait for this one between them. `close` may be called while `start` or `call` waits; both raise then.
    """

    def __init__(self, job: Job, forked: ForkedParent | None = None) -> None:
        self._job = job
        self._forked = forked
        self._parent: subprocess.Popen[bytes] | ForkedParent | None = None
        self._control: socket.socket | None = None
        self._child: Connection | None = None
        self._item: WorkerItem | None = None
        self._is_closed = False
        self._replacing = Lock()
        self._sending = Lock()
        self._answered = Event()
        self._answered.set()

    def start(self) -> None:
        """Load everything. Takes a second, or as long as it takes to compile the kernels.

        Raises:
            DependencyLost: it was killed `STARTS` times meanwhile, by another process or for want of memory.
            InvariantBroken: the job could not be loaded, and the process has said why; or this is closed.
        """
        for _ in range(STARTS):
            if self._loads():
                self._fork()
                return
            exit_code = self._exit_code()
            self._require_open()
            if exit_code != -signal.SIGKILL:
                raise InvariantBroken(f"the process that prepares pages ended with {exit_code}; see above")
            _logger.warning("worker_start_killed")
            self._end()
        raise DependencyLost(
            f"the process that prepares pages was killed {STARTS} times while it started: is there memory?"
        )

    def _loads(self) -> bool:
        """Start the parent, and return whether it has loaded everything; if not, it ends."""
        parent = self._open()
        if isinstance(parent, ForkedParent):
            parent.load()
        elif parent.stdin is not None:
            with contextlib.suppress(BrokenPipeError), parent.stdin as stdin:  # the process ended: no status
                stdin.write(pickle.dumps(self._job))
        return self._status() is not None

    def _exit_code(self) -> int:
        """Return how the parent ended, once it has; 0 where `close` has removed it."""
        parent = self._parent
        return parent.wait() if parent is not None else 0

    def _open(self) -> subprocess.Popen[bytes] | ForkedParent:
        """Start the parent, unless this is closed: `close` ends it, or none is started after it."""
        with self._replacing:
            self._require_open()
            forked, self._forked = self._forked, None
            if forked is not None:
                self._parent, self._control, self._item = forked, forked.control, forked.item
                return forked
            ours, theirs = socket.socketpair()
            with theirs, open_item_memory() as item:
                self._control, self._item = ours, WorkerItem(item)
                self._parent = subprocess.Popen(  # noqa: S603 - ourselves
                    [sys.executable, "-m", _MODULE, str(theirs.fileno()), str(item)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,  # which is for events
                    pass_fds=[theirs.fileno(), item],
                    start_new_session=True,
                )
            return self._parent

    def call(self, request: bytes) -> bytes:
        """Return the work's answer. After an exception the next call finds a fresh process.

        Raises:
            WorkEnded: the process ended at this request, because of its limits or otherwise.
            WorkFailed: the work raised an exception.
            InvariantBroken: this is closed.
        """
        while (answer := self._answer(request)) is None:
            pass
        return answer

    def _answer(self, request: bytes) -> bytes | None:
        """Return the work's answer; None if the process ended at an earlier request."""
        with self._sending:
            self._require_open()
            if self._parent is None:
                self.start()
            child, item = self._child, self._item
            if child is None or item is None:  # closed since
                raise WorkEnded(self._replace(), None)
            earlier, self._answered = self._answered, Event()
            own = self._answered
            with contextlib.suppress(OSError):  # the process has ended: so says its answer
                child.send_bytes(request)
        try:
            earlier.wait()
            return self._received(child, item) if child is self._child else None
        finally:
            own.set()

    def _received(self, child: Connection, item: WorkerItem) -> bytes:
        """Return the answer to the oldest request."""
        try:
            answer = child.recv_bytes()
        except (EOFError, OSError):
            with self._sending:
                place = item.read()
                raise WorkEnded(self._replace(), place) from None
        if answer[:1] == ERROR:
            with self._sending:
                place = item.read()
                self._replace()
                raise WorkFailed(answer[1:].decode(), place)
        return answer[1:]

    def close(self) -> None:
        """End the process, whatever it does."""
        with self._replacing:
            self._is_closed = True
        self._end()

    def _require_open(self) -> None:
        if self._is_closed:
            raise InvariantBroken("the process that prepares pages is closed")

    def _replace(self) -> int:
        """Another child in place of one that ended; returns how that did."""
        exit_code = self._status()
        if exit_code is None:  # the parent was ended too
            self._end()
            self._require_open()
            self.start()
            return -signal.SIGKILL
        self._fork()
        return exit_code

    def _fork(self) -> None:
        control, former, item = self._control, self._child, self._item
        if item is not None:
            item.write(None)
        ours, theirs = socket.socketpair()
        # Where the parent has ended, the next call finds no child, and starts both again.
        with theirs, contextlib.suppress(OSError):
            if control is not None:
                socket.send_fds(control, [b"+"], [theirs.fileno()])
        if former is not None:
            former.close()
        self._child = Connection(ours.detach())

    def _status(self) -> int | None:
        """Return what the parent says of its child; None where it is gone."""
        control = self._control
        if control is None:
            return None
        try:
            status = control.recv(len(pack_status(0)), socket.MSG_WAITALL)
        except OSError:
            return None
        return int.from_bytes(status, "big", signed=True) if status else None

    def _end(self) -> None:
        with self._replacing:
            parent, control, child = self._parent, self._control, self._child
            self._parent = self._control = self._child = None
        if parent is not None:
            if parent.returncode is None:  # otherwise its id may be that of another process
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(parent.pid, signal.SIGKILL)
            parent.wait()
        for end in (control, child):
            if end is not None:
                end.close()
