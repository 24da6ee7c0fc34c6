import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from functools import partial
from pathlib import Path

import pytest

from neardup_stream.errors import DependencyLost, InvariantBroken
from neardup_stream.pipeline.forked_parent import fork_parent
from neardup_stream.pipeline.worker_limits import WorkerLimits
from neardup_stream.pipeline.worker_main import OUT_OF_MEMORY, SHORT_OF_MEMORY, Job
from neardup_stream.pipeline.worker_process import STARTS, WorkEnded, WorkerProcess, WorkFailed
from tests.bad_work import load, load_killed, load_nothing
from tests.servers.process import children_of

LIMITS = WorkerLimits(cpu_seconds=0.2, memory_bytes=64 << 20)


@pytest.fixture(autouse=True)
def others() -> frozenset[int]:
    """The processes of ours that no test of this file has started."""
    return frozenset(children_of(os.getpid()))


@pytest.fixture(params=["program", "fork"])
def worker(request: pytest.FixtureRequest) -> Iterator[WorkerProcess]:
    job = Job(load, LIMITS)
    process = WorkerProcess(job, fork_parent(job) if request.param == "fork" else None)
    process.start()
    assert process.call(b"first") == b"first"  # now its child runs
    yield process
    process.close()


def _parents(others: frozenset[int]) -> list[int]:
    """Return the parents of the processes that work."""
    return [pid for pid in children_of(os.getpid()) if pid not in others]


def test_work_is_done_in_another_process(worker: WorkerProcess, others: frozenset[int]) -> None:
    assert worker.call(b"a") == b"a"
    assert worker.call(b"") == b""
    assert worker.call(b"x" * 5_000_000) == b"x" * 5_000_000
    (parent,) = _parents(others)
    assert len(children_of(parent)) == 1


ENDS = {
    b"-spin-": -signal.SIGPROF,
    b"-grow-": OUT_OF_MEMORY,
    b"-crash-": -signal.SIGSEGV,
    b"-vanish-": -signal.SIGKILL,
    b"-orphan-": -signal.SIGKILL,
}


@pytest.mark.parametrize(("request_", "exit_code"), ENDS.items(), ids=[name.decode() for name in ENDS])
def test_whatever_ends_the_process_is_reported_and_the_next_request_is_answered(
    worker: WorkerProcess, request_: bytes, exit_code: int
) -> None:
    with pytest.raises(WorkEnded) as ended:
        worker.call(request_)

    assert ended.value.exit_code == exit_code
    assert worker.call(b"next") == b"next"


@pytest.mark.parametrize("place", [None, 0, 70_000])
def test_the_item_that_was_worked_on_is_reported(worker: WorkerProcess, place: int | None) -> None:
    at = b"" if place is None else b"%d:" % place

    with pytest.raises(WorkEnded) as ended:
        worker.call(at + b"-vanish-")
    with pytest.raises(WorkFailed) as failed:
        worker.call(at + b"-fail-")

    assert (ended.value.item, failed.value.item) == (place, place)


def test_the_item_of_a_request_is_not_that_of_the_next(worker: WorkerProcess) -> None:
    worker.call(b"3:a")

    with pytest.raises(WorkEnded) as ended:
        worker.call(b"-vanish-")

    assert ended.value.item is None


def test_a_process_that_had_grown_before_says_so_when_it_is_refused_memory(worker: WorkerProcess) -> None:
    assert worker.call(b"-keep-") == b"-keep-"

    with pytest.raises(WorkEnded) as ended:
        worker.call(b"-grow-")

    assert ended.value.exit_code == SHORT_OF_MEMORY


def test_an_exception_is_returned_with_its_traceback(worker: WorkerProcess) -> None:
    with pytest.raises(WorkFailed, match="the library says no"):
        worker.call(b"-fail-")

    assert worker.call(b"next") == b"next"


def test_requests_of_several_threads_are_each_given_their_own_answer(worker: WorkerProcess) -> None:
    requests = [b"%d" % number * size for number, size in enumerate([1, 300_000] * 20)]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(worker.call, requests)) == requests


@pytest.mark.parametrize(("request_", "exit_code"), ENDS.items(), ids=[name.decode() for name in ENDS])
def test_only_the_request_that_ends_the_process_is_reported_of_those_sent_at_once(
    worker: WorkerProcess, request_: bytes, exit_code: int
) -> None:
    around = [b"-busy-", b"1:before", b"2:-busy-", b"after"]

    with ThreadPoolExecutor(len(around) + 1) as pool:
        first = [pool.submit(worker.call, request) for request in around[:2]]
        ending = pool.submit(worker.call, b"7:" + request_)
        last = [pool.submit(worker.call, request) for request in around[2:]]
        with pytest.raises(WorkEnded) as ended:
            ending.result()
        answers = [call.result() for call in first + last]

    assert answers == around
    assert (ended.value.exit_code, ended.value.item) == (exit_code, 7)


def test_time_is_counted_for_each_request_alone(worker: WorkerProcess) -> None:
    answered = [worker.call(b"-busy-") for _ in range(4)]  # each for half of the limit

    assert answered == [b"-busy-"] * 4


def test_signals_for_the_daemon_do_not_end_its_worker(worker: WorkerProcess, others: frozenset[int]) -> None:
    (parent,) = _parents(others)
    (child,) = children_of(parent)
    for pid in (parent, child):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.kill(pid, number)

    assert worker.call(b"a") == b"a"
    assert children_of(parent) == [child]


