"""What is done to groups of daemons, for real."""

import asyncio
import resource
import signal
import time
from contextlib import ExitStack
from pathlib import Path
from threading import Event

import redis
from aiokafka import AIOKafkaConsumer

from tests.servers.daemon import Daemon, start_daemon
from tests.servers.redis import RedisServer
from tests.watched.groups import Group

__all__ = [
    "damage_archive",
    "fill_memory",
    "join_and_leave",
    "lose_everything",
    "lose_records",
    "pause",
    "restart_often",
    "run_out_of_files",
]

JUNK_BYTES = 1 << 18
SCRAPED_SECONDS = 1.5
LOST_SECONDS = 2
SPARE_FILES = 2
PAUSE_SECONDS = 2.5
RUNNING_SECONDS = 5


def pause(group: Group, enough: Event) -> None:
    """Pause its first daemon for a while; a Prometheus that is short of time may miss one."""
    daemon = group.daemons[0]
    daemon.signal(signal.SIGSTOP)
    time.sleep(PAUSE_SECONDS * group.slowness)  # the pause is the fault
    daemon.signal(signal.SIGCONT)
    enough.wait(RUNNING_SECONDS * group.slowness)


def run_out_of_files(daemon: Daemon) -> None:
    """Leave the process hardly any file descriptor."""
    open_files = len(list(Path(f"/proc/{daemon.pid}/fd").iterdir()))
    resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, (open_files + SPARE_FILES, open_files + SPARE_FILES))


def damage_archive(path: Path) -> None:
    """Put a file under the name of an archive that is none."""
    (other := path.with_suffix(".new")).write_bytes(b"no archive")
    other.rename(path)


def fill_memory(server: RedisServer) -> None:
    """Fill Redis with what is not ours, up to its maxmemory and a little more."""
    with redis.Redis.from_url(server.url) as client:
        for size in (JUNK_BYTES, 1 << 10):
            try:
                while True:
                    client.rpush("junk", b"x" * size)
            except redis.ResponseError:
                continue
        client.config_set("maxmemory", client.info("memory")["used_memory"] - JUNK_BYTES)


def lose_records(group: Group, enough: Event) -> None:
    """Delete all page records of its index, and nothing else of it, after some were written."""
    if not enough.wait(LOST_SECONDS * group.slowness):
        _delete(group, f"{group.job}:*[^c]}}:p*")  # all but what the clusters know, whose tag is {c}


def lose_everything(group: Group) -> None:
    """Delete its index, as a restart without data would."""
    _delete(group, f"{group.job}:*")


def _delete(group: Group, pattern: str) -> None:
    with redis.Redis.from_url(group.redis.url) as client:
        if keys := list(client.scan_iter(match=pattern, count=10_000)):
            client.delete(*keys)  # all at once: no daemon may find tables without records


def join_and_leave(group: Group, enough: Event) -> None:
    """Have a stranger join its consumer group and leave it; either is a rebalance."""

    async def once() -> None:
        consumer = AIOKafkaConsumer(
            group.pages_topic,
            bootstrap_servers=group.broker.bootstrap_servers,
            group_id=group.job,
            enable_auto_commit=False,
        )
        await consumer.start()
        while not consumer.assignment() and not enough.is_set():
            await consumer.getmany(timeout_ms=100)
        await consumer.stop()

    asyncio.run(once())


def restart_often(group: Group, stack: ExitStack, enough: Event) -> None:
    """Kill its daemon and start it anew at the same port, again and again."""
    (port,) = group.ports
    while not enough.is_set():
        (daemon,) = group.daemons
        daemon.signal(signal.SIGKILL)
        daemon.wait()
        group.daemons = [stack.enter_context(start_daemon(group.settings, port=port))]
        wait_until_scraped(group, enough)


def wait_until_scraped(group: Group, enough: Event) -> None:
    """Wait until its daemon answers, and Prometheus has come by."""
    (daemon,) = group.daemons
    while daemon.get("/livez")[0] == 0 and not enough.is_set():
        time.sleep(0.1)
    enough.wait(SCRAPED_SECONDS * group.slowness)
