"""`make monitoring`: an installation with settings for other commands; a signal or crash ends it."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from itertools import takewhile
from pathlib import Path

from tests.servers.process import children_of, is_running, wait_until
from tests.system.conftest import call

ROOT = Path(__file__).parents[2]
LAST_LINE = "Ctrl-C ends all of it.\n"


def test_the_settings_it_writes_serve_other_commands_and_sigterm_ends_all_of_it(tmp_path: Path) -> None:
    settings = tmp_path / "neardup.toml"
    command = [sys.executable, "-m", "monitoring", "--settings", str(settings)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        try:
            described = "".join(takewhile(lambda line: line != LAST_LINE, running.stdout))
            children = descendants(running.pid)
            checked = call("check", "--config", str(settings))
            shown = call("status", "--config", str(settings))
        finally:
            running.send_signal(signal.SIGTERM)
            code = running.wait(60)

    wait_until(lambda: not any(map(is_running, children)), 30)
    assert f"neardup-stream tail --config {settings}" in described
    assert (checked.returncode, shown.returncode, code) == (0, 0, 0)
    assert len(children) >= 5  # a broker, Redis, Prometheus and two daemons


def test_a_broker_that_is_killed_ends_all_of_it_with_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "monitoring", "--settings", str(tmp_path / "neardup.toml")]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        list(takewhile(lambda line: line != LAST_LINE, running.stdout))
        children = descendants(running.pid)
        (broker,) = filter(is_java, children)
        os.kill(broker, signal.SIGKILL)
        _, complaint = running.communicate(timeout=60)

    wait_until(lambda: not any(map(is_running, children)), 30)
    assert complaint == "python -m monitoring: Kafka ended, so all else is stopped; start it again\n"
    assert running.returncode == 1


def descendants(pid: int) -> set[int]:
    """Return the processes that a process has started, and those that these have."""
    found, waiting = set[int](), [pid]
    while waiting:
        new = set(children_of(waiting.pop())) - found
        found |= new
        waiting += new
    return found


def is_java(pid: int) -> bool:
    """Return whether a process is a Java program; not if it has ended."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8") == "java\n"
    return False
