"""How many pages a second does one daemon take from Kafka through Redis to Kafka, and at what cost?

    python -m benchmarks.end_to_end [--pages 200000] [--json]

Broker, Redis and daemon run on this machine. The pages topic (4 partitions, zstd) is filled beforehand with
Latin text of 3.5 KB, 20 % of it near-duplicates; a smaller topic warms everything up. The answers are
checked before a figure is printed: every page has one outcome, every duplicate one event, no pair is false.
"""

import argparse
import asyncio
import json
import os
import statistics
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, dataclass
from itertools import islice

import msgspec
import redis
from rich.console import Console
from rich.table import Table

from daemon.sample_crawl.plain_texts import TextPage, generate_texts
from neardup_stream.events import DuplicateFound
from neardup_stream.fingerprints.simhash import SimhashConfig, fingerprint_texts
from neardup_stream.message import Message, Record
from neardup_stream.streams.kafka_config import KafkaConnection, KafkaSinkConfig, KafkaSourceConfig
from neardup_stream.streams.kafka_sink import KafkaSink
from neardup_stream.streams.kafka_source import KafkaSource
from tests.servers.daemon import Daemon, start_daemon
from tests.servers.kafka import KafkaBroker, start_kafka
from tests.servers.redis import RedisServer, start_redis

PARTITIONS = 4
WARM_UP_PAGES = 20_000
SEND_PAGES = 2_000
KERNEL_PAGES = 4_000
KERNEL_RUNS = 5
POLL_SECONDS = 0.2
"""A look at the metrics costs the daemon some 3 ms."""
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Figures:
    """What was measured; CPU in microseconds a page."""

    pages: int
    pages_per_second: float
    share_of_bare_kernel: float
    daemon_cpu_us: float
    redis_cpu_us: float
    broker_cpu_us: float
    index_bytes_per_page: float
    record_bytes_per_page: float
    duplicates: int
    recall_of_near_duplicates: float


