"""How long does `rebuild --into` take while pages flow, and how fast do they flow meanwhile?

    python -m benchmarks.layout_switch [--held 200000] [--pages 600000] [--into 1200000] [--json]

The pages of `benchmarks.growing_crawl` lie in Kafka, and one daemon reads them into an index laid out for
those that it holds when the command starts. Afterwards the daemon reads the rest. At the end `verify` must
find every promise kept. The rate before is that of the second half of the pages that are held, the rate
afterwards that of the pages left.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import redis
from rich.console import Console
from rich.table import Table

from benchmarks.growing_crawl import BLOCK_PAGES, GrowingCrawl
from benchmarks.redis_readings import stored_bytes
from neardup_stream.message import Message
from neardup_stream.streams.kafka.config import KafkaConnection, KafkaSinkConfig
from neardup_stream.streams.kafka.sink import KafkaSink
from tests.chaos.judging import wait_until_quiet
from tests.servers.daemon import Daemon, start_daemon
from tests.servers.kafka import KafkaBroker, start_kafka
from tests.servers.redis import RedisServer, start_redis

PARTITIONS = 4
STALLED_SECONDS = 60
POLL_SECONDS = 0.1
TOPICS = ("pages", "events", "dead_letters")


@dataclass(frozen=True)
class Figures:
    """What was measured; bytes are those of Redis, of all kinds, a page that is stored then."""

    rate_before: float
    rate_beside: float
    rate_after: float
    rebuild_seconds: float
    pages_decided_beside: int
    bytes_before: float
    most_bytes_beside: float
    bytes_after: float
    verify_seconds: float


def main() -> None:
    """Switch the layout once, and print what that took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--held", type=int, default=200_000)
    parser.add_argument("--pages", type=int, default=600_000)
    parser.add_argument("--into", type=int, default=1_200_000)
    parser.add_argument("--json", action="store_true", help="one JSON line instead of the table")
    arguments = parser.parse_args()
    with start_kafka() as broker, start_redis() as store:
        figures = switch(broker, store, arguments.held, arguments.pages, arguments.into)
    if arguments.json:
        print(json.dumps(asdict(figures)))
        return
    title = f"{arguments.held:,} pages into a layout for {arguments.into:,}"
    table = Table("figure", "measured", title=title, title_justify="left")
    for name, value in asdict(figures).items():
        table.add_row(name.replace("_", " "), f"{value:,.1f}" if value < 1000 else f"{value:,.0f}")
    Console().print(table)


def switch(broker: KafkaBroker, store: RedisServer, held: int, pages: int, into: int) -> Figures:
    """Fill the index, lay it out again beside the daemon, let the daemon finish, and verify."""
    for topic in TOPICS:
        broker.create_topic(topic, PARTITIONS)
    asyncio.run(publish(broker, pages))
    settings = (
        f"kafka.bootstrap_servers={broker.bootstrap_servers}",
        *(f"kafka.{topic}_topic={topic}" for topic in TOPICS),
        "kafka.group_id=switch",
        f"redis.url={store.url}",
        f"index.expected_pages={held}",
        "clusters.tombstone_ttl_seconds=5",
    )
    with redis.Redis.from_url(store.url) as client, start_daemon(settings) as daemon:
        half, since = wait_for_pages(daemon, held // 2)
        count, began = wait_for_pages(daemon, held)
        rate_before, bytes_before = (count - half) / (began - since), stored_bytes(client) / count
        most_bytes = rebuild(settings, into, client)
        count_then, ended = pages_of(daemon), time.perf_counter()
        assert count_then < pages, "all pages were decided before the switch: publish more"
        wait_until_quiet(settings, STALLED_SECONDS)
        finished = time.perf_counter()
        assert pages_of(daemon) == pages
        assert daemon.stop() == 0
        bytes_after = stored_bytes(client) / pages
    began_verify = time.perf_counter()
    output = succeed("verify", settings)
    assert f'"pages":{pages},' in output, output
    return Figures(
        rate_before=rate_before,
        rate_beside=(count_then - count) / (ended - began),
        rate_after=(pages - count_then) / (finished - ended),
        rebuild_seconds=ended - began,
        pages_decided_beside=count_then - count,
        bytes_before=bytes_before,
        most_bytes_beside=most_bytes / count_then,
        bytes_after=bytes_after,
        verify_seconds=time.perf_counter() - began_verify,
    )


async def publish(broker: KafkaBroker, pages: int) -> None:
    """Send the first pages of the crawl."""
    connection = KafkaConnection(bootstrap_servers=broker.bootstrap_servers)
    crawl = GrowingCrawl()
    async with KafkaSink(KafkaSinkConfig(connection=connection, topic="pages")) as sink:
        for _ in range(pages // BLOCK_PAGES):
            records = crawl.next_records(BLOCK_PAGES)
            await sink.send([Message(key=each.key, value=each.value) for each in records])


def wait_for_pages(daemon: Daemon, count: int) -> tuple[int, float]:
    """Wait for so many decided pages; return how many there are then, and when."""
    while (decided := pages_of(daemon)) < count:
        assert not daemon.has_ended(), daemon.log()
        time.sleep(POLL_SECONDS)
    return decided, time.perf_counter()


def pages_of(daemon: Daemon) -> int:
    """Return how many pages the daemon has decided."""
    return int(daemon.metrics("neardup_pages_total").get("neardup_pages_total", 0))


def rebuild(settings: Sequence[str], into: int, client: redis.Redis) -> int:
    """Lay the tables out for so many pages; return the most bytes that Redis had meanwhile."""
    process = subprocess.Popen(command("rebuild", settings, "--into", str(into)), stdout=subprocess.DEVNULL)
    most_bytes = 0
    while process.poll() is None:
        most_bytes = max(most_bytes, stored_bytes(client))
        time.sleep(POLL_SECONDS)
    assert process.returncode == 0, process.returncode
    return most_bytes


def succeed(name: str, settings: Sequence[str]) -> str:
    """Run a command that must exit with 0; return its output."""
    run = subprocess.run(command(name, settings), stdout=subprocess.PIPE, text=True, check=False)
    assert run.returncode == 0, run.stdout
    return run.stdout


def command(name: str, settings: Sequence[str], *words: str) -> list[str]:
    """Return how a command of ours is started."""
    overrides = [word for setting in settings for word in ("--set", setting)]
    return [sys.executable, "-m", "neardup_daemon", name, *words, *overrides]


if __name__ == "__main__":
    main()
