"""A server as a child process: started, awaited, stopped; it never outlives the process that started it."""

import fcntl
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from random import SystemRandom

__all__ = [
    "HEARING_SIGNALS",
    "POLL_SECONDS",
    "ServerFailed",
    "ServerMissing",
    "ServerProcess",
    "children_of",
    "find_program",
    "free_ports",
    "is_asleep",
    "is_listening",
    "is_paused",
    "is_running",
    "wait_until",
]

POLL_SECONDS = 0.02
STOP_SECONDS = 60
LOG_TAIL_BYTES = 4096

# Below the range from which the kernel takes the local ports of outgoing connections (32768 and up):
# no other process takes one of these between our look and the server's bind.
FIRST_PORT, LAST_PORT = 15000, 32000
_LAST_PORT_FILE = Path(tempfile.gettempdir(), f"neardup-test-port-{os.getuid()}")


HEARING_SIGNALS = ("env", "--default-signal=INT,HUP")
"""Before a command that is to be signaled: what runs in the background starts with SIGINT ignored."""


class ServerMissing(Exception):  # noqa: N818 - it names what is wrong with the machine
    """A program the tests need is not installed; the message says what to install."""


class ServerFailed(Exception):  # noqa: N818 - it names what happened to the server
    """A server ended early or did not become ready in time; the message ends with its log."""


class ServerProcess:
    """A running child. It is killed when the *thread* that started it ends, however that ends."""

    def __init__(self, command: Sequence[str], directory: Path) -> None:
        self._command = command
        self._directory = directory
        self._log = directory / "server.log"
        self._child = self._start()

    def start_again(self) -> None:
        """Run it anew, once it has ended, in the same directory."""
        self._child = self._start()

    @property
    def pid(self) -> int:
        """Process id of the server itself: setpriv has replaced itself by it."""
        return self._child.pid

    def has_ended(self) -> bool:
        """Return whether it runs no more."""
        return self._child.poll() is not None

    def wait_until_ready(self, is_ready: Callable[[], bool], timeout_seconds: float) -> None:
        """Return once `is_ready`.

        Raises:
            ServerFailed: the process ended, or the time was over.
        """
        try:
            wait_until(lambda: self._alive() and is_ready(), timeout_seconds)
        except TimeoutError:
            self.kill()
            raise ServerFailed(f"not ready after {timeout_seconds} s\n{self.log_tail()}") from None

    def stop(self) -> None:
        """End it politely, then firmly; harmless when it is gone already."""
        self.end(STOP_SECONDS)

    def end(self, timeout_seconds: float) -> int:
        """End it politely, then firmly after so many seconds; return its exit code."""
        self._child.terminate()
        try:
            return self._child.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            return self._child.wait()

    def kill(self) -> None:
        """End it at once (SIGKILL); harmless when it is gone already."""
        self._child.send_signal(signal.SIGKILL)
        self._child.wait()

    def freeze(self) -> None:
        """Pause the process with SIGSTOP; return once every thread is stopped."""
        self._child.send_signal(signal.SIGSTOP)
        wait_until(lambda: is_paused(self.pid), STOP_SECONDS)

    def thaw(self) -> None:
        """Let it go on."""
        self._child.send_signal(signal.SIGCONT)

    def log_tail(self) -> str:
        """Return the last few kilobytes of what the server said."""
        return self._log.read_bytes()[-LOG_TAIL_BYTES:].decode(errors="replace")

    def _start(self) -> "subprocess.Popen[bytes]":
        with self._log.open("ab") as log:
            return subprocess.Popen(
                # The kernel sends it when the parent dies, so not even SIGKILL leaves a server behind.
                [find_program("setpriv", package="util-linux"), "--pdeathsig", "KILL", "--", *self._command],
                cwd=self._directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for pytest, whose fixtures then stop the servers
                restore_signals=False,  # a file that may not grow is an error to it, and no deadly SIGXFSZ
            )

    def _alive(self) -> bool:
        if (code := self._child.poll()) is not None:
            raise ServerFailed(f"ended with code {code} before it was ready\n{self.log_tail()}")
        return True


def is_paused(pid: int) -> bool:
    """Return whether every thread of a process is stopped, as by SIGSTOP."""
    threads = Path(f"/proc/{pid}/task")
    try:
        return all(_state(thread) == "T" for thread in threads.iterdir())
    except (FileNotFoundError, ProcessLookupError):  # a thread ended while we looked
        return False


def is_asleep(pid: int) -> bool:
    """Return whether the first thread of a process waits, as for input."""
    return _state(Path(f"/proc/{pid}/task/{pid}")) == "S"


def is_running(pid: int) -> bool:
    """Return whether any thread of a process has not ended: until then the process holds its locks."""
    for thread in _threads(pid):
        with suppress(FileNotFoundError, ProcessLookupError):  # it ended while we looked
            if _state(thread) not in "XZ":
                return True
    return False


def children_of(pid: int) -> list[int]:
    """Return the processes that a process has started and not waited for; none once it has ended."""
    found: list[int] = []
    for thread in _threads(pid):
        with suppress(FileNotFoundError, ProcessLookupError):  # it ended while we looked
            found += map(int, (thread / "children").read_text(encoding="ascii").split())
    return found


def _threads(pid: int) -> list[Path]:
    """Return their directories; none once the process has ended."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return list(Path(f"/proc/{pid}/task").iterdir())
    return []


def _state(thread: Path) -> str:
    """Return one letter, as proc(5) has it."""
    return (thread / "stat").read_text(encoding="utf-8").rpartition(") ")[2][0]


def wait_until(condition: Callable[[], bool], timeout_seconds: float) -> None:
    """Poll until `condition` holds.

    Raises:
        TimeoutError: it did not hold in time.
    """
    deadline = time.monotonic() + timeout_seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"still not so after {timeout_seconds} s")
        time.sleep(POLL_SECONDS)


def free_ports(count: int) -> list[int]:
    """Return `count` TCP ports of 127.0.0.1 on which no process listens.

    They are handed out in turn to all test processes of this user, of any checkout: a port is not handed out
    again before the range is used up, so its server has time to bind it.
    """
    found: list[int] = []
    with _LAST_PORT_FILE.open("a+", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # until the file is closed
        file.seek(0)
        port = int(file.read() or SystemRandom().randrange(FIRST_PORT, LAST_PORT))
        while len(found) < count:
            port = port + 1 if port < LAST_PORT else FIRST_PORT
            if not is_listening(port):
                found.append(port)
        file.truncate(0)
        file.write(str(port))
    return found


def is_listening(port: int) -> bool:
    """Return whether a server accepts connections on this TCP port of 127.0.0.1."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def find_program(name: str, package: str) -> str:
    """Path of a program on PATH.

    Raises:
        ServerMissing: there is none; the message names the Debian `package` that brings it.
    """
    path = shutil.which(name)
    if path is None:
        raise ServerMissing(f"{name} is not on PATH; the tests need it: apt-get install {package}")
    return path
