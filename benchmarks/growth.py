"""Does a page cost the same in a large index, and is it what `plan` predicts?

    python -m benchmarks.growth [--sizes 100000,1000000,5000000] [--window 60000] [--json]

An index laid out as `plan` recommends for the largest of the sizes, with the default settings, is filled
with generated pages of 80 words, one in five a near copy of a page of any age. The pages go from memory
through the pipeline of the daemon, its worker process and a Redis, and their events back to memory: without
Kafka, whose cost does not depend on the index. They go in portions, each to its last commit, and every
portion is made and checked while no page flows. The last one before each size is the window that is
measured; the tombstones of the portion before it, which are kept for five seconds, are removed meanwhile. Of
earlier portions only the near copies take the same path; the originals, which match nothing, are stored as
they are once they are decided (`direct_fill`). Bytes are measured once no tombstone is left.

Every page must have one outcome and every duplicate one event. `plan` predicts what each size takes in the
one layout; beneath the largest size its buckets are emptier than it assumes.
"""

import argparse
import asyncio
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import redis
from neardup_daemon.capacity.layouts import layout_for, range_entries
from neardup_daemon.capacity.machines import cost_per_page
from neardup_daemon.capacity.memory import bytes_per_page
from neardup_daemon.preparing import index_layout, sketch_config
from neardup_daemon.settings.settings import Settings
from rich.console import Console
from rich.table import Table

from benchmarks.growing_crawl import BLOCK_PAGES, WORDS, GrowingCrawl, url_of
from benchmarks.growing_index import GrowingIndex, check_events, open_growing_index
from benchmarks.process_times import cpu_seconds, started_cpu_seconds
from benchmarks.redis_readings import bytes_by_kind, log_slow_calls, slow_calls, spent, stored_bytes
from tests.servers.redis import RedisServer, start_redis

TOMBSTONE_SECONDS = 5
LEAST_FOUND = 0.999
"""Of the copies among pages that are not measured: one in 200,000 shares no band with its original."""

Path = Literal["filled", "decided", "measured"]
"""Of a portion: stored directly but for copies; decided by the daemon; the same as a window."""


class Flow(NamedTuple):
    """What a window of pages took; CPU in microseconds a page, the longest call in milliseconds.

    The daemon is this process, which also hands out the records; the worker prepares pages for it.
    """

    pages_per_second: float
    daemon_cpu_us: float
    worker_cpu_us: float
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


