"""What do hostile pages cost a crawl: one page in a hundred, of every kind that tests know?

    python -m benchmarks.hostile [--pages 50000] [--rounds 2] [--crawl html|text] [--json]

Broker, Redis and two daemons run on this machine. Two topics (4 partitions, zstd) hold the same pages, except
that in one of them every hundredth page is hostile: the kinds of `tests/hostile_pages.py`, each as often as
the others. The topics take turns. Behind the figures stands a line for each promise, and whether it held;
exits with 1 if one did not. CPU seconds, of the daemons with the processes that read pages, depend less than
pages per second on what else the machine does.
"""

import argparse
import asyncio
import json
import os
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, dataclass
from itertools import cycle, islice
from pathlib import Path
from threading import Event, Thread
from typing import Self

import msgspec
import redis
from rich.console import Console
from rich.table import Table

from benchmarks.crawls import CRAWLS, Crawl
from benchmarks.hostile_letters import HOSTILE_EVERY, Letters, expected_letters, read_letters
from neardup_stream.message import Message
from neardup_stream.streams.kafka.config import KafkaConnection, KafkaSinkConfig
from neardup_stream.streams.kafka.sink import KafkaSink
from tests.hostile_pages import HOSTILE_PAGES
from tests.servers.daemon import Daemon, start_daemon
from tests.servers.kafka import KafkaBroker, start_kafka
from tests.servers.redis import RedisServer, start_redis

PARTITIONS = 4
WARM_UP_PAGES = 4_000
SEND_PAGES = 1_000
MAX_MESSAGE_BYTES = 8 << 20
POLL_SECONDS = 0.1
RUN_SECONDS = 900
LIVEZ_MILLISECONDS = 1_000
DAEMON_MEBIBYTES = 1_024
LEAST_SHARE = 0.7


@dataclass(frozen=True)
class Figures:
    """What was measured of one topic; medians over the rounds, but of those called `most` the largest."""

    pages_per_second: float
    cpu_seconds: float
    dead_letters: float
    livez_milliseconds_most: float
    daemon_mebibytes_most: float
    processes_ended_most: float
    processes_failed_most: float
    rebalances_most: float
    livez_refused_most: float
    daemons_ended_most: float
    outcomes_missing_most: float
    letters_wrong_most: float


def promises(clean: Figures, hostile: Figures) -> Mapping[str, bool]:
    """Return what is promised of hostile pages, and whether it held."""
    return {
        "two daemons finish both topics, with one outcome for every record": not (
            clean.outcomes_missing_most or hostile.outcomes_missing_most
        ),
        "no daemon ends or exits with an error": not (clean.daemons_ended_most or hostile.daemons_ended_most),
        "every hostile page has its dead letter, and no other page": not (
            clean.letters_wrong_most or hostile.letters_wrong_most
        ),
        "no process that reads pages fails": not hostile.processes_failed_most,
        "/livez answers 200 within 1 s": hostile.livez_milliseconds_most <= LIVEZ_MILLISECONDS
        and not hostile.livez_refused_most,
        # Each joins once, and the first is assigned anew when the second joins; more are lost heartbeats.
        "no heartbeat is missed: no more than 3 rebalances": hostile.rebalances_most <= 3,
        "a daemon takes less than 1 GiB": hostile.daemon_mebibytes_most < DAEMON_MEBIBYTES,
        "at least 70 % of the clean topic's pages per second": hostile.pages_per_second
        >= LEAST_SHARE * clean.pages_per_second,
        "at least 70 % of the clean topic's pages per CPU second": LEAST_SHARE * hostile.cpu_seconds
        <= clean.cpu_seconds,
    }


