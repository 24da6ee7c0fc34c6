"""Several daemons of one group, each a process, of which some always die or are paused, and start again."""

import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import ExitStack
from http import HTTPStatus

from aiokafka.errors import KafkaError

from neardup_stream.errors import StreamUnavailable
from tests.chaos.faults import Fate, fault_name
from tests.chaos.judging import uncommitted_count, wait_until_quiet
from tests.servers.daemon import START_SECONDS, Daemon, start_daemon
from tests.servers.process import wait_until

__all__ = ["finish", "live_through", "serving"]

POINT_SECONDS = 60.0
"""How long a process that is ready may take to come to its point; then it is killed wherever it is."""
IDLE_SECONDS = 8.0
"""How long it may take where there is no work."""
LOOK_SECONDS = 1.0
READY = '"state": "ready"'


def live_through(
    settings: Sequence[str], fates: Iterable[Fate], daemon_count: int, on_fault: Callable[[], None]
) -> Counter[str]:
    """Run so many daemons at a time until every fate was met, each by a process of its own.

    Args:
        settings: of every daemon.
        fates: taken in order.
        daemon_count: how many live at once.
        on_fault: called after each fault, from any thread, one at a time.

    Returns:
        How often each fault happened: `kill` or `stop`, and its point. A process that does not come to its
        point in time is killed wherever it is, and another one tries.

    Raises:
        AssertionError: a daemon ended by itself.
    """
    waiting = deque(fates)
    met: Counter[str] = Counter()
    counting = threading.Lock()

    def count_fault(fault: str) -> None:
        with counting:
            met[fault] += 1
            on_fault()

    def place() -> None:
        while True:
            try:
                fate = waiting.popleft()
            except IndexError:
                return
            if not _live(settings, fate, count_fault) and fate.tries > 1:
                waiting.append(fate.sooner())

    with ThreadPoolExecutor(daemon_count) as places:
        ending = [places.submit(place) for _ in range(daemon_count)]
        wait(ending, return_when=FIRST_EXCEPTION)
        waiting.clear()
        for done in ending:
            done.result()
    return met


def serving(stack: ExitStack, settings: Sequence[str], daemon_count: int) -> list[Daemon]:
    """Return so many daemons, ready for pages; killed when the stack is left."""
    daemons = [stack.enter_context(start_daemon(settings)) for _ in range(daemon_count)]
    for daemon in daemons:
        daemon.wait_until_ready()
    return daemons


def finish(settings: Sequence[str], daemon_count: int, quiet_seconds: float) -> None:
    """Let daemons without faults process what is left.

    Args:
        settings: of every daemon.
        daemon_count: how many share the work.
        quiet_seconds: the longest time in which nothing may be committed.

    Raises:
        TimeoutError: nothing was, for so long.
    """
    with ExitStack() as stack:
        daemons = serving(stack, settings, daemon_count)
        wait_until_quiet(settings, quiet_seconds)
        assert [daemon.stop() for daemon in daemons] == [0] * daemon_count


def _live(settings: Sequence[str], fate: Fate, count_fault: Callable[[str], None]) -> bool:
    """Run one life; return whether it came to its points."""
    armed = [f"failpoints.kill={fate.kill}", f"failpoints.stop={fate.stop or ''}"]
    with start_daemon([*settings, *armed]) as daemon:
        has_stopped = fate.stop is not None and _is_paused_in_time(daemon, settings, fate)
        if has_stopped:
            count_fault(fault_name("stop", fate.stop or ""))
        if not fate.kill:
            _let_it_work(daemon, fate)
        has_ended = _comes_to(daemon, settings, daemon.has_ended) if fate.kill else daemon.has_ended()
        if has_ended and daemon.wait() != -signal.SIGKILL:
            raise AssertionError(f"ended by itself with {daemon.wait()}:\n{daemon.log()[-4000:]}")
    count_fault(fault_name("kill", fate.kill if has_ended else ""))
    return has_stopped == (fate.stop is not None) and has_ended == bool(fate.kill)


def _is_paused_in_time(daemon: Daemon, settings: Sequence[str], fate: Fate) -> bool:
    """Stop it, or let it stop itself, past its session; False if it never came to its point."""
    if not fate.stop:
        _let_it_work(daemon, fate)
        daemon.signal(signal.SIGSTOP)
    halts = _comes_to(daemon, settings, lambda: daemon.is_paused() or daemon.has_ended())
    if not halts or daemon.has_ended():
        return False
    time.sleep(fate.still_seconds)
    daemon.signal(signal.SIGCONT)
    return True


def _let_it_work(daemon: Daemon, fate: Fate) -> None:
    """Until any moment after it is ready; some points come before that."""
    wait_until(lambda: daemon.has_ended() or daemon.get("/readyz")[0] == HTTPStatus.OK, START_SECONDS)
    time.sleep(fate.moment_seconds)


def _comes_to(daemon: Daemon, settings: Sequence[str], condition: Callable[[], bool]) -> bool:
    """Wait for it once the daemon is ready, though not long where everything is committed."""
    wait_until(lambda: condition() or READY in daemon.log(), START_SECONDS)  # one that is paused says nothing
    begin = last_work = time.monotonic()
    while not _holds_soon(condition):
        now = time.monotonic()
        if _has_work(settings):
            last_work = now
        if now - begin > POINT_SECONDS or now - last_work > IDLE_SECONDS:
            return False
    return True


def _has_work(settings: Sequence[str]) -> bool:
    """Return whether something is not committed; so it may be where a busy broker does not say."""
    try:
        return uncommitted_count(settings) > 0
    except (KafkaError, StreamUnavailable):
        return True


def _holds_soon(condition: Callable[[], bool]) -> bool:
    try:
        wait_until(condition, LOOK_SECONDS)
    except TimeoutError:
        return False
    return True
