"""A disk that is full under the embedded server: a file system of three megabytes, mounted for one run."""

import os
import subprocess
import sys
from pathlib import Path

from tests.pipelines import essay, page_json

PAGES = 6000
PRIVATE_MOUNTS = [
    *("unshare", "--mount", "--propagation", "unchanged"),  # the root of a chroot cannot be made private
    *(["--user", "--map-root-user"] if os.getuid() else []),
]
MOUNT = 'mount -t tmpfs -o size=3m,mode=700 tmpfs "$0"'
MOUNT_AND_RUN = MOUNT + ' && { "$@"; code=$?; umount -l "$0"; exit $code; }'


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
