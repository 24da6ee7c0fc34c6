"""Does any call hold Redis, or the event loop, for long; and are four daemons on one hot cluster worth it?

    python -m benchmarks.hot_clusters [--pages 50000] [--seconds 10] [--json]

A Redis of its own logs every call over a millisecond. Pages are numbers, and their matches are given, so that
nothing but the clusters works:

- joining: daemons, 1 and then 4 processes, decide batches of 512 pages, 8 of which join one cluster;
- merging: two clusters of so many pages become one, and then their members move;
- trimming: so many rows are removed, and then so many tombstones;
- pending: so many copies of a page that is registered and not decided are decided, and then it is;
- probing: so many pages are looked for and inserted, 120 copies of each;
- retention: so many pages, half of them in one cluster, are due and go.

For each it prints the longest call and the script that took it, the calls over 10 ms, and the most CPU time
for which the event loop was blocked. Other processes on the machine count in the calls; where it may, the
benchmark gives Redis precedence over them, so that a call takes hardly longer than its CPU time.
"""

import argparse
import asyncio
import json
import logging
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial
from importlib.resources import files
from multiprocessing.synchronize import Barrier

from neardup_daemon.gc_tuning import collect_rarely
from rich.console import Console
from rich.table import Table

from benchmarks.hot_buckets import fill_buckets, round_of_retention, store_due_pages
from benchmarks.numbered_pages import (
    BATCH_PAGES,
    HOT,
    decide,
    describe,
    place,
    results_of_daemons,
    spread,
)
from neardup_stream.clusters.clusters import ClusterConfig, Clusters
from neardup_stream.clusters.requests import Request
from neardup_stream.message import Partition
from neardup_stream.stores.memory.records import MemoryRecords
from neardup_stream.stores.redis.client import RedisClient, Script
from neardup_stream.stores.redis.clusters import RedisClusters
from neardup_stream.stores.redis.config import RedisConfig
from neardup_stream.stores.redis.keys import ClusterKeys
from tests.servers.redis import RedisServer, find_redis, start_redis

HOT_PAGES = 8
DAEMONS = (1, 4)
LOGGED_MICROSECONDS = 1000
LONG_MICROSECONDS = 10_000
LOOK_SECONDS = 0.002
SCRIPTS = {
    Script.load(each.name.removesuffix(".lua")).sha: each.name.removesuffix(".lua")
    for each in files("neardup_stream.stores.redis").iterdir()
    if each.name.endswith(".lua")
}
"""By the name that Redis gives them; not the one that is loaded with constants, `probe_insert`."""


@dataclass(frozen=True)
class Figures:
    """What was measured of one case."""

    case: str
    pages_per_second: float
    longest_call_ms: float
    longest_script: str
    calls_over_10_ms: int
    longest_block_ms: float


def main() -> None:
    """Run all cases and print them."""
    logging.disable(logging.WARNING)  # clusters are decided without page records, which sweeping notices
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=50_000)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--json", action="store_true", help="one JSON line instead of the table")
    arguments = parser.parse_args()
    collect_rarely()  # as the daemon does
    with start_redis(find_redis, {}) as server:
        with suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, server.pid, -20)
        figures = asyncio.run(measure(server, arguments.pages, arguments.seconds))
    if arguments.json:
        print(json.dumps([asdict(each) for each in figures]))
    else:
        print_table(figures)


async def measure(server: RedisServer, pages: int, seconds: float) -> list[Figures]:
    """Measure one case after the other, each in a namespace of its own."""
    found = []
    async with RedisClient(RedisConfig(server.url)) as client:
        await client.execute("CONFIG", "SET", "slowlog-max-len", "100000")
        await client.execute("CONFIG", "SET", "slowlog-log-slower-than", str(LOGGED_MICROSECONDS))
        for count in DAEMONS:
            name = f"joining, {count} daemon{'s' * (count > 1)}"
            found.append(await _case(client, name, partial(_joining, server, count, seconds), seconds))
        for name, case in (("merging", _merging), ("trimming", _trimming), ("pending", _pending)):
            for step, work in await case(clusters_of(client, name), pages):
                found.append(await _case(client, f"{name}: {step}", work))
        found.append(await _case(client, "probing", partial(fill_buckets, client, "probing", pages)))
        found.append(await _case(client, "retention", await _retention(client, pages)))
    return found


def clusters_of(client: RedisClient, namespace: str) -> Clusters:
    """Return the clusters of one case, with slots for a million pages."""
    keys = ClusterKeys(namespace=namespace, schema_id="bench", slot_bits=14)
    return Clusters(RedisClusters(client, keys), describe, config=ClusterConfig(tombstone_ttl_seconds=0))


Work = Callable[[], Awaitable[int]]
"""Does one step; how many pages that was."""


async def _case(client: RedisClient, name: str, work: Work, seconds: float | None = None) -> Figures:
    """Measure one case; where `seconds` are given, work takes these, beside the start of its processes."""
    await client.execute("SLOWLOG", "RESET")
    started = time.perf_counter()
    async with _watched() as blocks:
        pages = await work()
    elapsed = seconds or time.perf_counter() - started
    logged = [(entry[2], _script_of(entry[3])) for entry in await client.execute("SLOWLOG", "GET", -1)]
    calls = [call for call in logged if call[1] != "SLOWLOG"]
    longest, script = max(calls, default=(0, ""))
    return Figures(
        case=name,
        pages_per_second=pages / elapsed,
        longest_call_ms=longest / 1000,
        longest_script=script,
        calls_over_10_ms=sum(microseconds > LONG_MICROSECONDS for microseconds, _ in calls),
        longest_block_ms=1000 * max(blocks),
    )


