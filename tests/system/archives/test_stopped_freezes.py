"""`freeze` that gets signals while it builds: either there is no archive, or it says that there is one."""

import signal
from pathlib import Path

import pytest

from neardup_stream.archive.gone import forgets_locked, gone_path
from neardup_stream.archive.logged import LoggedArchive
from tests.servers.process import is_paused, wait_until
from tests.servers.program import piped_program

LOCKS = Path("/proc/locks")
PAGES = 8_000
"""So many that a step takes some milliseconds, in which the process may receive a signal."""

LATER_STEPS = (*(f"section {turn}" for turn in range(1, 9)), "checks", "header", "sync", "publish")
"""Between two of them the process may receive a signal; one of so many is enough, also when busy."""


@pytest.mark.parametrize("step", ["spill", "merge", "hash"])
def test_a_signal_while_an_archive_is_built_leaves_none(crawl: Path, step: str) -> None:
    page = b'{"url":"https://site.example/%d","text":"page number %d of this site"}\n'
    crawl.write_bytes(b"".join(page % (number, number) for number in range(PAGES)))
    paused = "failpoints.stop=" + ",".join(f"before archive.{each}" for each in (step, *LATER_STEPS))

    with piped_program(["freeze", str(crawl), "-o", str(crawl.with_name("x.nda")), "--set", paused]) as run:
        wait_until(lambda: is_paused(run.child.pid), 60)
        run.child.send_signal(signal.SIGTERM)
        while run.child.poll() is None:
            run.child.send_signal(signal.SIGCONT)
            wait_until(lambda: run.child.poll() is not None or is_paused(run.child.pid), 60)
        code, errors = run.child.wait(), run.stderr.read()

    assert code == 128 + signal.SIGTERM
    assert b"no archive was written" in errors
    assert list(crawl.parent.iterdir()) == [crawl]


@pytest.mark.parametrize("count", [1, 2])
def test_signals_while_an_archive_gets_its_name_are_too_late(archive: Path, crawl: Path, count: int) -> None:
    """It waits for the lock of the forgets, as for an `archive forget` at the same time."""
    former = LoggedArchive(archive).header.archive_id
    crawl.write_bytes(crawl.read_bytes().split(b"\n")[0])

    with piped_program(["freeze", str(crawl), "-o", str(archive), "--force"]) as run:
        with forgets_locked(gone_path(archive)):
            wait_until(lambda: is_waiting_for_a_lock(run.child.pid), 60)
            for _ in range(count):
                run.child.send_signal(signal.SIGTERM)
                while b'"stop_' not in run.stderr.readline():
                    pass
        code, errors = run.child.wait(60), run.stderr.read()

    assert code == 0
    assert b"no archive was written" not in errors
    assert f"{archive}: 1 page" in errors.decode()
    assert LoggedArchive(archive).header.archive_id != former


def is_waiting_for_a_lock(pid: int) -> bool:
    return any("->" in line and f" {pid} " in line for line in LOCKS.read_text().splitlines())
