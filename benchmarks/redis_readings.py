"""Read what a Redis has spent and what it holds: CPU time, commands, slow calls, bytes by kind of key."""

import re
from collections import defaultdict
from typing import NamedTuple

import redis

from neardup_stream.chunks import in_chunks

__all__ = [
    "SlowCalls",
    "Spent",
    "bytes_by_kind",
    "kind_of",
    "log_slow_calls",
    "slow_calls",
    "spent",
    "stored_bytes",
    "used_bytes",
]

LOGGED_MS = 3
"""Usual calls take less, so that to log them costs next to nothing."""

LONG_MS = 10
LOGGED_CALLS = 100_000
SAMPLED_KEYS = 100_000
"""Most keys of a kind whose bytes are asked for."""

KEYS_AT_ONCE = 1_000
_TAGGED = re.compile(rb"\{([^}]+)\}:([a-z])")
_KINDS = {b"t": "index", b"p": "records", b"f": "frames"}


class Spent(NamedTuple):
    """What a server has spent since it started; commands within scripts count."""

    cpu_seconds: float
    commands: int


class SlowCalls(NamedTuple):
    """Calls since `log_slow_calls`, by the wall clock of the server; 0 where none took `LOGGED_MS`."""

    longest_ms: float
    long_count: int


def spent(client: redis.Redis) -> Spent:
    """Return what the server has spent so far."""
    cpu = client.info("cpu")
    calls = sum(int(each["calls"]) for each in client.info("commandstats").values())
    return Spent(cpu["used_cpu_user"] + cpu["used_cpu_sys"], calls)


def log_slow_calls(client: redis.Redis) -> None:
    """Log calls from now on that take `LOGGED_MS` or more, and forget those before."""
    client.config_set("slowlog-log-slower-than", LOGGED_MS * 1000)
    client.config_set("slowlog-max-len", LOGGED_CALLS)
    client.slowlog_reset()


def slow_calls(client: redis.Redis) -> SlowCalls:
    """Return the longest logged call, and how many took longer than `LONG_MS`; forget them."""
    took_ms = [int(entry["duration"]) / 1000 for entry in client.slowlog_get(LOGGED_CALLS)]
    client.slowlog_reset()  # its entries take memory
    return SlowCalls(max(took_ms, default=0.0), sum(each > LONG_MS for each in took_ms))


def used_bytes(client: redis.Redis) -> int:
    """Return all memory of the server, which counts clients and buffers too."""
    return int(client.info("memory")["used_memory"])


def stored_bytes(client: redis.Redis) -> int:
    """Return the bytes of all keys with the server's table of them, and forget logged calls.

    It is `dataset.bytes` of `MEMORY STATS`, which counts the slow log but no client, script or buffer, and
    `overhead.hashtable` of each database.
    """
    client.slowlog_reset()
    stats = client.memory_stats()
    databases = (each for name, each in stats.items() if str(name).startswith("db."))
    tables = sum(each["overhead.hashtable.main"] + each["overhead.hashtable.expires"] for each in databases)
    return int(stats["dataset.bytes"] + tables)


def bytes_by_kind(client: redis.Redis) -> dict[str, float]:
    """Return the bytes of the keys of an index: `index`, `records`, `clusters`, `frames`, `other`.

    Of a kind with more than `SAMPLED_KEYS` keys, one in two, four or more stands for all. The server's own
    table of keys is left out.
    """
    samples: defaultdict[str, _Sample] = defaultdict(_Sample)
    for key in client.scan_iter(count=10_000):
        samples[kind_of(key)].take(key)
    return {kind: _bytes_of(client, each.keys) * each.step for kind, each in samples.items()}


def kind_of(key: bytes) -> str:
    """Return what a key of an index holds."""
    tagged = _TAGGED.search(key)
    if tagged is None:
        return "other"
    return "clusters" if tagged[1] == b"c" else _KINDS.get(tagged[2], "other")


class _Sample:
    """Every `step`th of some keys: as many as there is room for."""

    def __init__(self) -> None:
        self.keys: list[bytes] = []
        self.step = 1
        self._count = 0

    def take(self, key: bytes) -> None:
        if self._count % self.step == 0:
            self.keys.append(key)
        self._count += 1
        if len(self.keys) > SAMPLED_KEYS:
            del self.keys[1::2]
            self.step *= 2


def _bytes_of(client: redis.Redis, keys: list[bytes]) -> int:
    total = 0
    for some in in_chunks(keys, KEYS_AT_ONCE):
        pipe = client.pipeline(transaction=False)
        for key in some:
            pipe.memory_usage(key, samples=0)
        total += sum(each or 0 for each in pipe.execute())
    return total
