"""What does the one slot of the clusters carry, and what do more daemons change?

    python -m benchmarks.cluster_slot [--seconds 10] [--json]

Daemons, 1, 2 and 4 processes, decide batches of 512 pages and trim them; pages are numbers and their matches
are given, so nothing but the clusters works. In one case no page matches another, in the other eight of a
batch join one cluster that all daemons share. Counts and processor time of Redis, which other processes on
the machine change less than pages a second; that all pages are decided is looked up in the store at the end.
"""

import argparse
import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from multiprocessing.synchronize import Barrier

from rich.console import Console
from rich.table import Table

from benchmarks.numbered_pages import BATCH_PAGES, HOT, decide, describe, place, results_of_daemons
from neardup_stream.clusters.clusters import ClusterConfig, Clusters
from neardup_stream.message import Partition
from neardup_stream.stores.cluster_store import Transaction
from neardup_stream.stores.redis.client import RedisClient
from neardup_stream.stores.redis.clusters import RedisClusters
from neardup_stream.stores.redis.config import RedisConfig
from neardup_stream.stores.redis.keys import ClusterKeys
from tests.servers.redis import RedisServer, find_redis, start_redis

DAEMONS = (1, 2, 4)
HOT_PAGES = (0, 8)
"""Of a batch, in one cluster."""

_COMMANDS = ("evalsha", "info")
"""What the client sends; all others are called by scripts."""


class CountedClusters(RedisClusters):
    """Counts commits, and those that others had come before."""

    def __init__(self, client: RedisClient, keys: ClusterKeys) -> None:
        super().__init__(client, keys)
        self.commits = self.conflicts = 0

    async def commit(self, transaction: Transaction) -> int | None:
        """Commit, and count."""
        base = await super().commit(transaction)
        self.commits += 1
        self.conflicts += base is None
        return base


@dataclass(frozen=True)
class Figures:
    """One case, and what a page took."""

    daemons: int
    hot_pages: int
    pages: int
    redis_microseconds: float
    calls_per_batch: float
    commands: float
    conflicts_per_commit: float
    bytes_per_page: float


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--json", action="store_true", help="one JSON line instead of the table")
    arguments = parser.parse_args()
    figures = []
    for hot in HOT_PAGES:
        for daemons in DAEMONS:
            with start_redis(find_redis, {}) as server:
                figures.append(asyncio.run(measure(server, daemons, hot, arguments.seconds)))
    if arguments.json:
        print(json.dumps([asdict(each) for each in figures]))
        return
    table = Table(title="One slot of clusters, a page", title_justify="left")
    for name in Figures.__annotations__:
        table.add_column(name.replace("_", " "), justify="right")
    for each in figures:
        values = asdict(each).values()
        table.add_row(*(f"{value:.2f}" if isinstance(value, float) else f"{value:,}" for value in values))
    Console().print(table)


async def measure(server: RedisServer, daemons: int, hot: int, seconds: float) -> Figures:
    """Let daemons decide for so many seconds."""
    async with RedisClient(RedisConfig(server.url)) as client:
        before = await _stats(client)
        counts = await results_of_daemons(daemons, _decide_for, server.url, hot, seconds)
        after = await _stats(client)
        await _require_decided(client, [number for number, *_ in counts], [each[1] for each in counts])
    pages = sum(each[1] for each in counts)
    commits, conflicts = (sum(each[at] for each in counts) for at in (2, 3))
    cpu, calls, commands, size = (late - early for late, early in zip(after, before, strict=True))
    return Figures(
        daemons=daemons,
        hot_pages=hot,
        pages=pages,
        redis_microseconds=1e6 * cpu / pages,
        calls_per_batch=calls / pages * BATCH_PAGES,
        commands=commands / pages,
        conflicts_per_commit=conflicts / commits,
        bytes_per_page=size / pages,
    )


async def _stats(client: RedisClient) -> tuple[float, int, int, int]:
    """Return CPU seconds, calls of clients, commands within them, and bytes."""
    cpu, stats, memory = [await client.execute("INFO", each) for each in ("cpu", "commandstats", "memory")]
    counts = {name.removeprefix("cmdstat_"): each["calls"] for name, each in stats.items()}
    calls = counts.get("evalsha", 0)
    inner = sum(count for name, count in counts.items() if name.partition("|")[0] not in _COMMANDS)
    return cpu["used_cpu_user"] + cpu["used_cpu_sys"], calls, inner, memory["used_memory"]


async def _require_decided(client: RedisClient, numbers: Sequence[int], pages: Sequence[int]) -> None:
    """Require that every page of every daemon is decided and trimmed."""
    clusters, _ = _clusters(client)
    for number, count in zip(numbers, pages, strict=True):
        partition = Partition("pages", number)
        assert not await clusters.stored_records(partition), "rows are left"
        last = place(partition, count - 1, 0).position
        assert (await clusters.already_decided([last])).knows(last), "pages were not decided"


def _clusters(client: RedisClient) -> tuple[Clusters, CountedClusters]:
    store = CountedClusters(client, ClusterKeys(namespace="slot", schema_id="bench", slot_bits=14))
    return Clusters(store, describe, config=ClusterConfig(tombstone_ttl_seconds=600)), store


async def _decide_for(
    number: int, url: str, hot: int, seconds: float, barrier: Barrier
) -> tuple[int, int, int, int]:
    """Return the daemon's number, its pages, its commits and its conflicts."""
    partition = Partition("pages", number)
    async with RedisClient(RedisConfig(url)) as client:
        clusters, store = _clusters(client)
        offset = 0
        if not number:
            await decide(clusters, [place(partition, offset, HOT)])
            offset = 1
        barrier.wait()
        first, ends = (number + 1) * 10**9, time.perf_counter() + seconds
        while time.perf_counter() < ends:
            await decide(
                clusters,
                [
                    place(partition, offset + row, first + offset + row, *([HOT] if row < hot else []))
                    for row in range(BATCH_PAGES)
                ],
            )
            offset += BATCH_PAGES
            await clusters.trim({partition: offset})
    return number, offset, store.commits, store.conflicts


if __name__ == "__main__":
    main()
