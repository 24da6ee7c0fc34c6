"""Commands that are signaled: while they start, while machine code is loaded, and later."""

import fcntl
import os
import signal
import struct
import subprocess
import sys
import termios
from textwrap import dedent
from typing import BinaryIO

import pytest

from tests.servers.process import HEARING_SIGNALS, is_asleep, wait_until
from tests.servers.program import piped_program


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)],
    ids=["TERM", "INT", "HUP"],
)
def test_a_command_that_is_signaled_says_so_in_its_code(number: signal.Signals, code: int) -> None:
    script = dedent("""
        import os, signal, sys
        from neardup_daemon import cli, __main__
        def wait_for_signal(argv):
            print("ready", flush=True)
            sys.stdin.read()
        cli._invoke = wait_for_signal
        __main__.main()
    """)
    command = [*HEARING_SIGNALS, sys.executable, "-c", script]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        os.kill(process.pid, number)
        try:
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()

    assert (process.returncode, errors) == (code, b"")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_command_that_is_signaled_while_machine_code_is_loaded_says_so_in_its_code(
    number: signal.Signals, code: int
) -> None:
    """LLVM calls Python functions then, and drops what they raise."""
    script = dedent("""
        import os, sys
        from llvmlite.binding import ExecutionEngine
        from neardup_daemon.__main__ import main
        set_object_cache = ExecutionEngine.set_object_cache
        def signaling(engine, notify_func, getbuffer_func):
            def get(module):
                ExecutionEngine.set_object_cache = set_object_cache
                os.kill(os.getpid(), int(number))
                return getbuffer_func(module)
            set_object_cache(engine, notify_func, get)
        ExecutionEngine.set_object_cache = signaling
        _, number, *sys.argv[1:] = sys.argv
        main()
    """)
    command = [*HEARING_SIGNALS, sys.executable, "-c", script, str(int(number)), "dedup", "-"]

    run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)

    assert (run.returncode, run.stdout) == (code, b"")


def test_a_command_that_is_interrupted_while_it_starts_ends_by_the_signal_without_a_traceback() -> None:
    script = dedent("""
        import os, signal, sys
        from importlib.abc import MetaPathFinder
        from neardup_daemon.__main__ import main
        class Interrupting(MetaPathFinder):
            def find_spec(self, name, path, target=None):
                os.kill(os.getpid(), signal.SIGINT)
        sys.meta_path.insert(0, Interrupting())
        main()
    """)

    run = subprocess.run(
        [*HEARING_SIGNALS, sys.executable, "-c", script], capture_output=True, timeout=60, check=False
    )

    assert (run.returncode, run.stderr) == (-signal.SIGINT, b"")


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)], ids=["TERM", "INT"]
)
@pytest.mark.parametrize(
    "words",
    [["query", "-"], ["explain", "-", "https://example.com/stored"], ["replay", "-"]],
    ids=" ".join,
)
def test_a_command_that_is_signaled_while_its_standard_input_lasts_says_so_in_its_code(
    words: list[str], number: signal.Signals, code: int
) -> None:
    with piped_program(words) as run:
        run.stdin.write(b"{")
        run.stdin.flush()
        wait_until(lambda: unread_bytes(run.stdin) == 0 and is_asleep(run.child.pid), 60)
        run.child.send_signal(number)
        exit_code = run.child.wait(60)
        errors = run.stderr.read()

    assert (exit_code, errors) == (code, b"")


def unread_bytes(pipe: BinaryIO) -> int:
    """Return how much of what was written into the pipe is still in it."""
    (count,) = struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, struct.pack("i", 0)))
    return int(count)
