"""A topic in which many pages are hostile: every one has its outcome, and the daemon lives on."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from threading import Event, Thread

from neardup_stream.message import Message
from neardup_stream.streams.kafka.config import KafkaConnection, KafkaSinkConfig
from neardup_stream.streams.kafka.sink import KafkaSink
from tests.hostile_pages import HOSTILE_PAGES
from tests.pipelines import essay, page_json
from tests.servers.daemon import Daemon, start_daemon
from tests.system.conftest import Site

PAGES_BETWEEN = 20


async def _send(site: Site, values: list[bytes]) -> None:
    connection = KafkaConnection(bootstrap_servers=site.broker.bootstrap_servers)
    config = KafkaSinkConfig(
        connection=connection, topic=site.topics[0], compression="zstd", max_batch_bytes=1 << 20
    )
    async with KafkaSink(config) as sink:
        await sink.send([Message(key=b"%d" % number, value=value) for number, value in enumerate(values)])


def _watch(daemon: Daemon, stop: Event, answers: list[int]) -> None:
    """Ask `/livez` again and again."""
    while not stop.wait(0.1):
        status, _ = daemon.get("/livez")
        answers.append(status)


def _is_well(answers: Sequence[int]) -> bool:
    """Return whether a daemon always lived; of a busy machine one answer may come too late, but not two."""
    return {200} <= {*answers} <= {0, 200} and (0, 0) not in pairwise(answers)


def test_every_hostile_page_has_its_outcome_and_the_daemon_lives_on(site: Site) -> None:
    for topic in site.topics:
        site.broker.create_topic(topic, 1, {"max.message.bytes": str(8 << 20)})
    values = []
    for number, hostile in enumerate(HOSTILE_PAGES.values()):
        values += [
            page_json(f"{number}-{each}", essay(number * PAGES_BETWEEN + each))
            for each in range(PAGES_BETWEEN)
        ]
        values.append(hostile.value.replace(b"hostile.example/", b"hostile.example/%d" % number))
    expected = Counter(hostile.reason for hostile in HOSTILE_PAGES.values() if hostile.reason)

    with start_daemon([*site.settings, "index.expected_pages=10000"]) as daemon:
        daemon.wait_until_ready()
        stop, answers = Event(), list[int]()
        watcher = Thread(target=_watch, args=(daemon, stop, answers))
        watcher.start()
        try:
            asyncio.run(_send(site, values))
            daemon.wait_for_pages(len(values), timeout_seconds=100)
        finally:
            stop.set()
            watcher.join()
        outcomes, metrics = daemon.outcomes(), daemon.metrics()
        assert daemon.stop() == 0

    assert _is_well(answers)
    assert sum(outcomes.values()) == len(values)
    assert outcomes["dead_letter"] == expected.total()
    reasons = {
        reason: metrics[f'neardup_outcome_reasons_total{{outcome="dead_letter",reason="{reason}"}}']
        for reason in expected
    }
    assert reasons == expected
    ends = [count for name, count in metrics.items() if name.startswith("neardup_worker_ends_total{")]
    assert ends == [0, 0, 0]  # each of these kinds is refused, or read, before a limit of the process
