"""A whole installation on this machine, to look at: `python -m monitoring`.

Kafka, Redis, two daemons and Prometheus run until Ctrl-C or SIGTERM (or for `--seconds`), while a generated crawl is
fed; if one of them ends, all are stopped, with exit code 1. Their settings are written to a file, for other commands.
With `--pictures DIRECTORY` Redis is paused for a moment meanwhile, and the dashboards are drawn at the end.
"""

import argparse
import json
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from neardup_daemon.logs import silence_library_logs

from monitoring.grafana import BOARDS, DIRECTORY
from monitoring.pictures import write_pictures
from tests.servers.kafka import start_kafka
from tests.servers.process import ServerFailed
from tests.servers.prometheus import Prometheus, start_prometheus
from tests.servers.redis import start_redis
from tests.watched.groups import Fed, Group, feeding, start_group
from tests.watched.portions import crawl

ROOT = DIRECTORY.parents[2]
SETTINGS = ROOT / ".cache" / "monitoring.toml"
RULES = DIRECTORY.parents[1] / "prometheus" / "alerts.yml"
MEMORY = "256mb"
PICTURE_SECONDS = 180
RUN_SECONDS = 86_400
WATCH_SECONDS = 0.5
FROZEN_SECONDS = 12
PARTITIONS = 4
BAD_EVERY = 10


class Installation(NamedTuple):
    """What runs."""

    group: Group
    prometheus: Prometheus

    def ended(self) -> list[str]:
        """Return the names of the servers and daemons that run no more."""
        group = self.group
        kafka, redis, prometheus = group.broker.process, group.redis.process, self.prometheus.process
        processes = {"Kafka": kafka, "Redis": redis, "Prometheus": prometheus}
        return [
            *(name for name, process in processes.items() if process.has_ended()),
            *(f"the daemon at port {daemon.port}" for daemon in group.daemons if daemon.has_ended()),
        ]

    def watch(self, seconds: float) -> None:
        """Return after so many seconds.

        Raises:
            ServerFailed: a server or a daemon ends before.
        """
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            if ended := self.ended():
                raise ServerFailed(f"{' and '.join(ended)} ended, so all else is stopped; start it again")
            time.sleep(min(left, WATCH_SECONDS))


@contextmanager
def running() -> Iterator[Installation]:
    """Start everything; stop it at the end."""
    with ExitStack() as stack:
        broker = stack.enter_context(start_kafka())
        server = stack.enter_context(start_redis(options={"maxmemory": MEMORY}))
        settings = ("retention.stub_seconds=10", "redis.socket_timeout_seconds=2")
        group = Group("neardup", broker, server, PARTITIONS, daemon_count=2, extra=settings, portion=portion)
        group.create_topics()
        start_group(group, stack)
        ports = {group.job: group.ports}
        prometheus = stack.enter_context(start_prometheus(ports, RULES.read_text(encoding="utf-8")))
        for daemon in group.daemons:
            daemon.wait_until_ready()
        stack.enter_context(feeding(broker, [group]))
        yield Installation(group, prometheus)


def portion(number: int) -> Sequence[Fed]:
    """Return a crawl with a bad record now and then."""
    return crawl(number) if number % BAD_EVERY else [*crawl(number), Fed(b"{")]


def write_settings(group: Group, path: Path) -> None:
    """Write the settings of the daemons to a file, for `--config` of other commands."""
    lines = [
        f"{name} = {_toml(value)}\n" for name, _, value in (each.partition("=") for each in group.settings)
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("# Written by `make monitoring`.\n" + "".join(lines), encoding="utf-8")


def _toml(value: str) -> str:
    return value if value.isdigit() else json.dumps(value)


def describe(installation: Installation, settings: Path) -> str:
    """Return where to look."""
    group, prometheus = installation
    daemons = "\n".join(
        f"  daemon       http://127.0.0.1:{port}/metrics   /readyz   /livez" for port in group.ports
    )
    return f"""Everything runs; a crawl is fed. Look at
{daemons}
  Prometheus   {prometheus.url}/graph   {prometheus.url}/alerts
  Kafka        {group.broker.bootstrap_servers}   topics {group.pages_topic}, {group.job}-events, {group.job}-dead-letters
  Redis        {group.redis.url}   namespace {group.job}
  Grafana      not started here: import the dashboards of {DIRECTORY.relative_to(ROOT)}
               into yours, with {prometheus.url} as data source
  Settings     {settings}, for other commands:
               .venv/bin/neardup-stream check --config {settings}
               .venv/bin/neardup-stream status --config {settings}
               .venv/bin/neardup-stream tail --config {settings}
Ctrl-C ends all of it."""


def have_a_bad_time(installation: Installation, seconds: float) -> None:
    """Let things happen, so that the pictures show more than straight lines."""
    server = installation.group.redis
    installation.watch(seconds / 2)
    server.process.freeze()
    time.sleep(FROZEN_SECONDS)
    server.process.thaw()
    installation.watch(seconds / 2 - FROZEN_SECONDS)


def main() -> None:
    """Run until it is enough."""
    parser = argparse.ArgumentParser(prog="python -m monitoring", description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, help="how long to run; until Ctrl-C by default")
    parser.add_argument(
        "--pictures", type=Path, metavar="DIRECTORY", help="where to write the dashboards as SVG"
    )
    parser.add_argument(
        "--settings", type=Path, default=SETTINGS, metavar="FILE", help="where to write the daemons' settings"
    )
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that the servers are stopped too
    print(
        "Starting Kafka, Redis, Prometheus and two daemons; the first time kernels are compiled …", flush=True
    )
    silence_library_logs()  # Kafka's client repeats what `run` reports once
    with suppress(KeyboardInterrupt):
        try:
            run(arguments)
        except ServerFailed as error:
            sys.exit(f"{parser.prog}: {error}")


def run(arguments: argparse.Namespace) -> None:
    """Start everything, show it for as long as it is wanted, and end it."""
    with running() as installation:
        write_settings(installation.group, arguments.settings)
        print(describe(installation, arguments.settings), flush=True)
        if arguments.pictures is None:
            installation.watch(arguments.seconds or RUN_SECONDS)
            return
        seconds = arguments.seconds or PICTURE_SECONDS
        have_a_bad_time(installation, seconds)
        write_pictures(BOARDS, installation.prometheus, arguments.pictures, seconds)


if __name__ == "__main__":
    main()
