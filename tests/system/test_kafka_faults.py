"""The daemon when topics and brokers change under it: what it says, how it exits, and what is kept."""

import asyncio
import os
from collections.abc import Sequence

import pytest

from neardup_stream.message import Message, Record
from neardup_stream.streams.kafka.config import KafkaConnection, KafkaSinkConfig, KafkaSourceConfig
from neardup_stream.streams.kafka.sink import KafkaSink
from neardup_stream.streams.kafka.source import KafkaSource
from tests.pipelines import essay, page_json
from tests.servers.daemon import start_daemon
from tests.servers.kafka import start_kafka
from tests.servers.process import wait_until
from tests.servers.redis import start_redis
from tests.system.conftest import Site, new_site

QUICK = ("kafka.request_timeout_seconds=8", "kafka.session_timeout_seconds=8")
"""For a daemon whose broker is silent or gone; others have time, also on a busy machine."""
WAIT_SECONDS = 60


def publish(site: Site, *values: bytes) -> None:
    async def send() -> None:
        connection = KafkaConnection(bootstrap_servers=site.broker.bootstrap_servers)
        async with KafkaSink(KafkaSinkConfig(connection=connection, topic=site.topics[0])) as sink:
            await sink.send([Message(key=None, value=value) for value in values])

    asyncio.run(send())


def dead_letters(site: Site, count: int) -> Sequence[Record]:
    async def read() -> list[Record]:
        connection = KafkaConnection(bootstrap_servers=site.broker.bootstrap_servers)
        config = KafkaSourceConfig(
            connection=connection, topics=(site.topics[2],), group_id=f"{site.topics[2]}-t"
        )
        records: list[Record] = []
        async with KafkaSource(config) as source, asyncio.timeout(WAIT_SECONDS):
            while len(records) < count:
                records.extend(await source.read(100, 1 << 24))
        return records

    return asyncio.run(read())


def run_until(site: Site, pages: int, *settings: str) -> dict[str, int]:
    """Outcomes of a daemon that judges so many records and is then stopped."""
    with start_daemon([*site.settings, *settings]) as daemon:
        daemon.wait_until_ready()
        daemon.wait_for_pages(pages)
        outcomes = daemon.outcomes()
        assert daemon.stop() == 0
    return outcomes


def exit_of_a_start(site: Site, *settings: str) -> tuple[int, str]:
    with start_daemon([*site.settings, *settings]) as daemon:
        return daemon.wait(), daemon.log()


def test_a_topic_made_anew_is_refused_until_its_epoch_is_raised_and_then_all_of_it_is_judged(
    site: Site,
) -> None:
    site.create_topics()
    publish(site, *(page_json(f"old-{number}", essay(number % 2)) for number in range(4)))
    assert run_until(site, 4) == {"unique": 2, "duplicate": 2}
    site.broker.delete_topic(site.topics[0])
    site.broker.create_topic(site.topics[0])
    publish(site, *(page_json(f"new-{number}", essay(number % 2)) for number in range(4)))

    refused, log = exit_of_a_start(site)
    judged = run_until(site, 4, "kafka.input_epoch=1")
    behind, behind_log = exit_of_a_start(site)

    assert (refused, behind) == (2, 2)
    assert "all below 4 was finished before" in log
    assert "kafka.input_epoch = 1" in log
    assert judged == {"duplicate": 4}
    assert "set it to 1 in every daemon" in behind_log
    events = site.events()
    assert len({event["id"] for event in events}) == len(events) == 6
    sources = [str(event["source"]).rpartition("/")[2] for event in events]
    assert sources == [site.topics[0]] * 2 + [f"{site.topics[0]}@1"] * 4


def test_a_pages_topic_that_is_deleted_ends_the_daemon_with_its_name(site: Site) -> None:
    site.create_topics()
    publish(site, page_json("a", essay(1)))
    with start_daemon(site.settings) as daemon:
        daemon.wait_until_ready()
        daemon.wait_for_pages(1)
        site.broker.delete_topic(site.topics[0])

        assert daemon.wait() == 2
        assert f"there is no topic {site.topics[0]}" in daemon.log()


