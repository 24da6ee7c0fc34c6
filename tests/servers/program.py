"""Runs of the program, each in a process of its own that need not import it: see `tests/servers/forking.py`.

Python takes a second of CPU time to import the program, and the tests run it more than a thousand times.
"""

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, Protocol

from tests.servers.process import HEARING_SIGNALS, ServerFailed

__all__ = [
    "Child",
    "ForkedProgram",
    "Invocation",
    "PipedProgram",
    "environment",
    "pack_number",
    "piped_program",
    "run_program",
    "start_program",
]

ROOT = Path(__file__).parents[2]
NUMBER_BYTES: Final = 4


class Invocation(NamedTuple):
    """One run of the program."""

    words: Sequence[str]
    environ: Mapping[str, str]
    directory: str


def pack_number(number: int) -> bytes:
    """Return a process id or an exit code as it crosses a socket."""
    return number.to_bytes(NUMBER_BYTES, "big", signed=True)


class Child(Protocol):
    """What `subprocess.Popen` and `ForkedProgram` have in common."""

    @property
    def pid(self) -> int: ...
    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def send_signal(self, sig: int) -> None: ...
    def kill(self) -> None: ...


class ForkedProgram:
    """A run of the program, with the methods of `subprocess.Popen`."""

    def __init__(self, link: socket.socket) -> None:
        self._link = link
        self._exit_code: int | None = None
        pid = self._number()
        if pid is None:
            raise ServerFailed("the process that forks the program has ended; see its standard error")
        self.pid = pid

    def poll(self) -> int | None:
        """Return the exit code, or None while the program runs."""
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code once the program ends; the negative number of the signal that ended it.

        Raises:
            subprocess.TimeoutExpired: it runs still after `timeout` seconds.
        """
        if self._exit_code is None:
            self._link.settimeout(timeout)
            try:
                reported = self._number()
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired("neardup-stream", timeout or 0) from None
            self._link.close()
            # Nothing is reported where the watcher was killed, with which the kernel kills the program.
            self._exit_code = -signal.SIGKILL if reported is None else reported
        return self._exit_code

    def send_signal(self, sig: int) -> None:
        """Send a signal, unless the program has ended."""
        if self.poll() is None:
            os.kill(self.pid, sig)

    def kill(self) -> None:
        """End the program with SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def _number(self) -> int | None:
        packed = self._link.recv(NUMBER_BYTES)
        return int.from_bytes(packed, "big", signed=True) if packed else None


class _Forker:
    """The process that forks programs; started for the first one, ended with this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._control: socket.socket | None = None

    def fork(self, invocation: Invocation, streams: Sequence[int]) -> ForkedProgram:
        """Run the program on these standard streams."""
        ours, theirs = socket.socketpair()
        with theirs, self._lock:
            self._control = self._control or _start_forking()
            socket.send_fds(self._control, [b"+"], [theirs.fileno(), *streams])
        with ours.makefile("w") as sent:
            json.dump(invocation, sent)
            sent.write("\n")
        return ForkedProgram(ours)


def _start_forking() -> socket.socket:
    ours, theirs = socket.socketpair()
    with theirs:
        command = [
            *HEARING_SIGNALS,
            *(sys.executable, "-m", "tests.servers.forking"),
            str(theirs.fileno()),
        ]
        child = subprocess.Popen(command, cwd=ROOT, pass_fds=[theirs.fileno()], start_new_session=True)

    def end() -> None:
        ours.close()
        child.wait()

    atexit.register(end)
    return ours


_forker = _Forker()


def environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Return our environment with these settings and no others."""
    return {name: value for name, value in os.environ.items() if not name.startswith("NEARDUP_")} | dict(
        settings
    )


def start_program(
    words: Sequence[str],
    environ: Mapping[str, str],
    streams: tuple[int, int, int],
    before: Sequence[str] = (),
) -> Child:
    """Start the program.

    Args:
        words: its command line.
        environ: settings, the only ones it has. With other variables Python is started for this run, because
            it reads some of them at its start.
        streams: descriptors of standard input, output and error.
        before: a command that becomes the program's, given as further words.
    """
    if before or not all(name.startswith("NEARDUP_") for name in environ):
        command = [*before, sys.executable, "-m", "neardup_daemon", *words]
        stdin, stdout, stderr = streams
        return subprocess.Popen(command, stdin=stdin, stdout=stdout, stderr=stderr, env=environment(environ))
    return _forker.fork(Invocation(list(words), environment(environ), str(Path.cwd())), streams)


class PipedProgram(NamedTuple):
    """A run of the program with pipes as its standard streams."""

    child: Child
    stdin: BinaryIO
    stdout: BinaryIO
    stderr: BinaryIO


@contextmanager
def piped_program(words: Sequence[str], environ: Mapping[str, str] | None = None) -> Iterator[PipedProgram]:
    """Start the program; kill it at the end. See `start_program`."""
    pipes = [os.pipe() for _ in range(3)]
    (read_in, write_in), (read_out, write_out), (read_error, write_error) = pipes
    theirs = (read_in, write_out, write_error)
    with (
        os.fdopen(write_in, "wb") as stdin,
        os.fdopen(read_out, "rb") as stdout,
        os.fdopen(read_error, "rb") as stderr,
    ):
        try:
            child = start_program(words, environ or {}, theirs)
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        try:
            yield PipedProgram(child, stdin, stdout, stderr)
        finally:
            child.kill()
            child.wait()


def run_program(
    words: Sequence[str], stdin: bytes, environ: Mapping[str, str], timeout_seconds: float
) -> subprocess.CompletedProcess[bytes]:
    """Run the program to its end.

    Raises:
        subprocess.TimeoutExpired: it did not end in time, and was killed.
    """
    with piped_program(words, environ) as run, ThreadPoolExecutor(3) as threads:
        threads.submit(_feed, run.stdin, stdin)
        printed, complaints = threads.submit(run.stdout.read), threads.submit(run.stderr.read)
        try:
            exit_code = run.child.wait(timeout_seconds)
        finally:
            run.child.kill()
        return subprocess.CompletedProcess(list(words), exit_code, printed.result(), complaints.result())


def _feed(pipe: BinaryIO, content: bytes) -> None:
    try:
        with pipe:
            pipe.write(content)
    except BrokenPipeError:
        pass  # it does not read to the end
