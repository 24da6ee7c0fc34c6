"""A disk that is full under the embedded server: a file system of three megabytes, mounted for one run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pipelines import essay, page_json
from tests.servers.process import wait_until

PAGES = 6000
PRIVATE_MOUNTS = [
    *("unshare", "--mount", "--propagation", "unchanged"),  # the root of a chroot cannot be made private
    *(["--user", "--map-root-user"] if os.getuid() else []),
]
MOUNT = 'mount -t tmpfs -o size=3m,mode=700 tmpfs "$0"'
_RUN = ' && { "$@"; code=$?; umount -l "$0"; exit $code; }'
MOUNT_AND_RUN = MOUNT + _RUN


LIMITED = 'ulimit -f 8; exec "$@"'
"""Blocks of 512 or 1,024 bytes, by the shell."""


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["fingerprint"], "File too large"),
        (["dedup", "--keep-representatives", "kept.jsonl"], "cannot write kept.jsonl: File too large"),
    ],
    ids=["to-standard-output", "to-a-file"],
)
@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
def test_a_file_that_may_not_grow_ends_the_run_with_3_and_is_named_if_it_has_a_name(
    tmp_path: Path, words: list[str], complaint: str, unbuffered: str
) -> None:
    crawl, output = tmp_path / "crawl.jsonl", tmp_path / "output"
    crawl.write_bytes(b"".join(page_json(f"p{n}", essay(n)) + b"\n" for n in range(200)))
    program = [sys.executable, "-m", "neardup_daemon", *words, str(crawl)]

    with output.open("wb") as written:
        run = subprocess.run(
            ["sh", "-c", LIMITED, "sh", *program],
            stdout=written,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
            timeout=90,
            check=False,
        )

    assert run.returncode == 3, run.stderr
    assert complaint in run.stderr.decode()


def test_a_full_disk_ends_the_run_with_3_and_says_so(tmp_path: Path) -> None:
    state, crawl = tmp_path / "state", tmp_path / "crawl.jsonl"
    state.mkdir()
    crawl.write_bytes(b"".join(page_json(f"p{n}", essay(n)) + b"\n" for n in range(PAGES)))
    ours = ["dedup", str(crawl), "--state", str(state), "--set", "pipeline.retry_deadline_seconds=0.5"]

    run = subprocess.run(
        [*PRIVATE_MOUNTS, "sh", "-c", MOUNT_AND_RUN, state, sys.executable, "-m", "neardup_daemon", *ours],
        capture_output=True,
        timeout=90,
        check=False,
    )

    assert run.returncode == 3, run.stderr
    assert "free space there" in run.stderr.decode()


@pytest.mark.parametrize(
    ("before", "complaint"),
    [
        ("true", "cannot use the state directory {state}: No space left on device"),
        ('echo 1 > "$0/lock"', "does not start: Write error writing append only file on disk: No space left"),
    ],
    ids=["for-nothing", "for-the-lock-alone"],
)
def test_a_disk_that_is_full_at_the_start_ends_the_run_with_3(
    tmp_path: Path, before: str, complaint: str
) -> None:
    state = tmp_path / "state"
    state.mkdir()
    fill = f' && {before}; dd if=/dev/zero of="$0/fill" bs=4k 2> /dev/null; true'
    ours = ["dedup", "-", "--state", str(state)]

    run = subprocess.run(
        [
            *PRIVATE_MOUNTS,
            "sh",
            "-c",
            MOUNT + fill + _RUN,
            state,
            sys.executable,
            "-m",
            "neardup_daemon",
            *ours,
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=90,
        check=False,
    )

    assert run.returncode == 3, run.stderr
    assert complaint.format(state=state) in run.stderr.decode()
    assert b" | " not in run.stderr


def test_a_stop_while_the_output_is_full_ends_within_its_time_with_3(tmp_path: Path) -> None:
    crawl, log = tmp_path / "crawl.jsonl", tmp_path / "log"
    crawl.write_bytes(b"".join(page_json(str(number), essay(1)) + b"\n" for number in range(2)))
    words = ["dedup", str(crawl), "--set", "pipeline.drain_seconds=0.5"]
    trouble = b"standard output: No space left on device"

    with (
        Path("/dev/full").open("wb") as full,
        log.open("wb") as stderr,
        subprocess.Popen(
            [sys.executable, "-m", "neardup_daemon", *words], stdout=full, stderr=stderr
        ) as dedup,
    ):
        try:
            wait_until(lambda: trouble in log.read_bytes(), 180)  # kernels may be compiled before
            dedup.terminate()
            code = dedup.wait(60)
        finally:
            dedup.kill()

    assert code == 3
    (error,) = (
        line for line in log.read_text().splitlines() if "pipeline.drain_seconds (0.5) (meanwhile: " in line
    )
    assert error.index(trouble.decode()) < error.index("; the same command begins again")
