import errno
import fcntl
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from neardup_daemon.state_directory import held_state_directory

from neardup_stream.errors import ConfigError


def ended_process() -> int:
    with subprocess.Popen([sys.executable, "-S", "-c", ""]) as process:
        return process.pid


@pytest.fixture
def unread_process() -> Iterator[int]:
    """A process that has ended, and whose exit code its parent has not read."""
    with subprocess.Popen([sys.executable, "-S", "-c", ""]) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        yield process.pid


async def test_a_run_whose_exit_code_is_not_read_yet_has_ended(tmp_path: Path, unread_process: int) -> None:
    with (tmp_path / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.pwrite(lock.fileno(), b"%d" % unread_process, 0)

        with pytest.raises(ConfigError, match="does not run here"):
            async with held_state_directory(tmp_path, wait_seconds=0):
                pass


@pytest.mark.parametrize("find_process", [ended_process, lambda: 10**19], ids=["ended", "impossible"])
async def test_a_lock_that_outlives_its_process_is_refused_after_the_wait(
    tmp_path: Path, find_process: Callable[[], int]
) -> None:
    process = find_process()
    with (tmp_path / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.pwrite(lock.fileno(), b"%d" % process, 0)

        with pytest.raises(ConfigError, match=rf"though process {process}, .* does not run here"):
            async with held_state_directory(tmp_path, wait_seconds=0):
                pass


async def test_a_lock_of_a_run_that_has_not_said_its_process_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        with pytest.raises(
            ConfigError, match=f"is using the state directory {re.escape(str(tmp_path))}; wait"
        ):
            async with held_state_directory(tmp_path):
                pass


async def test_a_state_directory_on_a_file_system_without_locks_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(_descriptor: object, _operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", no_locks)

    with pytest.raises(ConfigError, match=r"cannot use the state directory .*: No locks available"):
        async with held_state_directory(tmp_path):
            pass
