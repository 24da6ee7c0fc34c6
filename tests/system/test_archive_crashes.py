"""`freeze` and `archive`, killed at each step of writing, and on a disk that is full."""

import resource
import shutil
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from neardup_stream.archive.gone import gone_path
from neardup_stream.archive.layout import Header
from neardup_stream.archive.logged import LoggedArchive
from neardup_stream.archive.writing import ArchiveWriter
from tests.pipelines import essay, page_json
from tests.servers.program import environment
from tests.system.conftest import call

OLD_PAGES, NEW_PAGES = 20, 40

FREEZE_STEPS = (
    "read",
    "spill",
    "merge",
    "hash",
    "section",
    "section 9",
    "checks",
    "header",
    "sync",
    "publish",
)
SECTION_STEP = 3
"""Of a rewrite, every so manieth section."""

FULL_AT_BYTES = (0, 12_288, 40_960)


def pages(count: int) -> bytes:
    return b"".join(page_json(str(n), essay(n)) + b"\n" for n in range(count))


@pytest.fixture(scope="module")
def frozen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an archive, of which each test has a copy."""
    folder = tmp_path_factory.mktemp("crashes")
    run = call("freeze", "-", "-o", str(folder / "old.nda"), stdin=pages(OLD_PAGES))
    assert run.returncode == 0, run.stderr
    return folder


@pytest.fixture
def archive(frozen: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy2(frozen / "old.nda", tmp_path))


def killed_at(step: str, *words: str, stdin: bytes = b"") -> None:
    run = call(*words, "--set", f"failpoints.kill=before archive.{step}", stdin=stdin)
    assert run.returncode == -signal.SIGKILL, (step, run.stderr)


def names(folder: Path) -> set[str]:
    """Of the files beside an archive, but for the lock, which stays."""
    return {each.name for each in folder.iterdir() if not each.name.endswith(".lock")}


def tidy(path: Path) -> None:
    """Do what the next `freeze` does first."""
    with ArchiveWriter(path, replaces=True):
        pass
    assert names(path.parent) == {path.name}


def header_of(path: Path) -> Header:
    """Of an archive that is sound to its last byte."""
    archive = LoggedArchive(path)
    archive.file.check_all()
    return archive.header


@pytest.mark.parametrize("step", FREEZE_STEPS)
def test_a_freeze_that_is_killed_leaves_the_old_archive_and_nothing_that_the_next_writer_keeps(
    archive: Path, step: str
) -> None:
    old = archive.read_bytes()

    killed_at(step, "freeze", "-", "-o", str(archive), "--force", stdin=pages(NEW_PAGES))

    assert archive.read_bytes() == old
    assert len(names(archive.parent)) == 2
    tidy(archive)


def test_a_freeze_that_is_killed_after_its_name_was_given_leaves_the_new_archive(tmp_path: Path) -> None:
    path = tmp_path / "new.nda"

    killed_at("publish", "freeze", "-", "-o", str(path), stdin=pages(OLD_PAGES))
    assert not path.exists()
    killed_at("published", "freeze", "-", "-o", str(path), stdin=pages(OLD_PAGES))

    assert header_of(path).page_count == OLD_PAGES
    tidy(path)


def test_a_rewrite_that_is_killed_at_any_step_leaves_the_old_archive_or_the_new_one(archive: Path) -> None:
    old = archive.read_bytes()
    forgotten = call("archive", "forget", "https://example.com/7", str(archive))
    assert forgotten.returncode == 0, forgotten.stderr
    rewrite = ("archive", "rewrite", str(archive), "-o", str(archive), "--force")
    count, rows_id = len(header_of(archive).sections), header_of(archive).rows_id

    for step in (*(f"section {n}" for n in range(1, count + 1, SECTION_STEP)), "checks", "sync", "publish"):
        killed_at(step, *rewrite)
        assert archive.read_bytes() == old, step
        assert len(names(archive.parent)) == 3, step  # the writer removes what the one before left
    killed_at("published", *rewrite)

    assert header_of(archive).rows_id == rows_id
    assert call("archive", "check", str(archive)).returncode == 0
    assert call(*rewrite).returncode == 0
    assert names(archive.parent) == {archive.name, gone_path(archive).name}


def test_a_forget_that_is_killed_is_made_or_not_and_leaves_nothing_behind_the_next_one(archive: Path) -> None:
    forget = ("archive", "forget", "https://example.com/7", str(archive))

    killed_at("forget", *forget)
    assert not gone_path(archive).exists()
    assert call("archive", "check", str(archive)).returncode == 0
    killed_at("forgotten", *forget)
    known = call(*forget)

    assert known.stdout == b"0 forgotten, 1 were before\n"
    assert names(archive.parent) == {archive.name, gone_path(archive).name}
    assert call("archive", "check", str(archive)).returncode == 0


@pytest.mark.parametrize("command", ["freeze", "rewrite", "forget"])
def test_a_disk_that_is_full_at_any_place_is_3_and_leaves_nothing(archive: Path, command: str) -> None:
    old = archive.read_bytes()
    rewrite = ["archive", "rewrite", str(archive), "-o", str(archive), "--force"]
    words, sizes = {
        "freeze": (["freeze", "-", "-o", str(archive), "--force"], FULL_AT_BYTES[1:2]),
        "rewrite": (rewrite, FULL_AT_BYTES),
        "forget": (["archive", "forget", "https://example.com/7", str(archive)], (0, 20)),
    }[command]

    for size in sizes:
        run = subprocess.run(
            [sys.executable, "-m", "neardup_daemon", *words],
            input=pages(NEW_PAGES),
            env=environment({}),
            preexec_fn=partial(resource.setrlimit, resource.RLIMIT_FSIZE, (size, size)),
            capture_output=True,
            check=False,
        )
        assert run.returncode == 3, (size, run.stderr)
        assert b"cannot write" in run.stderr
        assert archive.read_bytes() == old
        assert names(archive.parent) == {archive.name}
