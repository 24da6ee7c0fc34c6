"""The calls that Redis took long for: its slow log, read at the end of a run, or now and then."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Final, NamedTuple

import redis

from tests.servers.redis import RedisServer, start_redis

__all__ = [
    "LONG_MICROSECONDS",
    "SLOW_LOG",
    "SlowCall",
    "SlowCalls",
    "own_calls",
    "put_first",
    "report_long_calls",
    "start_quick_redis",
]

LONG_MICROSECONDS: Final = 10_000
"""No call of the program may hold a server for longer."""

SLOW_LOG: Final = {"slowlog-log-slower-than": "1000", "slowlog-max-len": "100000"}
"""Options of a server: calls are logged from a tenth of that limit on, so that the longest is known."""

_SHOWN_CHARACTERS = 60


class SlowCall(NamedTuple):
    """A call in a slow log.

    Attributes:
        microseconds: by the wall clock.
        command: how it begins.
    """

    microseconds: int
    command: str


def put_first(servers: Iterable[RedisServer]) -> None:
    """Let servers run whenever they can, if we may: a slow log counts the time for which they wait.

    By niceness alone, a call of 2 ms may still wait 3 ms for another process on the same core.
    """
    for server in servers:
        with suppress(PermissionError):
            os.sched_setscheduler(server.pid, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))


@contextmanager
def own_calls(client: redis.Redis) -> Iterator[None]:
    """Keep what the test itself does in this block out of a server's slow log."""
    client.config_set("slowlog-log-slower-than", -1)
    try:
        yield
    finally:
        client.config_set("slowlog-log-slower-than", SLOW_LOG["slowlog-log-slower-than"])


class SlowCalls:
    """The calls of slow logs, of which only those that took too long and the longest are kept."""

    def __init__(self) -> None:
        self._longest: SlowCall | None = None
        self._too_long: list[SlowCall] = []

    def collect(self, server: RedisServer) -> None:
        """Read and empty a server's slow log: a log of 100,000 entries takes 80 MB of its memory."""
        with redis.Redis.from_url(server.url) as client, client.pipeline(transaction=True) as pipeline:
            pipeline.execute_command("SLOWLOG GET", -1)
            pipeline.execute_command("SLOWLOG RESET")
            entries, _ = pipeline.execute()
        calls = [SlowCall(each["duration"], _shown(each["command"])) for each in entries]
        calls = [call for call in calls if not call.command.startswith("SLOWLOG ")]
        self._longest = max(filter(None, [self._longest, *calls]), default=None)
        self._too_long += [call for call in calls if call.microseconds > LONG_MICROSECONDS]

    def report(self) -> list[SlowCall]:
        """Print the longest call; return those that took too long, the longest first."""
        longest = self._longest
        shown = f"{longest.microseconds / 1000:.1f} ms, {longest.command}" if longest else "below 1 ms"
        print(f"\nlongest of the calls of Redis: {shown}")
        return sorted(self._too_long, reverse=True)


def report_long_calls(servers: Iterable[RedisServer]) -> list[SlowCall]:
    """Print the longest call of these servers; return those that took too long, the longest first."""
    calls = SlowCalls()
    for server in servers:
        calls.collect(server)
    return calls.report()


@contextmanager
def start_quick_redis() -> Iterator[RedisServer]:
    """Run a server until the block ends.

    Raises:
        AssertionError: at the end of a block that succeeded: a call held it for too long.
    """
    with start_redis(options=SLOW_LOG) as server:
        put_first([server])
        yield server
        assert report_long_calls([server]) == []


def _shown(command: bytes) -> str:
    return command.decode(errors="replace")[:_SHOWN_CHARACTERS]
