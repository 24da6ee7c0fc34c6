"""How many pages a second does one daemon take from Kafka through Redis to Kafka, and at what cost?

    python -m benchmarks.end_to_end [--pages 200000] [--rounds 2] [--crawl text|html] [--json]

Broker, Redis and daemon run on this machine. The pages topic (4 partitions, zstd) is filled beforehand with
Latin text of 3.5 KB, 20 % of it near-duplicates; a smaller topic warms everything up. Two settings take turns
over the same pages: simhash alone, without clusters, and the default, with sketches, bands, verification and
clusters. With `--crawl html` the same texts come as HTML pages of 100 sites with a frame, and the two
settings are the default without frames and with them (`frames.scope`). The answers of each run are checked
before a figure is printed: every page has one outcome, every duplicate one event, no pair is false.
"""

import argparse
import asyncio
import json
import statistics
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, dataclass
from itertools import islice

import msgspec
import redis
from neardup_daemon.demo.sample_crawl.plain_texts import TextPage
from rich.console import Console
from rich.table import Table

from benchmarks.crawls import CRAWLS, Crawl, text_pages
from benchmarks.process_times import cpu_seconds, started_cpu_seconds
from benchmarks.redis_readings import kind_of, used_bytes
from neardup_stream.events import DuplicateFound, event_type
from neardup_stream.fingerprints.simhash import SimhashConfig, fingerprint_texts
from neardup_stream.message import Message, Record
from neardup_stream.streams.kafka.config import KafkaConnection, KafkaSinkConfig, KafkaSourceConfig
from neardup_stream.streams.kafka.sink import KafkaSink
from neardup_stream.streams.kafka.source import KafkaSource
from tests.servers.daemon import Daemon, start_daemon
from tests.servers.kafka import KafkaBroker, start_kafka
from tests.servers.redis import RedisServer, start_redis

PARTITIONS = 4
WARM_UP_PAGES = 20_000
SEND_PAGES = 2_000
KERNEL_PAGES = 4_000
KERNEL_RUNS = 5
POLL_SECONDS = 0.2
"""One metric is asked for: to render all of them costs the daemon milliseconds."""
_DUPLICATE = ("ce_type", event_type("duplicate").encode())


VARIANTS = {
    "simhash alone": ["verdict.scheme=simhash", "clusters.rule=off"],
    "everything": ["clusters.tombstone_ttl_seconds=5"],
}
"""Settings of each. Tombstones are kept for seconds, so that the bytes are nearly those of a corpus at rest,
and for longer than a batch is in flight: else batches are registered and verified twice."""

FRAME_VARIANTS = {
    "frames off": ["frames.scope=off", "clusters.tombstone_ttl_seconds=5"],
    "frames on": ["frames.scope=host", "clusters.tombstone_ttl_seconds=5"],
}

KINDS = ("index", "records", "clusters", "frames")


@dataclass(frozen=True)
class Figures:
    """What was measured of one variant, medians over the rounds; CPU in microseconds a page.

    The CPU of the daemon is that of all its processes; of it, that of the worker and what started it.
    """

    pages_per_second: float
    share_of_bare_kernel: float
    daemon_cpu_us: float
    worker_cpu_us: float
    redis_cpu_us: float
    broker_cpu_us: float
    index_bytes_per_page: float
    record_bytes_per_page: float
    cluster_bytes_per_page: float
    frame_bytes_per_page: float
    all_bytes_per_page: float
    duplicates: float
    recall_of_near_duplicates: float
    archive_candidates: float


