"""`tail` through real Kafka: each event once, and an end also while nothing reads what it prints."""

import json
import os
import signal
from collections.abc import Iterable
from typing import BinaryIO

from aiokafka.admin import AIOKafkaAdminClient
from neardup_daemon.kafka_wiring import kafka_sink
from neardup_daemon.settings.settings import Settings

from neardup_stream.wire.events import to_message
from tests.events import At, duplicate
from tests.servers.process import wait_until
from tests.servers.program import piped_program, start_program
from tests.subscriptions import written_event
from tests.system.conftest import Site
from tests.system.joining import join_for_a_moment
from tests.system.pipes import is_full

STOP_SECONDS = 60


def words(site: Site) -> list[str]:
    return ["tail", "--from-start", *(word for setting in site.settings for word in ("--set", setting))]


async def publish(settings: Settings, event_ids: Iterable[int]) -> None:
    data = duplicate("b", At("c", 1, "a"))
    async with kafka_sink(settings, settings.kafka.events_topic) as sink:
        await sink.send([to_message(written_event(data, event_id=str(number))) for number in event_ids])


async def group_of_tail(settings: Settings) -> str:
    admin = AIOKafkaAdminClient(bootstrap_servers=settings.kafka.bootstrap_servers)
    await admin.start()
    try:
        names: list[str] = [name for name, _ in await admin.list_consumer_groups()]
    finally:
        await admin.close()
    (found,) = (name for name in names if name.startswith(f"{settings.kafka.group_id}-tail-"))
    return found


def ids(lines: BinaryIO, count: int) -> list[str]:
    return [json.loads(lines.readline())["id"] for _ in range(count)]


async def test_events_are_printed_once_also_where_the_group_is_rebalanced(site: Site) -> None:
    site.create_topics()
    settings = Settings.load(overrides=site.settings)
    await publish(settings, range(3))

    with piped_program(words(site)) as tail:
        before = ids(tail.stdout, 3)
        await join_for_a_moment(settings, site.topics[1], await group_of_tail(settings))
        await publish(settings, [3])
        behind = ids(tail.stdout, 1)

    assert before + behind == ["0", "1", "2", "3"]


async def test_a_second_signal_ends_it_while_nothing_reads_what_it_prints(site: Site) -> None:
    site.create_topics()
    await publish(Settings.load(overrides=site.settings), range(1_000))  # more than a pipe holds
    reader, writer = os.pipe()
    try:
        tail = start_program(words(site), {}, (reader, writer, writer))
        try:
            wait_until(lambda: is_full(writer), STOP_SECONDS)
            tail.send_signal(signal.SIGTERM)
            tail.send_signal(signal.SIGINT)
            code = tail.wait(STOP_SECONDS)
        finally:
            tail.kill()
            tail.wait()
    finally:
        os.close(reader)
        os.close(writer)

    assert code in {128 + signal.SIGTERM, 128 + signal.SIGINT}