def portions(sizes: Sequence[int], window: int) -> Iterator[tuple[int, Path]]:
    """Yield how many pages come next, and on which path, up to the last size."""
    held = 0
    for size in sizes:
        measured = min(window, size - held)
        warming = min(window, size - held - measured)
        filled = size - held - measured - warming
        for _ in range(filled // window):
            yield window, "filled"
        if filled % window:
            yield filled % window, "filled"
        if warming:
            yield warming, "decided"
        yield measured, "measured"
        held = size


async def grow(server: RedisServer, sizes: Sequence[int], window: int) -> list[Point]:
    """Fill one index up to the largest size, and measure at each."""
    settings = settings_for(sizes[-1], server.url)
    crawl = GrowingCrawl()
    points: list[Point] = []
    with redis.Redis.from_url(server.url) as client:
        empty_bytes = stored_bytes(client)
        async with open_growing_index(settings) as index:
            for count, path in portions(sizes, window):
                if path == "filled":
                    await fill(index, crawl, count)
                    continue
                flow = await take(index, crawl, count, server, client)
                if path == "decided":
                    continue
                await index.rest()
                size = len(crawl.origins)
                at_rest = rest(client, empty_bytes, size)
                points.append(Point(size, {**flow._asdict(), **at_rest._asdict()}, planned(crawl, settings)))
    return points


def settings_for(pages: int, redis_url: str) -> Settings:
    """Return the default settings, with the layout that `plan` recommends for so many pages."""
    permuted = layout_for(pages, Settings()).config.permuted
    overrides = (
        f"redis.url={redis_url}",
        f"index.expected_pages={pages}",
        f"index.blocks={permuted.blocks}",
        f"index.substrings={permuted.substrings}",
        f"clusters.tombstone_ttl_seconds={TOMBSTONE_SECONDS}",
        "redis.socket_timeout_seconds=60",  # a call that is repeated would count twice
    )
    return Settings.load(None, overrides)


async def fill(index: GrowingIndex, crawl: GrowingCrawl, count: int) -> None:
    """Store the originals of the next pages directly, then decide the copies, and check what is reported."""
    first = len(crawl.origins)
    records = crawl.next_records(count)
    copies = [record for number, record in enumerate(records, first) if crawl.is_copy(number)]
    await index.fill([record for number, record in enumerate(records, first) if not crawl.is_copy(number)])
    found = check_events(await index.take(copies), crawl)
    assert found.copies >= LEAST_FOUND * len(copies), found


async def take(
    index: GrowingIndex, crawl: GrowingCrawl, count: int, server: RedisServer, client: redis.Redis
) -> Flow:
    """Decide the next pages, and check what is reported of them."""
    first = len(crawl.origins)
    records = crawl.next_records(count)
    copy_count = crawl.copies_from(first)
    log_slow_calls(client)
    before, own_before, worker_before = spent(client), *_cpu_seconds(server)
    began = time.perf_counter()
    events = await index.take(records)
    seconds = time.perf_counter() - began
    own_after, worker_after = _cpu_seconds(server)
    after, slow = spent(client), slow_calls(client)
    found = check_events(events, crawl)
    return Flow(
        pages_per_second=count / seconds,
        daemon_cpu_us=(own_after - own_before) / count * 1e6,
        worker_cpu_us=(worker_after - worker_before) / count * 1e6,
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
        all_bytes=(stored_bytes(client) - empty_bytes) / pages,
    )


def planned(crawl: GrowingCrawl, settings: Settings) -> dict[str, float]:
    """Return what `plan` predicts for the pages so far in this layout, by the names of what is measured."""
    pages = len(crawl.origins)
    linked_share = crawl.linked_count / pages
    layout, sketch = index_layout(settings), sketch_config(settings)
    assert sketch is not None
    cost = cost_per_page(
        layout,
        range_entries=range_entries(pages, layout),
        words=WORDS,
        html_bytes=0,
        linked_share=linked_share,
    )
    stored = bytes_per_page(
        layout, sketch, url_bytes=len(url_of(pages - 1)), linked_share=linked_share, framed_share=0.0
    )
    return {
        "redis_cpu_us": cost.redis,
        "commands": cost.commands,
        "index_bytes": stored.tables,
        "record_bytes": stored.record,
        "cluster_bytes": stored.clusters,
        "all_bytes": stored.total,
    }


def _cpu_seconds(server: RedisServer) -> tuple[float, float]:
    """Return the processor time of this process, and of those it has started but for the server."""
    return cpu_seconds(os.getpid()), started_cpu_seconds(os.getpid(), but=server.pid)


def print_table(points: Sequence[Point]) -> None:
    """Print the sizes side by side, each with what it is of its plan where there is one."""
    table = Table(title=f"An index that grows to {points[-1].pages:,} pages", title_justify="left")
    table.add_column("figure", no_wrap=True)
    for point in points:
        table.add_column(f"{point.pages:,}", justify="right")
        table.add_column("of plan", justify="right")
    for name in points[0].measured:
        cells = (cell for point in points for cell in _cells(point.measured[name], point.planned.get(name)))
        table.add_row(name.replace("_", " "), *cells)
    Console().print(table)


def _cells(measured: float, plan: float | None) -> tuple[str, str]:
    digits = 2 if measured < 1 else 1 if measured < 1000 else 0
    shown = f"{measured:,.{digits}f}"
    return (shown, f"{measured / plan:.2f}" if plan else "")


if __name__ == "__main__":
    main()
