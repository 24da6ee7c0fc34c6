import subprocess
import sys
from pathlib import Path

from benchmarks.process_times import cpu_seconds, started_cpu_seconds

BURN = "import time\nwhile time.process_time() < 2: pass\nprint(flush=True); input()"
START = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BURN!r}])"
ROOT = (
    f"import subprocess, sys; subprocess.run([sys.executable, '-c', {START!r}]); print(flush=True); input()"
)
BURNT_SECONDS = 1.5
"""Less than is burnt, and more than a Python takes to start on a busy machine."""


def test_what_a_process_has_started_counts_with_what_that_has_started() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", ROOT], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as root:
        assert root.stdin is not None
        assert root.stdout is not None
        root.stdout.readline()
        (child,) = map(int, Path(f"/proc/{root.pid}/task/{root.pid}/children").read_text().split())
        spent = started_cpu_seconds(root.pid)
        assert spent >= BURNT_SECONDS > cpu_seconds(root.pid)
        assert started_cpu_seconds(child) >= BURNT_SECONDS > cpu_seconds(child)
        assert started_cpu_seconds(root.pid, but=child) < BURNT_SECONDS

        root.stdin.write(b"\n")
        root.stdin.flush()
        root.stdout.readline()
        assert started_cpu_seconds(root.pid) >= spent
        root.stdin.write(b"\n")
