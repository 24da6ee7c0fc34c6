"""Does a page cost the same in a large index, and is it what `plan` predicts?

    python -m benchmarks.growth [--sizes 100000,1000000,5000000] [--window 60000] [--json]

An index laid out for the largest of the sizes, with the default settings, is filled with generated pages
of 80 words, one in five a near copy of a page of any age. The pages go from memory through the pipeline of
the daemon, its worker process and a Redis, and their events back to memory: without Kafka, whose cost does
not depend on the index. They go in portions, each to its last commit, and every portion is made and checked
while no page flows. The last one before each size is the window that is measured: it takes the same path as
all others, and the tombstones of the portions before it, which are kept for five seconds, are removed
meanwhile. Bytes are measured once no tombstone is left.

Every page must have one outcome and every duplicate one event. `plan` is asked for an index of so many pages;
beneath the largest size the layout is larger than that, and its buckets are emptier.
"""

import argparse
import asyncio
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import redis
from neardup_daemon.capacity.planned import IndexPlan
from neardup_daemon.settings.settings import Settings
from rich.console import Console
from rich.table import Table

from benchmarks.growing_crawl import BLOCK_PAGES, WORDS, GrowingCrawl, url_of
from benchmarks.growing_index import GrowingIndex, check_events, open_growing_index
from benchmarks.plans import plan_of
from benchmarks.redis_readings import bytes_by_kind, log_slow_calls, slow_calls, spent, used_bytes
from tests.servers.redis import RedisServer, start_redis

TOMBSTONE_SECONDS = 5
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


class Flow(NamedTuple):
    """What a window of pages took; CPU in microseconds a page, the longest call in milliseconds."""

    pages_per_second: float
    process_cpu_us: float
    redis_cpu_us: float
    commands: float
    longest_call_ms: float
    calls_above_10_ms: int
    copies_found: float
    false_pairs: int


class Rest(NamedTuple):
    """Bytes of Redis a page, once no tombstone is left."""

    index_bytes: float
    record_bytes: float
    cluster_bytes: float
    all_bytes: float


class Point(NamedTuple):
    """What was measured at one size, and what `plan` predicts of it, by the same names."""

    pages: int
    measured: Mapping[str, float]
    planned: Mapping[str, float]