def test_a_broker_that_stays_unavailable_costs_readiness_and_then_ends_the_daemon_with_3(site: Site) -> None:
    with start_kafka(is_brief=True) as broker:
        own = Site(
            broker, (*site.settings, f"kafka.bootstrap_servers={broker.bootstrap_servers}"), site.topics
        )
        own.create_topics()
        publish(own, page_json("a", essay(1)))
        with start_daemon([*own.settings, *QUICK, "pipeline.retry_deadline_seconds=20"]) as daemon:
            daemon.wait_until_ready()
            daemon.wait_for_pages(1)
            broker.kill()
            answers: list[tuple[int, str]] = []

            def is_unready() -> bool:
                answers.append(daemon.get("/readyz"))
                return answers[-1][0] == 503

            wait_until(is_unready, WAIT_SECONDS)
            said, metrics = answers[-1][1], daemon.metrics()
            exit_code = daemon.wait()
            log = daemon.log()

    assert exit_code == 3
    assert "kafka.bootstrap_servers" in said or "cannot be reached" in said
    assert metrics['neardup_dependency_errors_total{dependency="stream",reason="connection"}'] >= 1
    assert '"reason":"connection"' in log.replace(": ", ":")
    assert "pipeline.retry_deadline_seconds" in log


def test_a_daemon_that_is_stopped_while_the_broker_is_silent_ends_with_3(
    namespace: str, topic_prefix: str
) -> None:
    with start_kafka(is_brief=True) as broker, start_redis() as server:
        site = new_site(broker, server, namespace, topic_prefix)
        site.create_topics()
        with start_daemon([*site.settings, *QUICK, "pipeline.drain_seconds=1"]) as daemon:
            daemon.wait_until_ready()
            publish(site, page_json("a", essay(1)))
            daemon.wait_for_pages(1)
            daemon.wait_until_idle()
            server.process.freeze()  # the next page is still in flight when the broker falls silent
            publish(site, page_json("b", essay(2)))
            wait_until(lambda: (daemon.in_flight_pages() or 0) > 0, WAIT_SECONDS)
            broker.freeze()
            server.process.thaw()

            assert daemon.stop() == 3
            assert "did not finish within pipeline.drain_seconds (1)" in daemon.log()


def test_of_two_daemons_with_one_instance_id_the_first_one_ends_and_the_other_continues(site: Site) -> None:
    site.create_topics()
    named = [*site.settings, "kafka.group_instance_id=crawler-1"]
    with start_daemon(named) as first:
        first.wait_until_ready()
        publish(site, page_json("a", essay(1)))
        first.wait_for_pages(1)
        with start_daemon(named) as second:
            second.wait_until_ready()

            assert first.wait() == 2
            assert "give every daemon an instance id of its own" in first.log()
            publish(site, page_json("b", essay(1)))
            second.wait_for_pages(1)
            assert second.outcomes() == {"duplicate": 1}
            assert second.stop() == 0


@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
def test_a_dead_letter_that_its_topic_no_longer_takes_is_cut(site: Site, delivery: str) -> None:
    site.create_topics()
    poison = os.urandom(35_000).hex().encode()  # hardly to be compressed
    with start_daemon([*site.settings, f"kafka.delivery={delivery}"]) as daemon:
        daemon.wait_until_ready()
        site.broker.configure_topic(site.topics[2], {"max.message.bytes": "20000"})
        publish(site, poison, page_json("behind", essay(1)))
        daemon.wait_for_pages(2)
        outcomes, metrics = daemon.outcomes(), daemon.metrics()
        assert daemon.stop() == 0

    assert outcomes == {"dead_letter": 1, "unique": 1}
    assert metrics["neardup_truncated_dead_letters_total"] == 1
    (letter,) = dead_letters(site, 1)
    assert len(letter.value or b"") < 20_000
    assert dict(letter.headers)["neardup.error.truncated_from_bytes"] == b"%d" % len(poison)
