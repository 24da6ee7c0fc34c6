"""The calls that Redis took long for: its slow log, read at the end of a long run."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Final, NamedTuple

import redis

from tests.servers.redis import RedisServer

__all__ = ["SLOW_LOG", "SlowCall", "own_calls", "put_first", "report_long_calls"]

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
    """Let servers run before other processes, if we may: a slow log counts the time for which they wait."""
    for server in servers:
        with suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, server.pid, -20)


@contextmanager
def own_calls(client: redis.Redis) -> Iterator[None]:
    """Keep what the test itself does in this block out of a server's slow log."""
    client.config_set("slowlog-log-slower-than", -1)
    try:
        yield
    finally:
        client.config_set("slowlog-log-slower-than", SLOW_LOG["slowlog-log-slower-than"])


def report_long_calls(servers: Iterable[RedisServer]) -> list[SlowCall]:
    """Print the longest call of these servers; return those that took too long, the longest first."""
    found: list[SlowCall] = []
    for server in servers:
        with redis.Redis.from_url(server.url) as client:
            for entry in client.execute_command("SLOWLOG GET", -1):
                command = entry["command"].decode(errors="replace")
                found.append(SlowCall(entry["duration"], command[:_SHOWN_CHARACTERS]))
    found.sort(reverse=True)
    longest = f"{found[0].microseconds / 1000:.1f} ms, {found[0].command}" if found else "below 1 ms"
    print(f"\nlongest of the calls of Redis: {longest}")
    return [call for call in found if call.microseconds > LONG_MICROSECONDS]