def main() -> int:
    """Run both topics, print them side by side, and judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--crawl", choices=CRAWLS, default="html")
    parser.add_argument("--json", action="store_true", help="one JSON line instead of the table")
    arguments = parser.parse_args()
    figures = measure(arguments.pages, arguments.rounds, CRAWLS[arguments.crawl])
    if arguments.json:
        both = {name: asdict(each) for name, each in figures.items()}
        held = promises(figures["clean"], figures["hostile"])
        print(json.dumps({"pages": arguments.pages, "crawl": arguments.crawl, **both, "promises": held}))
    else:
        print_table(arguments.pages, figures)
        held = promises(figures["clean"], figures["hostile"])
        for promise, is_held in held.items():
            print(f"{'pass' if is_held else 'FAIL'}  {promise}")
    return 0 if all(held.values()) else 1


def measure(page_count: int, round_count: int, crawl: Crawl) -> dict[str, Figures]:
    """Fill, warm up, run and check; the topics take turns."""
    with ExitStack() as servers:
        broker = servers.enter_context(start_kafka())
        store = servers.enter_context(start_redis())
        for topic, count in (("warm-up", WARM_UP_PAGES), ("clean", page_count), ("hostile", page_count)):
            broker.create_topic(topic, PARTITIONS, {"max.message.bytes": str(MAX_MESSAGE_BYTES)})
            asyncio.run(_fill(broker, topic, _messages(topic, count, crawl)))
        expected = {"clean": Letters(), "hostile": expected_letters(page_count, crawl)}
        _Run(broker, store, "warm-up", WARM_UP_PAGES, 0, Letters()).measure()
        runs: dict[str, list[Figures]] = {"clean": [], "hostile": []}
        for number in range(round_count):
            for topic, figures in runs.items():
                figures.append(_Run(broker, store, topic, page_count, number, expected[topic]).measure())
        return {topic: _together(figures) for topic, figures in runs.items()}


def _together(runs: Sequence[Figures]) -> Figures:
    rows = [asdict(run) for run in runs]
    return Figures(
        **{
            name: (max if name.endswith("_most") else statistics.median)(row[name] for row in rows)
            for name in rows[0]
        }
    )


def _messages(topic: str, count: int, crawl: Crawl) -> Iterator[Message]:
    """Yield the pages of a topic; a hostile one has an address of its own, where its kind has one."""
    kinds = cycle(HOSTILE_PAGES.values())
    for number, page in enumerate(crawl.pages(count)):
        value = msgspec.json.encode({"url": page.url, crawl.field: page.text})
        if topic == "hostile" and number % HOSTILE_EVERY == 0:
            value = next(kinds).value.replace(b"hostile.example/", b"hostile.example/%d/" % number)
        yield Message(key=page.url.encode(), value=value)


async def _fill(broker: KafkaBroker, topic: str, messages: Iterator[Message]) -> None:
    connection = KafkaConnection(bootstrap_servers=broker.bootstrap_servers)
    config = KafkaSinkConfig(connection=connection, topic=topic, compression="zstd", max_batch_bytes=1 << 20)
    async with KafkaSink(config) as sink:
        while batch := list(islice(messages, SEND_PAGES)):
            await sink.send(batch)


class _Run:
    """Two daemons over one topic."""

    def __init__(
        self,
        broker: KafkaBroker,
        store: RedisServer,
        topic: str,
        count: int,
        number: int,
        expected: Letters,
    ) -> None:
        self._broker = broker
        self._expected = expected
        self._store = store
        self._topic = topic
        self._count = count
        self._name = f"{topic}-{number}"

    def measure(self) -> Figures:
        """Run until all is committed, check, and return what was seen."""
        for kind in ("events", "letters"):
            self._broker.create_topic(
                f"{self._name}-{kind}", PARTITIONS, {"max.message.bytes": str(MAX_MESSAGE_BYTES)}
            )
        redis.Redis.from_url(self._store.url).flushall()
        with ExitStack() as stack:
            daemons = [stack.enter_context(self._daemon()) for _ in range(2)]
            probes = [stack.enter_context(_Probes(daemon)) for daemon in daemons]
            first, started = _wait_for_pages(daemons, 1)
            before = sum(_cpu_seconds(daemon.pid) for daemon in daemons)
            last, ended = _wait_for_pages(daemons, self._count)
            cpu_seconds = sum(_cpu_seconds(daemon.pid) for daemon in daemons) - before
            metrics = [daemon.metrics() for daemon in daemons]
            ended_count = sum(daemon.has_ended() or daemon.stop() != 0 for daemon in daemons)
        letters, wrong = asyncio.run(self._dead_letters())
        outcomes = sum(_total(each, "neardup_outcomes_total") for each in metrics)
        failed = sum(each.get('neardup_worker_ends_total{reason="failed"}', 0) for each in metrics)
        return Figures(
            pages_per_second=(last - first) / (ended - started),
            cpu_seconds=cpu_seconds,
            dead_letters=letters,
            processes_failed_most=failed,
            rebalances_most=sum(each.get("neardup_rebalances_total", 0) for each in metrics),
            livez_refused_most=sum(len(probe.unwell) for probe in probes),
            daemons_ended_most=ended_count,
            outcomes_missing_most=abs(self._count - outcomes),
            letters_wrong_most=wrong,
            livez_milliseconds_most=1e3 * max(probe.latest_seconds for probe in probes),
            daemon_mebibytes_most=max(probe.memory_kib for probe in probes) / 1024,
            processes_ended_most=sum(_total(each, "neardup_worker_ends_total") for each in metrics),
        )

    async def _dead_letters(self) -> tuple[int, int]:
        """Return how many there are, and how many are missing, of another page or reason, or repeated."""
        letters = await read_letters(self._broker, f"{self._name}-letters", PARTITIONS)
        wrong = (letters - self._expected) + (self._expected - letters)
        return letters.total(), wrong.total()

    def _daemon(self) -> AbstractContextManager[Daemon]:
        return start_daemon(
            [
                f"kafka.bootstrap_servers={self._broker.bootstrap_servers}",
                f"kafka.pages_topic={self._topic}",
                f"kafka.events_topic={self._name}-events",
                f"kafka.dead_letters_topic={self._name}-letters",
                f"kafka.group_id={self._name}",
                f"redis.url={self._store.url}",
                f"redis.namespace={self._name}",
                f"index.expected_pages={self._count}",
            ]
        )


class _Probes:
    """Asks a daemon how it is, again and again, as a supervisor does."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon
        self._stop = Event()
        self._thread = Thread(target=self._run)
        self.latest_seconds = 0.0
        self.memory_kib = 0
        self.unwell: list[int] = []

    def __enter__(self) -> Self:
        self._daemon.wait_until_ready()
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(POLL_SECONDS) and not self._daemon.has_ended():
            start = time.perf_counter()
            status, _ = self._daemon.get("/livez")
            if status == 0:  # it stops
                return
            self.latest_seconds = max(self.latest_seconds, time.perf_counter() - start)
            self.memory_kib = max(self.memory_kib, _resident_kib(self._daemon.pid))
            if status != 200:
                self.unwell.append(status)


