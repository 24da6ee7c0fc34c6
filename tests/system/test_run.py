"""The daemon as a process: pages in, events out, stopped by signals, started again."""

import asyncio
import json
import signal
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer

from neardup_stream.message import Message, Record
from neardup_stream.streams.kafka.config import KafkaConnection, KafkaSinkConfig, KafkaSourceConfig
from neardup_stream.streams.kafka.sink import KafkaSink
from neardup_stream.streams.kafka.source import KafkaSource
from tests.pipelines import essay, page_json
from tests.servers.daemon import START_SECONDS, start_daemon
from tests.servers.process import wait_until
from tests.servers.redis import start_redis
from tests.system.conftest import Site

MOST_SECONDS = 60


def publish(site: Site, messages: Sequence[Message]) -> None:
    async def send() -> None:
        connection = KafkaConnection(bootstrap_servers=site.broker.bootstrap_servers)
        async with KafkaSink(KafkaSinkConfig(connection=connection, topic=site.topics[0])) as sink:
            await sink.send(messages)

    asyncio.run(send())


def read_all(site: Site, topic: str, count: int) -> list[Record]:
    async def read() -> list[Record]:
        connection = KafkaConnection(bootstrap_servers=site.broker.bootstrap_servers)
        config = KafkaSourceConfig(connection=connection, topics=(topic,), group_id=f"{topic}-test")
        records: list[Record] = []
        async with KafkaSource(config) as source:
            while len(records) < count:
                records.extend(await source.read(1000, 1 << 26))
        return records

    return asyncio.run(read())


def pages(count: int, topics: int) -> list[Message]:
    return [
        Message(key=b"%d" % number, value=page_json(f"p{number}", essay(number % topics)))
        for number in range(count)
    ]


def write_pages(path: Path, messages: Sequence[Message]) -> str:
    path.write_bytes(b"".join((message.value or b"") + b"\n" for message in messages))
    return str(path)


def test_pages_of_a_file_come_out_as_the_events_that_dedup_would_publish(site: Site, tmp_path: Path) -> None:
    site.create_topics()
    crawl = write_pages(tmp_path / "crawl.jsonl", pages(300, topics=100))

    produced = site.call("produce", crawl)
    with start_daemon(site.settings) as daemon:
        daemon.wait_until_ready()
        daemon.wait_for_pages(300)
        outcomes, metrics = daemon.outcomes(), daemon.metrics()
        exit_code = daemon.stop()

    assert (produced.returncode, exit_code) == (0, 0)
    assert outcomes == {"unique": 100, "duplicate": 200}
    assert metrics["neardup_pages_total"] == 300
    assert metrics["neardup_ready"] == 1
    dedup = site.call("dedup", crawl, "--events", str(tmp_path / "events.jsonl"))
    assert dedup.returncode == 0
    lines = (tmp_path / "events.jsonl").read_bytes().splitlines()
    pairs = {
        frozenset((f"https://example.com/p{number}", f"https://example.com/p{earlier}"))
        for number in range(300)
        for earlier in range(number % 100, number, 100)
    }
    assert matched_pairs(site.events()) == matched_pairs(map(json.loads, lines)) == pairs


def matched_pairs(events: Iterable[dict[str, Any]]) -> set[frozenset[str]]:
    return {
        frozenset((event["data"]["page"]["id"], match["id"]))
        for event in events
        for match in event["data"]["matches"]
    }


