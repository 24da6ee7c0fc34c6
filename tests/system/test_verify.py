"""`verify`: a run that was cut is found sound, and what is tampered with is found."""

import asyncio
import json
import signal
from collections.abc import Sequence
from typing import Any

import redis
from aiokafka import AIOKafkaConsumer, TopicPartition

from neardup_stream.events import Event
from neardup_stream.message import Message, Partition, Position
from neardup_stream.streams.kafka.config import KafkaConnection, KafkaSinkConfig
from neardup_stream.streams.kafka.sink import KafkaSink
from neardup_stream.wire.events import event_id, to_message
from tests.events import unique
from tests.pipelines import essay, page_json
from tests.servers.daemon import start_daemon
from tests.system.conftest import Site

PAGES, TEXTS = 300, 100
SINGLE = "https://example.com/single"
SETTINGS = ("clusters.rule=components", "kafka.session_timeout_seconds=30")
MISSED_SOON = ("kafka.session_timeout_seconds=1",)
"""For a daemon that is killed; others have time, also on a busy machine."""


def url(number: int) -> str:
    return f"https://example.com/p{number}"


def crawled(number: int, text: str) -> Message:
    return Message(key=url(number).encode(), value=page_json(f"p{number}", text))


def crawl() -> list[Message]:
    """Pages of which many are alike; some change, some come again, some are forgotten; one is no page."""
    return [
        *(crawled(number, essay(number % TEXTS, edits=[number % 7])) for number in range(PAGES)),
        Message(key=b"broken", value=b"no JSON"),
        Message(key=SINGLE.encode(), value=page_json("single", essay(TEXTS + 1))),
        *(crawled(number, essay(number % TEXTS + 1)) for number in range(0, PAGES, 9)),
        *(crawled(number, essay(number % TEXTS, edits=[number % 7])) for number in range(1, PAGES, 9)),
        *(Message(key=url(number).encode(), value=None) for number in range(0, PAGES, 13)),
    ]


def publish(site: Site, topic: str, messages: Sequence[Message]) -> None:
    async def send() -> None:
        connection = KafkaConnection(bootstrap_servers=site.broker.bootstrap_servers)
        async with KafkaSink(KafkaSinkConfig(connection=connection, topic=topic)) as sink:
            await sink.send(messages)

    asyncio.run(send())


def judged(site: Site, *words: str) -> tuple[int, dict[str, Any]]:
    """Return the exit code of `verify`, and its output."""
    run = site.call("verify", "--json", *words, settings=SETTINGS)
    assert run.stdout, run.stderr
    return run.returncode, json.loads(run.stdout)


def kill_half_way(site: Site) -> None:
    """A daemon dies with a batch published and not committed."""
    settings = (*site.settings, *SETTINGS, *MISSED_SOON, "pipeline.max_batch_pages=20")
    with start_daemon((*settings, "failpoints.kill=after events.send 5")) as daemon:
        assert daemon.wait() == -signal.SIGKILL


def finish(site: Site) -> dict[str, Any]:
    """Let another daemon process the rest; return the output of `verify` afterwards."""
    with start_daemon((*site.settings, *SETTINGS)) as daemon:
        daemon.wait_until_ready()
        exit_code, verification = judged(site, "--wait", "60")
        assert daemon.stop() == 0
    assert exit_code == 0
    return verification


def states(verification: dict[str, Any]) -> dict[int, str]:
    return {each["invariant"]: each["state"] for each in verification["invariants"]}