def main() -> None:
    """Grow an index, and print each size as soon as all are measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=sizes_of, default="100000,1000000,5000000")
    parser.add_argument("--window", type=int, default=60_000)
    parser.add_argument("--json", action="store_true", help="one JSON line instead of the table")
    arguments = parser.parse_args()
    with start_redis() as server:
        points = asyncio.run(grow(server, arguments.sizes, arguments.window))
    if arguments.json:
        print(json.dumps([point._asdict() for point in points]))
    else:
        print_table(points)


def sizes_of(text: str) -> list[int]:
    """Return growing numbers of pages, each a multiple of `BLOCK_PAGES`.

    Raises:
        ArgumentTypeError: they are not.
    """
    sizes = [int(size) for size in text.split(",")]
    if sizes != sorted(set(sizes)) or any(size <= 0 or size % BLOCK_PAGES for size in sizes):
        raise argparse.ArgumentTypeError(f"{text}: growing multiples of {BLOCK_PAGES:,} are needed")
    return sizes


def portions(sizes: Sequence[int], window: int) -> Iterator[tuple[int, bool]]:
    """Yield how many pages come next, and whether they are the window before a size."""
    held = 0
    for size in sizes:
        while held < size:
            before_window = size - min(window, size - held) - held
            portion = min(window, before_window) or size - held
            held += portion
            yield portion, held == size


async def grow(server: RedisServer, sizes: Sequence[int], window: int) -> list[Point]:
    """Fill one index up to the largest size, and measure at each."""
    overrides = (
        f"redis.url={server.url}",
        f"index.expected_pages={sizes[-1]}",
        f"clusters.tombstone_ttl_seconds={TOMBSTONE_SECONDS}",
    )
    settings = Settings.load(None, overrides)
    crawl = GrowingCrawl()
    points: list[Point] = []
    with redis.Redis.from_url(server.url) as client:
        empty_bytes = used_bytes(client)
        async with open_growing_index(settings) as index:
            for count, is_window in portions(sizes, window):
                flow = await take(index, crawl, count, server, client)
                if is_window:
                    await index.rest()
                    size = len(crawl.origins)
                    at_rest = rest(client, empty_bytes, size)
                    plan = planned(crawl, flow.pages_per_second, settings)
                    points.append(Point(size, {**flow._asdict(), **at_rest._asdict()}, plan))
    return points


async def take(
    index: GrowingIndex, crawl: GrowingCrawl, count: int, server: RedisServer, client: redis.Redis
) -> Flow:
    """Decide the next pages, and check what is reported of them."""
    first = len(crawl.origins)
    records = crawl.next_records(count)
    copy_count = crawl.copies_from(first)
    log_slow_calls(client)
    before, cpu_before, began = spent(client), _own_cpu_seconds(server), time.perf_counter()
    events = await index.take(records)
    seconds = time.perf_counter() - began
    own_cpu, after, slow = _own_cpu_seconds(server) - cpu_before, spent(client), slow_calls(client)
    found = check_events(events, crawl)
    return Flow(
        pages_per_second=count / seconds,
        process_cpu_us=own_cpu / count * 1e6,
        redis_cpu_us=(after.cpu_seconds - before.cpu_seconds) / count * 1e6,
        commands=(after.commands - before.commands) / count,
        longest_call_ms=slow.longest_ms,
        calls_above_10_ms=slow.long_count,
        copies_found=found.copies / copy_count if copy_count else 1.0,
        false_pairs=found.false_pairs,
    )


def rest(client: redis.Redis, empty_bytes: int, pages: int) -> Rest:
    """Return the bytes of a page."""
    kinds = bytes_by_kind(client)
    return Rest(
        index_bytes=kinds["index"] / pages,
        record_bytes=kinds["records"] / pages,
        cluster_bytes=kinds["clusters"] / pages,
        all_bytes=(used_bytes(client) - empty_bytes) / pages,
    )


def planned(crawl: GrowingCrawl, pages_per_second: float, settings: Settings) -> dict[str, float]:
    """Return what `plan` says of an index of so many pages, by the names of what is measured."""
    pages = len(crawl.origins)
    plan: IndexPlan = plan_of(
        settings,
        pages=pages,
        rate=pages_per_second,
        words=WORDS,
        url_bytes=len(url_of(pages - 1)),
        linked_share=crawl.linked_count / pages,
    )
    return {
        "redis_cpu_us": plan.cost.redis,
        "commands": plan.cost.commands,
        "index_bytes": plan.bytes_per_page.tables,
        "record_bytes": plan.bytes_per_page.record,
        "cluster_bytes": plan.bytes_per_page.clusters,
        "all_bytes": plan.bytes_per_page.total,
    }


def _own_cpu_seconds(server: RedisServer) -> float:
    """Return the processor time of this process and of its children, but for the server."""
    tasks = Path("/proc/self/task").iterdir()
    children = {int(pid) for task in tasks for pid in (task / "children").read_text().split()}
    stats = (Path(f"/proc/{pid}/stat").read_text() for pid in children - {server.pid})
    ticks = [sum(map(int, stat.rpartition(")")[2].split()[11:13])) for stat in stats]
    return time.process_time() + sum(ticks) / TICKS_PER_SECOND


def print_table(points: Sequence[Point]) -> None:
    """Print the sizes side by side, each beside its plan where there is one."""
    table = Table(title=f"An index that grows to {points[-1].pages:,} pages", title_justify="left")
    table.add_column("figure", no_wrap=True)
    for point in points:
        table.add_column(f"{point.pages:,}", justify="right")
        table.add_column("plan", justify="right")
        table.add_column("of it", justify="right")
    for name in points[0].measured:
        cells = (cell for point in points for cell in _cells(point.measured[name], point.planned.get(name)))
        table.add_row(name.replace("_", " "), *cells)
    Console().print(table)


def _cells(measured: float, plan: float | None) -> tuple[str, str, str]:
    shown = f"{measured:,.1f}" if 1 < measured < 100 else f"{measured:,.4g}"
    return (shown, "", "") if not plan else (shown, f"{plan:,.1f}", f"{measured / plan:.2f}")


if __name__ == "__main__":
    main()
