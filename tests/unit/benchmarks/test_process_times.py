import os
import subprocess
import sys

from benchmarks.process_times import cpu_seconds, started_cpu_seconds

BURN = "import time\nwhile time.process_time() < 0.3: pass\nprint(flush=True); input()"
START = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BURN!r}])"


def test_what_a_process_has_started_counts_with_what_that_has_started() -> None:
    before, own_before = started_cpu_seconds(os.getpid()), cpu_seconds(os.getpid())
    with subprocess.Popen(
        [sys.executable, "-c", START], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdout.readline()
        spent = started_cpu_seconds(os.getpid()) - before
        assert spent >= 0.25 > cpu_seconds(os.getpid()) - own_before
        assert started_cpu_seconds(child.pid) >= 0.25 > cpu_seconds(child.pid)
        assert started_cpu_seconds(os.getpid(), but=child.pid) - before < 0.25
        child.stdin.write(b"\n")
    assert started_cpu_seconds(os.getpid()) - before >= spent
