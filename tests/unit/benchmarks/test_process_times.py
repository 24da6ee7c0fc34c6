import subprocess
import sys
from pathlib import Path

from benchmarks.process_times import cpu_seconds, started_cpu_seconds

BURN = "import time\nwhile time.process_time() < 0.3: pass\nprint(flush=True); input()"
START = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BURN!r}])"
ROOT = (
    f"import subprocess, sys; subprocess.run([sys.executable, '-c', {START!r}]); print(flush=True); input()"
)


def test_what_a_process_has_started_counts_with_what_that_has_started() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", ROOT], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as root:
        assert root.stdin is not None
        assert root.stdout is not None
        root.stdout.readline()
        (child,) = map(int, Path(f"/proc/{root.pid}/task/{root.pid}/children").read_text().split())
        spent = started_cpu_seconds(root.pid)
        assert spent >= 0.25 > cpu_seconds(root.pid)
        assert started_cpu_seconds(child) >= 0.25 > cpu_seconds(child)
        assert started_cpu_seconds(root.pid, but=child) < 0.25

        root.stdin.write(b"\n")
        root.stdin.flush()
        root.stdout.readline()
        assert started_cpu_seconds(root.pid) >= spent
        root.stdin.write(b"\n")