def _resident_kib(pid: int) -> int:
    """Of a process and those that it started; pages that they share count once."""
    processes, total = [pid], 0
    while processes:
        folder = Path(f"/proc/{processes.pop()}")
        try:
            fields = (folder / "smaps_rollup").read_text().split()
            for task in (folder / "task").iterdir():
                processes += map(int, (task / "children").read_text().split())
        except (OSError, ProcessLookupError):  # it ended meanwhile
            continue
        total += int(fields[fields.index("Pss:") + 1])
    return total


def _cpu_seconds(pid: int) -> float:
    """Of a process and those that it started, also of those that ended."""
    processes, ticks = [pid], 0
    while processes:
        folder = Path(f"/proc/{processes.pop()}")
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            for task in (folder / "task").iterdir():
                processes += map(int, (task / "children").read_text().split())
        except (OSError, ProcessLookupError):  # it ended meanwhile, and counts for the one that started it
            continue
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _wait_for_pages(daemons: Sequence[Daemon], count: int) -> tuple[float, float]:
    """Wait for so many finished pages of all daemons, at most RUN_SECONDS; return how many, and when.

    Fewer are no error: their outcomes are missing, and the promise about them fails.
    """
    deadline = time.monotonic() + RUN_SECONDS
    while (pages := sum(each.metrics().get("neardup_pages_total", 0) for each in daemons)) < count:
        if time.monotonic() > deadline or any(each.has_ended() for each in daemons):
            break
        time.sleep(POLL_SECONDS)
    return pages, time.perf_counter()


def _total(metrics: Mapping[str, float], name: str) -> float:
    return sum(value for key, value in metrics.items() if key.startswith(name + "{"))


def print_table(page_count: int, figures: Mapping[str, Figures]) -> None:
    """Side by side, with the ratio of hostile to clean."""
    title = f"{page_count:,} pages, two daemons; one page in {HOSTILE_EVERY} is hostile"
    table = Table(title=title, title_justify="left")
    for column in ("figure", *figures, "ratio"):
        table.add_column(column, justify="left" if column == "figure" else "right")
    for name in asdict(next(iter(figures.values()))):
        clean, hostile = (getattr(each, name) for each in figures.values())
        ratio = f"{hostile / clean:.2f}" if clean else ""
        table.add_row(name.replace("_", " "), f"{clean:,.0f}", f"{hostile:,.0f}", ratio)
    Console().print(table)


if __name__ == "__main__":
    sys.exit(main())
