"""Signals end `dedup` also while nothing reads its output, and while a large file is digested."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fcntl import F_SETPIPE_SZ, fcntl
from pathlib import Path

import pytest

from tests.pipelines import essay, page_json
from tests.servers.process import wait_until
from tests.servers.program import environment
from tests.system.pipes import is_full

IGNORING = ("env", "--ignore-signal=INT")
"""Before `dedup`, so that it catches SIGINT from when its own handlers are in place."""
ENDED = {128 + signal.SIGTERM, 128 + signal.SIGINT}


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    """Pages with more text, and more events, than a pipe holds: all are alike."""
    path = tmp_path / "crawl.jsonl"
    path.write_bytes(b"".join(page_json(str(number), essay(1)) + b"\n" for number in range(300)))
    return path


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    path = tmp_path / "pipe.jsonl"
    os.mkfifo(path)
    return path


@contextmanager
def stalled_reader(pipe: Path) -> Iterator[int]:
    """Open a pipe and read nothing; yield an end for writing, which does not block."""
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    writer = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    try:
        yield writer
    finally:
        os.close(writer)
        os.close(reader)


def listens(pid: int) -> bool:
    """Return whether a process that began with SIGINT ignored has a handler of it."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return bool(int(status["SigCgt"], 16) >> (signal.SIGINT - 1) & 1)


def reads_much(pid: int) -> bool:
    """Return whether a process has read more than a program and its libraries are."""
    counts = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
    return int(counts["rchar"]) > 1 << 28


def signal_twice(words: list[str], stdout: int, is_waiting: Callable[[int], bool]) -> int:
    """Run `dedup`, send two signals once it waits, and return its exit code."""
    return send((signal.SIGSTOP, signal.SIGTERM, signal.SIGINT, signal.SIGCONT), words, stdout, is_waiting)


def send(
    signals: Sequence[signal.Signals], words: list[str], stdout: int, is_waiting: Callable[[int], bool]
) -> int:
    command = [*IGNORING, sys.executable, "-m", "neardup_daemon", "dedup", *words]
    with subprocess.Popen(command, stdout=stdout, stderr=subprocess.DEVNULL, env=environment({})) as run:
        try:
            wait_until(lambda: is_waiting(run.pid), 180)
            for number in signals:
                run.send_signal(number)
            return run.wait(60)
        finally:
            run.kill()


def test_while_pages_that_are_kept_are_copied(crawl: Path, pipe: Path) -> None:
    crawl.write_bytes(b"".join(page_json(str(number), essay(number)) + b"\n" for number in range(300)))

    with stalled_reader(pipe) as writer:
        code = signal_twice(
            [str(crawl), "--events", os.devnull, "--keep-representatives", str(pipe)],
            subprocess.DEVNULL,
            lambda _pid: is_full(writer),
        )

    assert code in ENDED


def test_while_clusters_are_written(crawl: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.parquet"
    os.mkfifo(pipe)

    with stalled_reader(pipe) as writer:
        fcntl(writer, F_SETPIPE_SZ, 4096)  # one page, which any write takes
        code = signal_twice(
            [str(crawl), "--events", os.devnull, "--clusters", str(pipe)],
            subprocess.DEVNULL,
            lambda _pid: is_full(writer),
        )

    assert code in ENDED


def test_while_events_go_to_standard_output(crawl: Path, pipe: Path) -> None:
    with stalled_reader(pipe) as writer:
        os.set_blocking(writer, True)
        code = signal_twice([str(crawl)], writer, lambda _pid: is_full(writer))

    assert code in ENDED


@pytest.mark.parametrize("option", ["--events", "--clusters", "--report"])
def test_while_a_named_pipe_has_no_reader(crawl: Path, pipe: Path, option: str) -> None:
    code = signal_twice([str(crawl), option, str(pipe)], subprocess.DEVNULL, listens)

    assert code in ENDED


def test_a_run_with_an_index_that_one_signal_ends_before_it_writes_anything_did_not_succeed(
    crawl: Path, pipe: Path, tmp_path: Path
) -> None:
    events, state = tmp_path / "events.jsonl", tmp_path / "index"
    events.write_bytes(b"of an earlier run")
    words = [str(crawl), "--state", str(state), "--events", str(events), "--dead-letters", str(pipe)]

    code = send((signal.SIGINT,), words, subprocess.DEVNULL, listens)

    assert (code, events.read_bytes()) == (128 + signal.SIGINT, b"of an earlier run")


def test_while_a_large_file_is_digested(crawl: Path, tmp_path: Path) -> None:
    large = tmp_path / "large.jsonl"
    with large.open("wb") as file:
        file.truncate(1 << 40)  # a hole, which is read for many minutes

    code = signal_twice([str(crawl), str(large), "--events", os.devnull], subprocess.DEVNULL, reads_much)

    assert code in ENDED


@pytest.mark.parametrize("name", ["in.jsonl", "in.warc.gz"])
def test_while_an_input_has_no_writer(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)

    assert signal_twice([str(tmp_path / name), "--events", os.devnull], subprocess.DEVNULL, listens) in ENDED


def test_a_process_substitution_that_writes_nothing_is_an_empty_input() -> None:
    program = f"{sys.executable} -m neardup_daemon dedup <(true)"

    assert (
        subprocess.run(["bash", "-c", program], env=environment({}), check=False, timeout=60).returncode == 0
    )
