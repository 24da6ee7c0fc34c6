"""A process that imports the program once and forks a process for each run of it.

    tests ── control socket ──► this process ── fork ──► watcher ── fork ──► the program
      └──────────── one socket for each run ────────────────┘

`python -m tests.servers.forking DESCRIPTOR` serves until the other end of its control socket is closed, as by
SIGKILL; the kernel then ends the watchers and the programs too. For each run it receives one end of a socket
and the standard streams of the program. The command line comes over that socket as JSON; the process id and,
when the program ends, its exit code are sent back.
"""

import atexit
import contextlib
import ctypes
import gc
import json
import logging
import os
import pkgutil
import signal
import socket
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn, TextIO

from neardup_daemon.__main__ import main as run_program

import daemon
import neardup_stream
from neardup_stream.fingerprints.simhash import SimhashConfig, fingerprint_texts
from tests.kernels import KERNELS
from tests.servers.program import Invocation, pack_number

__all__: list[str] = []

STREAM_COUNT = 3
HELD_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Wait until the program runs: while a process is forked, Python would lose the exceptions they raise."""
_exit_codes: list[object] = []
"""Of the program that this process became: what it has left with."""

_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1
"""From linux/prctl.h."""


def _end() -> None:
    """End a program that was forked, once what its command registered for the exit was called.

    The interpreter would free every object next, and to do so write to all memory that this process shares
    with the one that forked it: a copy of 100 MB, six times the CPU time of a short command.
    """
    if _exit_codes and isinstance(_exit_codes[0], int):
        with contextlib.suppress(OSError, ValueError):  # the interpreter says so
            logging.shutdown()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(_exit_codes[0])


def _load() -> None:
    """Import every module that a command may import, and the compiled kernels first."""
    for load in KERNELS:
        load()
    fingerprint_texts(["one page", 99 * "e\N{COMBINING ACUTE ACCENT}\N{SOFT HYPHEN}"], SimhashConfig())
    for package in (daemon, neardup_stream):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            import_module(module.name)
    gc.collect()
    gc.freeze()


def _serve(control: socket.socket) -> None:
    atexit.register(_end)  # before what commands register, so that it is called behind that
    _load()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nothing waits for the watchers
    signal.pthread_sigmask(signal.SIG_BLOCK, HELD_SIGNALS)
    own = os.getpid()
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1, 1 + STREAM_COUNT)
        if not message:
            return
        if os.fork() == 0:
            _end_with(own)
            control.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _watch(descriptors[0], descriptors[1:])
        for descriptor in descriptors:
            os.close(descriptor)


def _watch(link_descriptor: int, streams: Sequence[int]) -> NoReturn:
    """Start the program, and report its process id and how it ends."""
    own = os.getpid()
    link = socket.socket(fileno=link_descriptor)
    with link.makefile("rb") as sent:
        invocation = Invocation(*json.loads(sent.readline()))
    child = os.fork()
    if child == 0:
        _end_with(own)
        link.close()
        _become_program(invocation, streams)
    for descriptor in streams:
        os.close(descriptor)
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the test process ended
        link.sendall(pack_number(child))
        _, status = os.waitpid(child, 0)
        link.sendall(pack_number(os.waitstatus_to_exitcode(status)))
    os._exit(0)


def _end_with(parent: int) -> None:
    """End this process with the one that forked it, also if that has ended already."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _become_program(invocation: Invocation, streams: Sequence[int]) -> NoReturn:
    """Run the program as `python -m neardup_daemon` does."""
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdin = _opened(0, "r", sys.stdin)
    sys.stdout = _opened(1, "w", sys.stdout)
    sys.stderr = _opened(2, "w", sys.stderr, buffering=1)  # flushed after each line
    os.environ.clear()
    os.environ.update(invocation.environ)
    os.chdir(invocation.directory)
    sys.argv[1:] = invocation.words
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD_SIGNALS)
    try:
        run_program()
    except SystemExit as ended:
        _exit_codes.append(ended.code)
        raise


def _opened(descriptor: int, mode: str, like: TextIO, buffering: int = -1) -> TextIO:
    """Return a text stream on a descriptor, without what the stream of this process holds in its buffer."""
    return os.fdopen(descriptor, mode, buffering, encoding=like.encoding, errors=like.errors, closefd=False)  # type: ignore[return-value]


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
