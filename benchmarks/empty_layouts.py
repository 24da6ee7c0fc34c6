"""What do commands cost on a large layout that holds few pages?

    python -m benchmarks.empty_layouts [--pages 5400] [--expected-pages 20000000] [--rounds 3] [--json]

It starts a broker and a Redis, and a daemon decides the pages, in an index laid out for many more. Then
`verify`, `rebuild` and `expire` run as processes, one after the other; each must report every page. The table
shows the medians of the wall time and of the CPU time of the process, start-up included, and of Redis. CPU
times hardly depend on what else the machine does.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass

import redis
from rich.console import Console
from rich.table import Table

from neardup_stream.message import Message
from tests.chaos.arena import CALM, Arena, build_arena
from tests.chaos.judging import wait_until_quiet
from tests.pipelines import essay, page_json
from tests.servers.daemon import start_daemon
from tests.servers.kafka import start_kafka
from tests.servers.redis import RedisServer, start_redis

COMMANDS = ("verify", "rebuild", "expire")

DECIDED_WITHIN_SECONDS = 300


@dataclass(frozen=True)
class Cost:
    """What one run of a command took, in seconds."""

    wall: float
    process_cpu: float
    redis_cpu: float


def main() -> None:
    """Run the commands and print what they cost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=5400)
    parser.add_argument("--expected-pages", type=int, default=20_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="one JSON line instead of the table")
    arguments = parser.parse_args()
    with start_kafka() as broker, start_redis() as store:
        arena = build_arena(broker, store)
        settings = (
            *arena.settings,
            *CALM,
            f"index.expected_pages={arguments.expected_pages}",
            "index.blocks=5",
            "retention.seconds=86400",
        )
        decide(arena, settings, arguments.pages)
        costs = {
            command: [measure(store, settings, command, arguments.pages) for _ in range(arguments.rounds)]
            for command in COMMANDS
        }
    medians = {command: median_cost(each) for command, each in costs.items()}
    if arguments.json:
        print(json.dumps({command: asdict(each) for command, each in medians.items()}))
    else:
        print_table(medians)


def page(number: int) -> Message:
    """Return a page; one in three is a copy of the page before it."""
    return Message(key=b"%d" % number, value=page_json(str(number), essay(number - (number % 3 == 2))))


def decide(arena: Arena, settings: Sequence[str], pages: int) -> None:
    """Publish so many pages, and run a daemon until it has decided them."""
    arena.publish([page(number) for number in range(pages)])
    with start_daemon(settings) as daemon:
        daemon.wait_until_ready()
        wait_until_quiet(settings, DECIDED_WITHIN_SECONDS)
        assert daemon.stop() == 0


def measure(store: RedisServer, settings: Sequence[str], command: str, pages: int) -> Cost:
    """Run a command once; it must report every page."""
    words = [word for setting in settings for word in ("--set", setting)]
    redis_before, began = redis_cpu_seconds(store), time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "neardup_daemon", command, *words], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    output = process.stdout.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    cost = Cost(
        time.perf_counter() - began,
        usage.ru_utime + usage.ru_stime,
        redis_cpu_seconds(store) - redis_before,
    )
    expected = f'"pages":{pages},' if command == "verify" else f"{pages:,} records: "
    assert process.returncode == 0, output
    assert expected in output, output
    return cost


def redis_cpu_seconds(store: RedisServer) -> float:
    """Return the CPU time that Redis has taken."""
    with redis.Redis.from_url(store.url) as client:
        cpu = client.info("cpu")
    return float(cpu["used_cpu_sys"] + cpu["used_cpu_user"])


def median_cost(costs: Sequence[Cost]) -> Cost:
    """Return the median of each figure."""
    return Cost(*(statistics.median(figures) for figures in zip(*map(astuple, costs), strict=True)))


def print_table(costs: dict[str, Cost]) -> None:
    """Print the costs for people."""
    table = Table("command", "wall, s", "CPU of the process, s", "CPU of Redis, s")
    for command, each in costs.items():
        table.add_row(command, *(f"{value:.2f}" for value in astuple(each)))
    Console().print(table)


if __name__ == "__main__":
    main()