def main() -> None:
    """Run once and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=200_000)
    parser.add_argument("--json", action="store_true", help="one JSON line instead of the table")
    arguments = parser.parse_args()
    figures = measure(arguments.pages)
    if arguments.json:
        print(json.dumps(asdict(figures)))
    else:
        _print_table(figures)


def measure(page_count: int) -> Figures:
    """Fill, warm up, run, check."""
    with ExitStack() as servers:
        broker = servers.enter_context(start_kafka())
        store = servers.enter_context(start_redis())
        for topic, count in (("warm-up", WARM_UP_PAGES), ("pages", page_count)):
            broker.create_topic(topic, PARTITIONS)
            broker.create_topic(f"{topic}-events", PARTITIONS)
            broker.create_topic(f"{topic}-dead-letters", 1)
            asyncio.run(_fill(broker, topic, count))
        with _daemon(broker, store, "warm-up", page_count) as warming:
            warming.wait_for_pages(WARM_UP_PAGES, 300)
        return _measured_run(broker, store, page_count)


def _daemon(
    broker: KafkaBroker, store: RedisServer, topic: str, page_count: int
) -> AbstractContextManager[Daemon]:
    return start_daemon(
        [
            f"kafka.bootstrap_servers={broker.bootstrap_servers}",
            f"kafka.pages_topic={topic}",
            f"kafka.events_topic={topic}-events",
            f"kafka.dead_letters_topic={topic}-dead-letters",
            f"kafka.group_id={topic}",
            f"redis.url={store.url}",
            f"redis.namespace={topic}",
            f"index.expected_pages={page_count}",
        ]
    )


def _measured_run(broker: KafkaBroker, store: RedisServer, page_count: int) -> Figures:
    client = redis.Redis.from_url(store.url)
    client.flushall()
    empty_bytes = _used_bytes(client)
    with _daemon(broker, store, "pages", page_count) as daemon:
        daemon.wait_until_ready()
        pids = (daemon.pid, store.pid, broker.pid)
        first_pages, started = _wait_for_pages(daemon, 1)
        cpu_before = [_cpu_seconds(pid) for pid in pids]
        _, ended = _wait_for_pages(daemon, page_count)
        cpu = [_cpu_seconds(pid) - before for pid, before in zip(pids, cpu_before, strict=True)]
        outcomes = daemon.outcomes()
        assert daemon.stop() == 0
    assert sum(outcomes.values()) == page_count, outcomes
    recall = asyncio.run(_check_events(broker, page_count, outcomes["duplicate"]))
    full_bytes = _used_bytes(client)
    for key in client.scan_iter("pages:*:p*", count=10_000):
        client.delete(key)
    index_bytes = _used_bytes(client) - empty_bytes
    pages_per_second = (page_count - first_pages) / (ended - started)
    daemon_us, redis_us, broker_us = (seconds / (page_count - first_pages) * 1e6 for seconds in cpu)
    return Figures(
        pages=page_count,
        pages_per_second=pages_per_second,
        share_of_bare_kernel=pages_per_second / _bare_kernel_pages_per_second(),
        daemon_cpu_us=daemon_us,
        redis_cpu_us=redis_us,
        broker_cpu_us=broker_us,
        index_bytes_per_page=index_bytes / page_count,
        record_bytes_per_page=(full_bytes - empty_bytes - index_bytes) / page_count,
        duplicates=outcomes["duplicate"],
        recall_of_near_duplicates=recall,
    )


async def _fill(broker: KafkaBroker, topic: str, count: int) -> None:
    connection = KafkaConnection(bootstrap_servers=broker.bootstrap_servers)
    pages = generate_texts(count)
    async with KafkaSink(KafkaSinkConfig(connection=connection, topic=topic)) as sink:
        while batch := list(islice(pages, SEND_PAGES)):
            await sink.send([_message(page) for page in batch])


def _message(page: TextPage) -> Message:
    return Message(key=page.url.encode(), value=msgspec.json.encode({"url": page.url, "text": page.text}))


async def _check_events(broker: KafkaBroker, page_count: int, duplicate_count: int) -> float:
    """Every duplicate has one event and no pair is false; the share of near-duplicates that was found.

    A near-duplicate and its original may be read in either order, as they lie in different partitions.
    """
    origin: dict[str, str] = {}
    url_of: dict[str, str] = {}
    for page in generate_texts(page_count):
        url_of[page.id] = page.url
        origin[page.url] = origin[url_of[page.near_duplicate_of]] if page.near_duplicate_of else page.url
    matched: dict[str, str] = {}
    for record in await _read_all(broker, "pages-events", duplicate_count):
        event = msgspec.json.decode(record.value or b"", type=DuplicateFound)
        assert event.page.id not in matched, f"two events for {event.page.id}"
        assert all(origin[match.id] == origin[event.page.id] for match in event.matches), event
        matched[event.page.id] = event.matches[0].id
    assert len(matched) == duplicate_count
    return duplicate_count / sum(url != base for url, base in origin.items())


async def _read_all(broker: KafkaBroker, topic: str, count: int) -> Sequence[Record]:
    connection = KafkaConnection(bootstrap_servers=broker.bootstrap_servers)
    config = KafkaSourceConfig(connection=connection, topics=(topic,), group_id="check")
    records: list[Record] = []
    async with KafkaSource(config) as source:
        while len(records) < count:
            records.extend(await source.read(10_000, 1 << 26))
    return records


def _bare_kernel_pages_per_second() -> float:
    """The kernel alone, on one core, over the same kind of text."""
    texts = [page.text for page in generate_texts(KERNEL_PAGES)]
    fingerprint_texts(texts[:10], SimhashConfig())
    seconds = []
    for _ in range(KERNEL_RUNS):
        start = time.perf_counter()
        fingerprint_texts(texts, SimhashConfig())
        seconds.append(time.perf_counter() - start)
    return KERNEL_PAGES / statistics.median(seconds)


def _wait_for_pages(daemon: Daemon, count: int) -> tuple[float, float]:
    """Wait for so many finished pages; how many there are then, and when."""
    while (pages := daemon.metrics().get("neardup_pages_total", 0)) < count:
        time.sleep(POLL_SECONDS)
    return pages, time.perf_counter()


def _cpu_seconds(pid: int) -> float:
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:  # noqa: PTH123 - one line
        user, system = stat.read().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / TICKS_PER_SECOND


def _used_bytes(client: redis.Redis) -> int:
    return int(client.info("memory")["used_memory"])


def _print_table(figures: Figures) -> None:
    table = Table(title="Kafka → Redis → Kafka, one daemon", title_justify="left")
    table.add_column("figure")
    table.add_column("value", justify="right")
    for name, value in asdict(figures).items():
        shown = f"{value:,.2f}" if isinstance(value, float) and value < 10 else f"{value:,.0f}"
        table.add_row(name.replace("_", " "), shown)
    Console().print(table)


if __name__ == "__main__":
    main()