def test_a_run_is_judged_half_way_and_at_its_end_and_what_is_tampered_with_is_found(site: Site) -> None:
    site.create_topics(partitions=2)
    count = len(crawl())
    publish(site, site.topics[0], crawl())

    kill_half_way(site)
    exit_code, verification = judged(site)
    assert (exit_code, verification["is_quiet"]) == (0, False)
    assert verification["finished"] < verification["records"] == count
    assert {number for number, state in states(verification).items() if state == "not_judged"} == {4, 5, 8}

    verification = finish(site)
    assert set(states(verification).values()) == {"held"}
    assert (verification["finished"], verification["is_quiet"], verification["dead_letters"]) == (
        count,
        True,
        1,
    )
    assert verification["clusters"] > TEXTS // 2

    with redis.Redis.from_url(setting(site, "redis.url")) as client:
        forged = forged_event(site, client)
        publish(site, site.topics[1], [to_message(forged)])
        delete_record(client, setting(site, "redis.namespace"), SINGLE)
        remove_member(client, setting(site, "redis.namespace"))
    exit_code, verification = judged(site)

    found = {
        each["invariant"]: each["violations"] for each in verification["invariants"] if each["violations"]
    }
    assert exit_code == 4
    assert any(f"there is no record of page {SINGLE}" in detail for detail in found[1])
    assert f"unique event {forged.id} of {SINGLE} belongs to no record" in found[1]
    assert any(detail.startswith("cluster ") for detail in found[4])


def forged_event(site: Site, client: redis.Redis) -> Event:
    """Return one of the stored index that no record has caused."""
    stored: Any = client.hget(f"{setting(site, 'redis.namespace')}:meta", "token")
    index = stored.decode()
    return Event(
        id=event_id("unique", Position(Partition(site.topics[0], 0), 10**6), index),
        name="unique",
        source=f"/neardup/nd/{site.topics[0]}",
        subject=SINGLE,
        time_ms=0,
        data=unique(SINGLE, "a.1"),
        index=index,
    )


def setting(site: Site, name: str) -> str:
    return next(each.partition("=")[2] for each in site.settings if each.startswith(f"{name}="))


def delete_record(client: redis.Redis, namespace: str, page_url: str) -> None:
    for key in client.scan_iter(match=f"{namespace}:*}}:p*"):
        fields: Any = client.hgetall(key)
        for handle, record in fields.items():
            if page_url.encode() in record:
                client.hdel(key, handle)
                return
    raise AssertionError(f"no record of {page_url}")


def remove_member(client: redis.Redis, namespace: str) -> None:
    """The last one that is listed anywhere."""
    key = next(iter(client.scan_iter(match=f"{namespace}:*{{c}}:members:*")))
    client.zremrangebyrank(key, -1, -1)


def set_back(site: Site, offset: int) -> None:
    """Let the group begin there in the first partition, as an operator would."""

    async def commit() -> None:
        consumer = AIOKafkaConsumer(
            bootstrap_servers=site.broker.bootstrap_servers,
            group_id=setting(site, "kafka.group_id"),
            enable_auto_commit=False,
        )
        await consumer.start()
        partition = TopicPartition(site.topics[0], 0)
        consumer.assign([partition])
        await consumer.commit({partition: offset})
        await consumer.stop()

    asyncio.run(commit())


def take_in(site: Site, *settings: str) -> int:
    """A daemon takes in all there is; the exit code of `verify` then."""
    everything = (*site.settings, *SETTINGS, *settings)
    with start_daemon(everything) as daemon:
        daemon.wait_until_ready()
        run = site.call("verify", "--json", "--wait", "60", settings=(*SETTINGS, *settings))
        assert daemon.stop() == 0
    assert run.returncode == 0, run.stdout
    return run.returncode


def test_offsets_set_back_under_a_raised_epoch_and_a_second_namespace_are_no_violations(site: Site) -> None:
    site.create_topics()
    publish(site, site.topics[0], crawl()[: PAGES // 2])
    take_in(site)
    set_back(site, PAGES // 4)

    take_in(site, "kafka.input_epoch=1")
    take_in(site, "redis.namespace=second", "kafka.group_id=second")


def test_a_group_that_cannot_be_judged_for_want_of_an_index_is_reported(site: Site) -> None:
    site.create_topics()

    run = site.call("verify")

    assert run.returncode == 2
    assert b"nothing is stored under redis.namespace" in run.stderr