def _script_of(command: bytes | Sequence[bytes]) -> str:
    """Name the script that a logged command calls."""
    words = command.split() if isinstance(command, bytes) else list(command)
    if words[0] == b"EVALSHA":
        return SCRIPTS.get(words[1].decode(), "probe_insert")
    return words[0].decode()


@asynccontextmanager
async def _watched() -> AsyncIterator[list[float]]:
    """Yield by how much the event loop came too late, each time, and at most the CPU time that it took."""
    blocks = [0.0]

    async def watch() -> None:
        while True:
            before, cpu_before = time.perf_counter(), time.thread_time()
            await asyncio.sleep(LOOK_SECONDS)
            late = time.perf_counter() - before - LOOK_SECONDS
            blocks.append(min(late, time.thread_time() - cpu_before))

    watching = asyncio.create_task(watch())
    try:
        yield blocks
    finally:
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching


async def _joining(server: RedisServer, count: int, seconds: float) -> int:
    """Daemons decide for so many seconds; each keeps two batches in flight, as the pipeline does."""
    return sum(await results_of_daemons(count, _decide_for, server.url, f"joining{count}", seconds))


async def _decide_for(number: int, url: str, namespace: str, seconds: float, barrier: Barrier) -> int:
    """Return how many pages the daemon decided."""
    partition = Partition("pages", number)
    async with RedisClient(RedisConfig(url)) as client:
        clusters = clusters_of(client, namespace)
        if not number:
            await decide(clusters, [place(partition, 0, HOT)])
        barrier.wait()
        first, ends = (number + 1) * 10**9, time.perf_counter() + seconds
        offset = 1
        while time.perf_counter() < ends:
            batch = [
                place(partition, at, first + at, *([HOT] if at % (BATCH_PAGES // HOT_PAGES) == 0 else []))
                for at in range(offset, offset + BATCH_PAGES)
            ]
            await decide(clusters, batch)
            offset += BATCH_PAGES
            await clusters.trim({partition: offset})
    return offset


async def _decide_all(clusters: Clusters, requests: Sequence[Request]) -> None:
    for first in range(0, len(requests), BATCH_PAGES):
        await decide(clusters, requests[first : first + BATCH_PAGES])


Steps = Sequence[tuple[str, Work]]


async def _merging(clusters: Clusters, pages: int) -> Steps:
    partition, younger = Partition("pages", 0), pages + 1
    for first in (HOT, younger):
        requests = [place(partition, first, first)]
        requests += [place(partition, number, number, first) for number in range(first + 1, first + pages)]
        await _decide_all(clusters, requests)

    async def merge() -> int:
        await decide(clusters, [place(partition, 3 * pages, 3 * pages, HOT, younger)])
        return 2 * pages

    async def move() -> int:
        await clusters.tidy(MemoryRecords())
        return pages

    return [("the merge", merge), ("its members move", move)]


async def _trimming(clusters: Clusters, pages: int) -> Steps:
    partition = Partition("pages", 0)
    await _decide_all(clusters, [place(partition, number, number) for number in range(pages)])

    async def trim() -> int:
        await clusters.trim({partition: pages})
        return pages

    async def sweep() -> int:
        await clusters.tidy(MemoryRecords())
        return pages

    return [("rows", trim), ("tombstones", sweep)]


async def _pending(clusters: Clusters, pages: int) -> Steps:
    partition, undecided = Partition("pages", 0), 10**9

    requests = [place(partition, 0, HOT, undecided, rank=0)]
    requests += [place(partition, number, number, HOT, undecided, rank=0) for number in range(2, pages)]

    async def decide_copies() -> int:
        await _decide_all(clusters, requests)
        return pages

    async def decide_it() -> int:
        await decide(clusters, [place(partition, pages, undecided)])
        return 1

    return [("its copies", decide_copies), ("the page", decide_it)]


async def _retention(client: RedisClient, pages: int) -> Work:
    """Members of one cluster, and pages that stand alone."""
    clusters, partition = clusters_of(client, "retention"), Partition("pages", 0)
    numbers = range(1, pages + 1)
    requests = [place(partition, each, each, *([HOT] if 1 < each <= pages // 2 else [])) for each in numbers]
    await _decide_all(clusters, requests)
    await store_due_pages(client, "retention", [spread(each) for each in numbers])

    async def expire() -> int:
        assert await round_of_retention(client, "retention", clusters) == pages
        return pages

    return expire


def print_table(figures: Sequence[Figures]) -> None:
    """For people."""
    table = Table("case", "pages/s", "longest call, ms", "script", "calls over 10 ms", "longest block, ms")
    for each in figures:
        table.add_row(
            each.case,
            f"{each.pages_per_second:,.0f}",
            f"{each.longest_call_ms:.1f}",
            each.longest_script,
            str(each.calls_over_10_ms),
            f"{each.longest_block_ms:.0f}",
        )
    Console().print(table)


if __name__ == "__main__":
    main()
