"""What a new user waits for: kernels are compiled before Kafka is contacted, and that is said once."""

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers.daemon import start_daemon
from tests.servers.process import children_of, wait_until
from tests.system.conftest import Site
from tests.system.test_progress import on_terminal

LOAD_TWO_KERNELS = """
import sys
from pathlib import Path
from neardup_daemon.cli import main
from neardup_daemon.logs import configure_logs
from neardup_stream.kernel_cache import load_compiled

main(["freeze", "--help"])
sys.path.insert(0, sys.argv[1])
if len(sys.argv) > 2:
    configure_logs(*sys.argv[2:])
for name in ("one", "two"):
    load_compiled(name, name, [Path(sys.argv[1], f"{name}.py")])
"""
NAME_A_MISSING_FILE = """
import sys
from neardup_daemon.cli import main

codes = [main([*words.split(), "missing.jsonl"]) for words in sys.argv[1:]]
print(*codes, *(name for name in sys.modules if name == "numba"))
"""
LOAD_ONE_IN_A_CHILD = """
import os, sys
from pathlib import Path
from neardup_daemon.cli import main
from neardup_stream.kernel_cache import load_compiled

main(["freeze", "--help"])
sys.path.insert(0, sys.argv[1])
child = os.fork()
if child:
    os.waitpid(child, 0)
name = "one" if child else "two"
load_compiled(name, name, [Path(sys.argv[1], f"{name}.py")])
"""
LINE = "compiling the kernels of 'freeze' for this machine, once"
EVENT = "kernel_compilation_started"


def _command_line(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def test_all_that_pages_need_is_compiled_before_kafka_is_contacted(site: Site) -> None:
    with start_daemon([*site.settings, "kafka.bootstrap_servers=127.0.0.1:1"]) as daemon:
        wait_until(lambda: "dependency_unavailable" in daemon.log(), 60)
        daemon.signal(signal.SIGSTOP)  # and asks for nothing more

        (worker,) = children_of(daemon.pid)
        assert _command_line(worker) == _command_line(daemon.pid)  # forked from it, so it has the kernels
        wait_until(lambda: len(children_of(worker)) == 1, 60)  # asked for once a page was prepared
        daemon.signal(signal.SIGCONT)
        assert daemon.stop() == 0


def _load_two_kernels(folder: Path, *logs: str, stderr: int, program: str = LOAD_TWO_KERNELS) -> None:
    for name in ("one", "two"):
        (folder / f"{name}.py").write_text(f"NAME = {name!r}\n", encoding="utf-8")
    subprocess.run(
        [sys.executable, "-c", program, str(folder), *logs],
        env=os.environ | {"NUMBA_CACHE_DIR": str(folder / "cache")},
        stdout=subprocess.DEVNULL,
        stderr=stderr,
        check=True,
    )


@pytest.mark.parametrize(
    ("logs", "said"),
    [
        pytest.param((), (1, 0), id="no-logs"),
        pytest.param(("warning", "text"), (1, 0), id="warnings"),
        pytest.param(("info", "text"), (0, 1), id="text"),
        pytest.param(("info", "json"), (0, 1), id="json"),
        pytest.param(("warning", "json"), (0, 0), id="warnings-for-a-collector"),
    ],
)
@pytest.mark.parametrize("is_terminal", [True, False], ids=["terminal", "file"])
def test_it_is_said_once_that_kernels_are_compiled_in_a_log_line_where_those_are_written(
    tmp_path: Path, logs: tuple[str, ...], said: tuple[int, int], *, is_terminal: bool
) -> None:
    ours, theirs = pty.openpty() if is_terminal else os.pipe()
    try:
        _load_two_kernels(tmp_path, *logs, stderr=theirs)
        os.write(theirs, b".")
        written = os.read(ours, 65_536).decode()
    finally:
        os.close(ours)
        os.close(theirs)

    has_times = bool(logs) and not is_terminal  # among which no plain line stands
    assert (written.count(LINE), written.count(EVENT)) == ((0, said[1]) if has_times else said)


def test_it_is_said_once_where_a_forked_process_compiles_too(tmp_path: Path) -> None:
    with tmp_path.joinpath("stderr").open("wb") as stderr:
        _load_two_kernels(tmp_path, stderr=stderr.fileno(), program=LOAD_ONE_IN_A_CHILD)

    assert tmp_path.joinpath("stderr").read_text(encoding="utf-8").count(LINE) == 1


def test_a_mistyped_file_is_named_before_any_kernel_is_compiled() -> None:
    commands = ("dedup", "freeze -o site.nda", "fingerprint")
    named = subprocess.run(
        [sys.executable, "-c", NAME_A_MISSING_FILE, *commands], capture_output=True, text=True, check=True
    )

    assert named.stdout.split() == ["2", "2", "2"]
    assert named.stderr.count("missing.jsonl: no such file") == len(commands)


def test_an_index_that_is_not_there_is_named_before_any_kernel_is_compiled(tmp_path: Path) -> None:
    words = ["freeze", "--index", "--redis-url", "redis://127.0.0.1:1", "-o", str(tmp_path / "site.nda")]

    named = subprocess.run(
        [sys.executable, "-m", "neardup_daemon", *words],
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert named.returncode == 3
    assert "connecting to 127.0.0.1:1" in named.stderr
    assert EVENT not in named.stderr


def test_tail_says_on_a_terminal_that_it_waits(site: Site) -> None:
    site.create_topics()

    settings = (word for setting in site.settings for word in ("--set", setting))
    code, said = on_terminal("tail", "--idle-seconds", "0", *settings)

    assert code == 0, said.decode()
    assert f"waiting for events on {site.topics[1]}" in said.decode()