def main() -> None:
    """Run both variants and print them side by side."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--crawl", choices=CRAWLS, default="text")
    parser.add_argument("--json", action="store_true", help="one JSON line instead of the table")
    arguments = parser.parse_args()
    variants = VARIANTS if arguments.crawl == "text" else FRAME_VARIANTS
    figures = measure(arguments.pages, arguments.rounds, variants, CRAWLS[arguments.crawl])
    if arguments.json:
        print(
            json.dumps({"pages": arguments.pages, **{name: asdict(each) for name, each in figures.items()}})
        )
    else:
        print_table(arguments.pages, figures)


def measure(
    page_count: int,
    round_count: int,
    variants: Mapping[str, Sequence[str]],
    crawl: Crawl = CRAWLS["text"],
) -> dict[str, Figures]:
    """Fill, warm up, run, check; the variants, which are settings, take turns."""
    with ExitStack() as servers:
        broker = servers.enter_context(start_kafka())
        store = servers.enter_context(start_redis())
        for topic, count in (("warm-up", WARM_UP_PAGES), ("pages", page_count)):
            broker.create_topic(topic, PARTITIONS)
            broker.create_topic(f"{topic}-events", PARTITIONS)
            broker.create_topic(f"{topic}-dead-letters", 1)
            asyncio.run(_fill(broker, topic, count, crawl))
        with _daemon(broker, store, "warm-up", page_count, []) as warming:
            warming.wait_for_pages(WARM_UP_PAGES, 300)
        runs: dict[str, list[Figures]] = {name: [] for name in variants}
        for number in range(round_count):
            for name, settings in variants.items():
                group = f"{name}-{number}".replace(" ", "-")
                runs[name].append(_measured_run(broker, store, page_count, group, settings, crawl))
        return {name: _medians(figures) for name, figures in runs.items()}


def _medians(runs: Sequence[Figures]) -> Figures:
    rows = [asdict(run) for run in runs]
    return Figures(**{name: statistics.median(row[name] for row in rows) for name in rows[0]})


def _daemon(
    broker: KafkaBroker,
    store: RedisServer,
    topic: str,
    page_count: int,
    settings: Sequence[str],
    group: str = "warm-up",
) -> AbstractContextManager[Daemon]:
    events_topic = f"{topic}-events" if group == "warm-up" else f"events-{group}"
    return start_daemon(
        [
            *settings,
            f"kafka.bootstrap_servers={broker.bootstrap_servers}",
            f"kafka.pages_topic={topic}",
            f"kafka.events_topic={events_topic}",
            f"kafka.dead_letters_topic={topic}-dead-letters",
            f"kafka.group_id={group}",
            f"redis.url={store.url}",
            f"redis.namespace={topic}",
            f"index.expected_pages={page_count}",
        ]
    )


def _measured_run(
    broker: KafkaBroker,
    store: RedisServer,
    page_count: int,
    group: str,
    settings: Sequence[str],
    crawl: Crawl,
) -> Figures:
    broker.create_topic(f"events-{group}", PARTITIONS)
    client = redis.Redis.from_url(store.url)
    client.flushall()
    empty_bytes = used_bytes(client)
    with _daemon(broker, store, "pages", page_count, settings, group) as daemon:
        daemon.wait_until_ready()
        first_pages, started = _wait_for_pages(daemon, 1)
        cpu_before = _spent(daemon.pid, store.pid, broker.pid)
        _, ended = _wait_for_pages(daemon, page_count)
        cpu_after = _spent(daemon.pid, store.pid, broker.pid)
        outcomes = daemon.outcomes()
        archive_candidates = daemon.metrics().get("neardup_archive_candidates_total", 0)
        assert daemon.stop() == 0
    assert sum(outcomes.values()) == page_count, outcomes
    recall = asyncio.run(_check_events(broker, page_count, group, outcomes["duplicate"], crawl))
    all_bytes = used_bytes(client) - empty_bytes
    kind_bytes = {kind: _freed_bytes(client, kind) for kind in KINDS}
    pages_per_second = (page_count - first_pages) / (ended - started)
    seconds = (after - before for before, after in zip(cpu_before, cpu_after, strict=True))
    main_us, worker_us, redis_us, broker_us = (each / (page_count - first_pages) * 1e6 for each in seconds)
    return Figures(
        pages_per_second=pages_per_second,
        share_of_bare_kernel=pages_per_second / _bare_kernel_pages_per_second(),
        daemon_cpu_us=main_us + worker_us,
        worker_cpu_us=worker_us,
        redis_cpu_us=redis_us,
        broker_cpu_us=broker_us,
        index_bytes_per_page=kind_bytes["index"] / page_count,
        record_bytes_per_page=kind_bytes["records"] / page_count,
        cluster_bytes_per_page=kind_bytes["clusters"] / page_count,
        frame_bytes_per_page=kind_bytes["frames"] / page_count,
        all_bytes_per_page=all_bytes / page_count,
        duplicates=outcomes["duplicate"],
        recall_of_near_duplicates=recall,
        archive_candidates=archive_candidates,
    )


async def _fill(broker: KafkaBroker, topic: str, count: int, crawl: Crawl) -> None:
    connection = KafkaConnection(bootstrap_servers=broker.bootstrap_servers)
    pages = crawl.pages(count)
    async with KafkaSink(KafkaSinkConfig(connection=connection, topic=topic)) as sink:
        while batch := list(islice(pages, SEND_PAGES)):
            await sink.send([_message(page, crawl.field) for page in batch])


def _message(page: TextPage, field: str) -> Message:
    return Message(key=page.url.encode(), value=msgspec.json.encode({"url": page.url, field: page.text}))


async def _check_events(
    broker: KafkaBroker, page_count: int, group: str, duplicate_count: int, crawl: Crawl
) -> float:
    """Every duplicate has one event and no pair is false; the share of near-duplicates that was found.

    A near-duplicate and its original may be read in either order, as they lie in different partitions.
    """
    origin: dict[str, str] = {}
    url_of: dict[str, str] = {}
    for page in crawl.pages(page_count):
        url_of[page.id] = page.url
        origin[page.url] = origin[url_of[page.near_duplicate_of]] if page.near_duplicate_of else page.url
    matched: dict[str, str] = {}
    for record in await _read_duplicates(broker, f"events-{group}", duplicate_count):
        event = msgspec.json.decode(record.value or b"", type=DuplicateFound)
        assert event.page.id not in matched, f"two events for {event.page.id}"
        assert all(origin[match.id] == origin[event.page.id] for match in event.matches), event
        matched[event.page.id] = event.matches[0].id
    assert len(matched) == duplicate_count
    return duplicate_count / sum(url != base for url, base in origin.items())


async def _read_duplicates(broker: KafkaBroker, topic: str, count: int) -> Sequence[Record]:
    connection = KafkaConnection(bootstrap_servers=broker.bootstrap_servers)
    config = KafkaSourceConfig(connection=connection, topics=(topic,), group_id=f"check-{topic}")
    records: list[Record] = []
    async with KafkaSource(config) as source:
        while len(records) < count:
            read = await source.read(10_000, 1 << 26)
            records.extend(record for record in read if _DUPLICATE in record.headers)
    return records


def _bare_kernel_pages_per_second() -> float:
    """Measure the kernel alone, on one core, over the same kind of text."""
    texts = [page.text for page in text_pages(KERNEL_PAGES)]
    fingerprint_texts(texts[:10], SimhashConfig())
    seconds = []
    for _ in range(KERNEL_RUNS):
        start = time.perf_counter()
        fingerprint_texts(texts, SimhashConfig())
        seconds.append(time.perf_counter() - start)
    return KERNEL_PAGES / statistics.median(seconds)


def _wait_for_pages(daemon: Daemon, count: int) -> tuple[float, float]:
    """Wait for so many finished pages; how many there are then, and when."""
    while (pages := daemon.metrics("neardup_pages_total").get("neardup_pages_total", 0)) < count:
        time.sleep(POLL_SECONDS)
    return pages, time.perf_counter()


def _spent(daemon_pid: int, *server_pids: int) -> list[float]:
    """Return the processor time of the daemon, of the processes that it started, and of each server."""
    return [cpu_seconds(daemon_pid), started_cpu_seconds(daemon_pid), *map(cpu_seconds, server_pids)]


def _freed_bytes(client: redis.Redis, kind: str) -> int:
    """Delete the keys of a kind, and return how many bytes that frees."""
    before = used_bytes(client)
    for key in client.scan_iter(count=10_000):
        if kind_of(key) == kind:
            client.delete(key)
    return before - used_bytes(client)


def print_table(page_count: int, figures: Mapping[str, Figures]) -> None:
    """Side by side, with the ratio of the last to the first."""
    table = Table(title=f"Kafka → Redis → Kafka, one daemon, {page_count:,} pages", title_justify="left")
    table.add_column("figure")
    for name in figures:
        table.add_column(name, justify="right")
    table.add_column("ratio", justify="right")
    for name in asdict(next(iter(figures.values()))):
        first, last = (getattr(each, name) for each in figures.values())
        ratio = f"{last / first:.2f}" if first > 0 else ""
        table.add_row(name.replace("_", " "), _shown(first), _shown(last), ratio)
    Console().print(table)


def _shown(value: float) -> str:
    return f"{value:,.2f}" if value < 10 else f"{value:,.0f}"


if __name__ == "__main__":
    main()
