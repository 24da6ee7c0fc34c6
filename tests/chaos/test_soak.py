"""A daemon under full load for a long time, with pages that expire as fast as they come: nothing grows.

Nor does any of its calls hold Redis for more than 10 ms.
"""

import os
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from statistics import median
from typing import NamedTuple

import pytest
import redis

from neardup_stream.message import Message
from tests.chaos.arena import Arena, build_arena
from tests.chaos.judging import uncommitted_count
from tests.chaos.slow_calls import SLOW_LOG, SlowCalls, put_first
from tests.pipelines import essay, page_json
from tests.servers.daemon import Daemon, start_daemon
from tests.servers.kafka import start_kafka
from tests.servers.redis import RedisServer, start_redis

SOAK_SECONDS = int(os.environ.get("SOAK_SECONDS", "600"))
GROWTH = 1.1
"""The last third of the time may have a tenth more than the middle one; the first is for filling up."""
PORTION, BACKLOG = 5_000, 15_000
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")

BROKER = {"log.retention.check.interval.ms": "5000", "log.segment.delete.delay.ms": "1000"}
TOPIC = {"retention.bytes": "50000000", "segment.bytes": "10000000"}
"""Of each partition: what was read long ago may go, so that the disk does not fill up."""

SETTINGS = (
    "retention.seconds=30",
    "retention.stub_seconds=20",
    "index.expected_pages=300000",
    "clusters.tombstone_ttl_seconds=20",
    "kafka.session_timeout_seconds=30",
)


class Sample(NamedTuple):
    """What a moment shows.

    Attributes:
        resident_bytes: of the daemon.
        stored_bytes: that Redis uses.
        files: descriptors that the daemon has open.
        tasks: of its event loop.
        pages: records it has finished.
        backlog: records that wait for it.
    """

    resident_bytes: float
    stored_bytes: float
    files: float
    tasks: float
    pages: float
    backlog: float


@pytest.mark.soak
@pytest.mark.timeout(SOAK_SECONDS + 300)
def test_nothing_grows_under_full_load() -> None:
    with start_kafka(BROKER) as broker, start_redis(options=SLOW_LOG) as store:
        put_first([store])
        slow_calls = SlowCalls()
        arena = build_arena(broker, store, topic_configs=TOPIC)
        with start_daemon([*arena.settings, *SETTINGS]) as daemon:
            daemon.wait_until_ready()
            samples = list(soak(arena, daemon, store, slow_calls))
            assert daemon.stop() == 0
        slow_calls.collect(store)
        long_calls = slow_calls.report()

    third = len(samples) // 3
    before, after = summary(samples[third : 2 * third]), summary(samples[2 * third :])
    print(
        f"\n{samples[-1].pages:.0f} records in {SOAK_SECONDS} s\nmiddle third: {before}\nlast third: {after}"
    )
    assert samples[-1].pages > samples[third].pages
    assert min(before.backlog, after.backlog) > 0
    assert after.resident_bytes <= GROWTH * before.resident_bytes
    assert after.stored_bytes <= GROWTH * before.stored_bytes
    assert after.files <= before.files
    assert after.tasks <= GROWTH * before.tasks
    assert long_calls == []


def soak(arena: Arena, daemon: Daemon, store: RedisServer, slow_calls: SlowCalls) -> Iterator[Sample]:
    """Never let the daemon run out of pages, and look at it after each portion."""
    end = time.monotonic() + SOAK_SECONDS
    portions = crawl()
    while time.monotonic() < end:
        backlog = uncommitted_count(arena.settings)
        if backlog < BACKLOG:
            arena.publish(next(portions))
        slow_calls.collect(store)
        yield sample(daemon, store, backlog)


def crawl() -> Iterator[list[Message]]:
    """Portions of new pages: two in three alone, one in three like an earlier one; one in ten comes again."""
    for first in count(step=PORTION):
        pages = [
            Message(key=b"%d" % number, value=page_json(str(number), essay(number - number % 3 // 2)))
            for number in range(first, first + PORTION)
        ]
        yield [*pages, *pages[::10]]


def sample(daemon: Daemon, store: RedisServer, backlog: int) -> Sample:
    process = Path(f"/proc/{daemon.pid}")
    resident_pages = int((process / "statm").read_text(encoding="ascii").split()[1])
    with redis.Redis.from_url(store.url) as client:
        stored_bytes = client.info("memory")["used_memory"]
    metrics = daemon.metrics()
    return Sample(
        resident_bytes=resident_pages * PAGE_BYTES,
        stored_bytes=stored_bytes,
        files=len(list((process / "fd").iterdir())),
        tasks=metrics["neardup_event_loop_tasks"],
        pages=metrics["neardup_pages_total"],
        backlog=backlog,
    )


def summary(samples: list[Sample]) -> Sample:
    """Medians; but the fewest of files and tasks, which come and go with each batch: a leak raises those."""
    middle = Sample(*(median(values) for values in zip(*samples, strict=True)))
    return middle._replace(
        files=min(each.files for each in samples), tasks=min(each.tasks for each in samples)
    )
