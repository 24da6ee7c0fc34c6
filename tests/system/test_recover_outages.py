"""Redis is unavailable, or loses something, while `recover` publishes corrections."""

import itertools
import signal
from collections.abc import Iterator

import pytest

from tests.chaos.crawl import crawl
from tests.servers.process import is_paused, wait_until
from tests.servers.program import piped_program
from tests.servers.redis import RedisServer, start_redis
from tests.system.conftest import Site
from tests.system.own_redis import Own, open_own
from tests.system.test_recover import RECORDS, check


@pytest.fixture
def server() -> Iterator[RedisServer]:
    with start_redis() as server:
        yield server


@pytest.fixture
def own(site: Site, server: RedisServer) -> Iterator[Own]:
    with open_own(site, server) as own:
        yield own


@pytest.mark.parametrize("is_lost", [False, True], ids=["a server that keeps all", "one that loses a record"])
def test_a_recovery_waits_for_redis_also_while_it_publishes_and_notices_what_was_lost_meanwhile(
    own: Own, server: RedisServer, *, is_lost: bool
) -> None:
    messages = crawl(2 * RECORDS, seed=12)  # more corrections than are sent at once
    own.finish(messages)
    own.client.flushall()
    settings = (*own.settings, "redis.socket_timeout_seconds=1", "failpoints.stop=after events.send 1")
    with piped_program(["recover", *(word for each in settings for word in ("--set", each))]) as run:
        wait_until(lambda: is_paused(run.child.pid), 120)
        if is_lost:
            own.client.delete(*itertools.islice(own.client.scan_iter("*[^c]}:p*"), 1))
        server.process.freeze()
        run.child.send_signal(signal.SIGCONT)
        logged = run.stderr.readline()
        while b'"dependency_unavailable"' not in logged:
            assert logged, "the recovery has ended"
            logged = run.stderr.readline()
        server.process.thaw()
        code, log = run.child.wait(120), run.stderr.read()

    if is_lost:
        assert code == 2
        assert b"Redis lost a part of the new index" in log
        own.recover()
    assert is_lost or code == 0
    check(own, messages)