def test_closing_leaves_no_process(worker: WorkerProcess, others: frozenset[int]) -> None:
    (parent,) = _parents(others)
    with ExitStack() as stack:
        endings = []
        for pid in (parent, *children_of(parent)):
            endings.append(os.pidfd_open(pid))
            stack.callback(os.close, endings[-1])

        worker.close()

        assert all(select.select([ending], [], [], 10)[0] for ending in endings)


def test_a_closed_worker_starts_no_process_again(worker: WorkerProcess, others: frozenset[int]) -> None:
    worker.close()

    for start in (worker.start, lambda: worker.call(b"next")):
        with pytest.raises(InvariantBroken, match="is closed"):
            start()
    assert _parents(others) == []


def test_calls_in_flight_at_a_close_raise_and_start_no_process(others: frozenset[int]) -> None:
    worker = WorkerProcess(Job(load, WorkerLimits(cpu_seconds=60, memory_bytes=64 << 20)))
    worker.start()

    with ThreadPoolExecutor(2) as pool:
        calls = [pool.submit(worker.call, b"-spin-") for _ in range(2)]
        worker.close()
        for call in calls:
            with pytest.raises(InvariantBroken, match="is closed"):
                call.result()

    assert _parents(others) == []


@pytest.mark.parametrize("forked", ["None", "fork_parent(job)"])
def test_a_daemon_that_is_killed_leaves_no_process(forked: str) -> None:
    program = (
        "import os, signal\n"
        "from neardup_stream.pipeline.forked_parent import fork_parent\n"
        "from neardup_stream.pipeline.worker_limits import WorkerLimits\n"
        "from neardup_stream.pipeline.worker_main import Job\n"
        "from neardup_stream.pipeline.worker_process import WorkerProcess\n"
        "from tests.bad_work import load\n"
        "job = Job(load, WorkerLimits(0.2, 1 << 26))\n"
        f"worker, other = (WorkerProcess(job, {forked}) for _ in range(2))\n"
        "other.start()\n"
        "worker.start()\n"
        "print('started', flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    # The worker's standard error is the pipe that is read here: reading ends when no process has it any more.
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, timeout=60)

    assert done.returncode == -signal.SIGKILL
    assert done.stdout == b"started\n"
    assert done.stderr == b""


def test_a_forked_parent_that_loads_before_it_is_used_serves_its_job() -> None:
    job = Job(load, LIMITS)
    parent = fork_parent(job)
    parent.load()
    worker = WorkerProcess(job, parent)

    worker.start()

    assert worker.call(b"a") == b"a"
    worker.close()


def test_a_forked_parent_that_is_not_used_ends_with_its_owner() -> None:
    parent = fork_parent(Job(load, LIMITS))

    parent.close()

    assert not Path(f"/proc/{parent.pid}").exists()


def test_a_parent_that_was_waited_for_is_not_killed_by_its_id_again() -> None:
    parent = fork_parent(Job(load, LIMITS))
    os.killpg(parent.pid, signal.SIGKILL)
    parent.wait()
    stranger = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, process_group=0)
    parent.pid = stranger.pid  # as if the system had given it the id

    parent.close()

    stranger.communicate(b"\n", timeout=60)
    assert stranger.returncode == 0


@pytest.mark.parametrize("hook", ["before", "after_in_parent"])
def test_a_signal_that_comes_during_the_fork_is_handled_behind_it(hook: str) -> None:
    program = (
        "import os, signal, sys\n"
        "from neardup_stream.pipeline.forked_parent import fork_parent\n"
        "from neardup_stream.pipeline.worker_limits import WorkerLimits\n"
        "from neardup_stream.pipeline.worker_main import Job\n"
        "from tests.bad_work import load\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n"
        f"os.register_at_fork({hook}=lambda: signal.raise_signal(signal.SIGTERM))\n"
        "fork_parent(Job(load, WorkerLimits(0.2, 1 << 26)))\n"
    )
    # The forked process has the pipe too: reading ends when it has ended.
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, timeout=60)

    assert (done.returncode, done.stderr) == (7, b"")


@pytest.mark.parametrize("is_forked", [False, True])
def test_a_job_that_cannot_be_loaded_is_our_bug(
    capfd: pytest.CaptureFixture[str],
    is_forked: bool,  # noqa: FBT001 - a parameter
) -> None:
    job = Job(load_nothing, LIMITS)
    worker = WorkerProcess(job, fork_parent(job) if is_forked else None)

    with pytest.raises(InvariantBroken, match="ended with 1; see above"):
        worker.start()

    worker.close()
    assert "there is nothing to load" in capfd.readouterr().err


@pytest.mark.parametrize("is_forked", [False, True])
def test_a_process_that_is_killed_while_it_loads_is_started_again_so_often(
    tmp_path: Path,
    is_forked: bool,  # noqa: FBT001 - a parameter
) -> None:
    for times in (STARTS - 1, STARTS):
        job = Job(partial(load_killed, str(tmp_path / f"{times}"), times), LIMITS)
        worker = WorkerProcess(job, fork_parent(job) if is_forked else None)

        with pytest.raises(DependencyLost, match="killed 3 times") if times == STARTS else nullcontext():
            worker.start()
            assert worker.call(b"a") == b"a"

        worker.close()
