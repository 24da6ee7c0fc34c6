"""Progress on a terminal: shown while it lasts, and never in the way."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pipelines import essay, page_json


@pytest.mark.parametrize("command", ["dedup", "fingerprint"])
def test_a_command_on_a_terminal_shows_its_progress_and_ends_well(tmp_path: Path, command: str) -> None:
    crawl = tmp_path / "crawl.jsonl"
    crawl.write_bytes(b"".join(page_json(f"p{number}", essay(number)) + b"\n" for number in range(500)))
    ours, theirs = pty.openpty()

    with subprocess.Popen(
        [sys.executable, "-m", "daemon", command, str(crawl)], stdout=subprocess.DEVNULL, stderr=theirs
    ) as run:
        os.close(theirs)
        said = b""
        try:
            while chunk := os.read(ours, 4096):
                said += chunk
        except OSError:  # what Linux answers once the other end of a terminal is closed
            pass
        os.close(ours)

    assert run.returncode == 0, said.decode()
    assert b"pages" in said
    assert b"Traceback" not in said