@pytest.mark.timeout(4 * (START_SECONDS + MOST_SECONDS))
def test_a_stop_in_mid_stream_loses_nothing_and_repeats_nothing(site: Site) -> None:
    """Committed offsets are never ahead of what was delivered; the next start does the rest."""
    count = 6000
    site.create_topics()
    publish(site, pages(count, topics=count // 2))
    small_batches = (*site.settings, "pipeline.max_batch_pages=20", "failpoints.stop=after records.replace 2")
    with start_daemon(small_batches) as daemon:
        wait_until(lambda: daemon.has_ended() or daemon.is_paused(), START_SECONDS + MOST_SECONDS)
        assert not daemon.has_ended(), daemon.log()  # it is paused with a few batches in flight, of hundreds
        daemon.signal(signal.SIGTERM)
        daemon.signal(signal.SIGCONT)
        first_exit = daemon.wait()
        first_log = daemon.log_events()
    done_first = sum(int(str(line.get("pages", 0))) for line in first_log if line["event"] == "stopped")
    events_first = len(site.events())

    with start_daemon(site.settings) as daemon:
        daemon.wait_until_ready()
        daemon.wait_for_pages(count - done_first)
        outcomes = daemon.outcomes()
        second_exit = daemon.stop()

    assert (first_exit, second_exit) == (0, 0)
    assert 0 < done_first < count
    assert sum(outcomes.values()) == count - done_first
    events = site.events()
    assert len(events) == count // 2 == events_first + outcomes["duplicate"]
    assert len({event["id"] for event in events}) == len(events)


def test_a_second_signal_stops_at_once(site: Site) -> None:
    site.create_topics()
    with start_redis() as server:
        with start_daemon([*site.settings, f"redis.url={server.url}"]) as daemon:
            daemon.wait_until_ready()
            publish(site, pages(1, topics=1))
            daemon.wait_for_pages(1)
            daemon.wait_until_idle()
            server.process.freeze()  # the next page stays in flight: the first signal waits for it
            publish(site, pages(2, topics=2)[1:])
            wait_until(lambda: (daemon.in_flight_pages() or 0) > 0, MOST_SECONDS)
            daemon.signal(signal.SIGTERM)
            wait_until(lambda: "stop_requested" in daemon.log(), MOST_SECONDS)
            daemon.signal(signal.SIGTERM)
            exit_code = daemon.wait()
        server.process.thaw()

    assert exit_code == 128 + signal.SIGTERM


BAD = {
    "not_json": b"json failed to parse",
    "empty_value": b"",
    "invalid_utf8": b'{"url":"\xff"}',
    "lone_surrogate": b'{"url":"https://example.com/","text":"\\ud800"}',
    "wrong_type": b'{"url":17,"text":""}',
    "missing_field": b'{"text":""}',
    "not_one_body": b'{"url":"https://example.com/"}',
    "bad_base64": b'{"url":"https://example.com/","body":"%%%"}',
    "over_limit": page_json("large", "x" * 5000),
    "bad_url": b'{"url":"","text":""}',
}


def test_every_kind_of_bad_record_is_a_dead_letter_and_the_next_page_is_processed(site: Site) -> None:
    site.create_topics()
    good = pages(1, topics=1)
    publish(site, [*(Message(key=reason.encode(), value=value) for reason, value in BAD.items()), *good])

    with start_daemon([*site.settings, "limits.max_page_bytes=4096"]) as daemon:
        daemon.wait_until_ready()
        daemon.wait_for_pages(len(BAD) + 1)
        outcomes, metrics = daemon.outcomes(), daemon.metrics()
        daemon.stop()

    letters = read_all(site, site.topics[2], len(BAD))
    assert outcomes == {"dead_letter": len(BAD), "unique": 1}
    assert {letter.key: letter.value for letter in letters} == {
        reason.encode(): value for reason, value in BAD.items()
    }
    for letter in letters:
        assert dict(letter.headers)["neardup.error.reason"] == letter.key
    for reason in BAD:
        labels = f'{{outcome="dead_letter",reason="{reason}"}}'
        assert metrics[f"neardup_outcome_reasons_total{labels}"] == 1


def test_the_port_says_how_the_daemon_is(site: Site) -> None:
    site.create_topics()

    with start_daemon(site.settings) as daemon:
        daemon.wait_until_ready()
        pages_of_the_port = [daemon.get(path) for path in ("/livez", "/readyz", "/nowhere")]
        daemon.stop()

    assert [status for status, _ in pages_of_the_port] == [200, 200, 404]


def test_a_missing_topic_ends_the_start_with_the_remedy(site: Site) -> None:
    with start_daemon(site.settings) as daemon:
        exit_code = daemon.wait()

        assert exit_code == 2
        assert "check --create-topics" in daemon.log()


def test_another_schema_in_the_namespace_ends_the_start(site: Site) -> None:
    site.create_topics()
    publish(site, pages(2, topics=2))
    with start_daemon(site.settings) as daemon:
        daemon.wait_until_ready()
        daemon.wait_for_pages(2)
        daemon.stop()

    with start_daemon([*site.settings, "index.blocks=5"]) as daemon:
        exit_code = daemon.wait()

        assert exit_code == 2
        assert "blocks is 4 there and 5 here" in daemon.log()


@pytest.mark.parametrize(
    "unreachable", ["redis.url=redis://127.0.0.1:1", "kafka.bootstrap_servers=127.0.0.1:1"]
)
def test_a_dependency_that_stays_unavailable_ends_the_run_with_3(site: Site, unreachable: str) -> None:
    site.create_topics()

    with start_daemon([*site.settings, unreachable, "pipeline.retry_deadline_seconds=0.5"]) as daemon:
        assert daemon.wait() == 3
        assert "pipeline.retry_deadline_seconds" in daemon.log()


def test_a_redis_that_stops_and_returns_costs_readiness_and_nothing_else(site: Site, tmp_path: Path) -> None:
    site.create_topics()
    keep = {"appendonly": "yes", "dir": str(tmp_path)}
    with start_redis(options=keep) as first:
        port = first.port
        with start_daemon([*site.settings, f"redis.url={first.url}"]) as daemon:
            daemon.wait_until_ready()
            publish(site, pages(50, topics=25))
            daemon.wait_for_pages(50)
            first.stop()
            publish(site, [Message(key=None, value=page_json("late", essay(7)))])
            wait_until(lambda: daemon.get("/readyz")[0] == 503, MOST_SECONDS)

            with start_redis(options={**keep, "port": str(port)}):
                daemon.wait_for_pages(51)
                outcomes = daemon.outcomes()
                daemon.wait_until_ready()  # the sweeper, too, has to learn that Redis is back
                exit_code = daemon.stop()

    assert (outcomes, exit_code) == ({"unique": 25, "duplicate": 26}, 0)


def test_a_stop_while_the_daemon_waits_for_redis_ends_it_cleanly(site: Site) -> None:
    site.create_topics()

    with start_daemon([*site.settings, "redis.url=redis://127.0.0.1:1"]) as daemon:
        wait_until(lambda: "dependency_unavailable" in daemon.log(), MOST_SECONDS)

        assert daemon.stop() == 0


def test_a_header_without_a_value_travels_with_its_dead_letter(site: Site) -> None:
    async def send() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=site.broker.bootstrap_servers)
        await producer.start()
        await producer.send_and_wait(site.topics[0], b"json failed to parse", headers=[("empty", None)])
        await producer.stop()

    site.create_topics()
    asyncio.run(send())

    with start_daemon(site.settings) as daemon:
        daemon.wait_until_ready()
        daemon.wait_for_pages(1)

        assert daemon.outcomes() == {"dead_letter": 1}
        assert daemon.stop() == 0


def test_an_embedded_redis_takes_the_servers_place(site: Site) -> None:
    site.create_topics()
    publish(site, pages(20, topics=10))

    with start_daemon([*site.settings, "redis.url=redis://127.0.0.1:1"], "--embedded") as daemon:
        daemon.wait_until_ready()
        daemon.wait_for_pages(20)
        outcomes = daemon.outcomes()

        assert daemon.stop() == 0
    assert outcomes == {"unique": 10, "duplicate": 10}


def test_a_second_run_with_an_embedded_redis_needs_another_group(site: Site) -> None:
    site.create_topics()
    publish(site, pages(2, topics=2))
    with start_daemon(site.settings, "--embedded") as daemon:
        daemon.wait_until_ready()
        daemon.wait_for_pages(2)
        assert daemon.stop() == 0

    with start_daemon(site.settings, "--embedded") as daemon:
        assert daemon.wait() == 2
        assert "ends with its run: give every run a kafka.group_id of its own" in daemon.log()
