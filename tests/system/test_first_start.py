"""What a new user waits for: kernels are compiled before Kafka is contacted, and a terminal says so."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers.daemon import start_daemon
from tests.servers.process import wait_until
from tests.system.conftest import Site
from tests.system.test_progress import on_terminal

LOAD_TWO_KERNELS = """
import sys
from pathlib import Path
from neardup_daemon.cli import main
from neardup_daemon.logs import configure_logs
from neardup_stream.kernel_cache import load_compiled

main(["--version"])
sys.path.insert(0, sys.argv[1])
if len(sys.argv) > 2:
    configure_logs(*sys.argv[2:])
for name in ("one", "two"):
    load_compiled(name, name, [Path(sys.argv[1], f"{name}.py")])
"""
LINE = "compiling the kernels for this machine, once"


def _children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def test_all_that_pages_need_is_compiled_before_kafka_is_contacted(site: Site) -> None:
    with start_daemon([*site.settings, "kafka.bootstrap_servers=127.0.0.1:1"]) as daemon:
        wait_until(lambda: "dependency_unavailable" in daemon.log(), 60)

        (worker,) = _children(daemon.pid)
        assert "worker_main" in Path(f"/proc/{worker}/cmdline").read_text(encoding="utf-8")
        assert len(_children(worker)) == 1  # which is forked once a page was prepared
        assert daemon.stop() == 0


def _load_two_kernels(folder: Path, *logs: str, stderr: int) -> None:
    for name in ("one", "two"):
        (folder / f"{name}.py").write_text(f"NAME = {name!r}\n", encoding="utf-8")
    subprocess.run(
        [sys.executable, "-c", LOAD_TWO_KERNELS, str(folder), *logs],
        env=os.environ | {"NUMBA_CACHE_DIR": str(folder / "cache")},
        stdout=subprocess.DEVNULL,
        stderr=stderr,
        check=True,
    )


@pytest.mark.parametrize(
    ("logs", "count"), [((), 1), (("warning", "text"), 1), (("info", "text"), 0), (("info", "json"), 0)]
)
def test_a_terminal_says_once_that_kernels_are_compiled_unless_a_log_line_does(
    tmp_path: Path, logs: tuple[str, ...], count: int
) -> None:
    ours, theirs = pty.openpty()
    try:
        _load_two_kernels(tmp_path, *logs, stderr=theirs)
        said = os.read(ours, 65_536).decode()
    finally:
        os.close(ours)
        os.close(theirs)

    assert said.count(LINE) == count
    assert said.count("compiling the one kernel") == (logs[:1] == ("info",))


def test_tail_says_on_a_terminal_that_it_waits(site: Site) -> None:
    site.create_topics()

    settings = (word for setting in site.settings for word in ("--set", setting))
    code, said = on_terminal("tail", "--idle-seconds", "0", *settings)

    assert code == 0, said.decode()
    assert f"waiting for events on {site.topics[1]}" in said.decode()


def test_what_is_no_terminal_gets_nothing_but_logs(tmp_path: Path) -> None:
    with (tmp_path / "stderr").open("w+b") as stderr:
        _load_two_kernels(tmp_path, stderr=stderr.fileno())

        assert stderr.read() == b""
