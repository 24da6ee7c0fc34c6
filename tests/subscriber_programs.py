"""Programs that follow an events topic, as processes, and what they should print."""

import asyncio
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from random import Random
from typing import Literal

from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions

from neardup_stream.message import Message
from neardup_stream.subscriber import Fold, decode
from neardup_stream.wire.events import to_message
from tests.events import At, duplicate
from tests.property.test_fold import Model, Step, disordered
from tests.servers.kafka import KafkaBroker
from tests.subscriptions import written_event

__all__ = [
    "PARTITIONS",
    "SEED",
    "Printed",
    "Subscriber",
    "expect_end_at_another_partition",
    "expected",
    "follow",
    "follow_both_halves",
    "published",
    "read_until",
    "send",
    "send_in_transaction",
    "subscriber",
]

PARTITIONS = 3
SEED = 59
Printed = Mapping[str, str]


def published(count: int) -> Sequence[Message]:
    """Return events of many pages that are judged, change and are forgotten; out of order, with repeats."""
    random = Random(SEED)
    page_ids = [f"https://example.com/{number}" for number in range(count // 8)]
    model = Model(publishes_unique=False)
    kinds: Sequence[Literal["judge", "forget"]] = ("judge",) * 8 + ("forget",)
    steps = [
        Step(
            kind=random.choice(kinds),
            page_id=random.choice(page_ids),
            matches=frozenset(random.choices(page_ids, k=2)),
            merges=True,
        )
        for _ in range(count)
    ]
    events = [event for step in steps for event in model.do(step)]
    written = [written_event(data, event_id=str(number)) for number, data in enumerate(events)]
    return [to_message(each) for each in disordered(written, random)]


def expected(messages: Sequence[Message]) -> Printed:
    """Return the duplicates of these events, with the pages that they are duplicates of."""
    fold = Fold()
    for each in messages:
        fold.feed(decode(each.value, each.headers))
    return {page_id: fold.status(page_id).duplicate_of or "" for page_id in fold.deletable()}


async def send_in_transaction(broker: KafkaBroker, topic: str, message: Message) -> None:
    servers = broker.bootstrap_servers
    async with (
        AIOKafkaProducer(bootstrap_servers=servers, transactional_id=topic) as producer,
        producer.transaction(),
    ):
        await producer.send(topic, message.value, message.key, headers=list(message.headers))


def send(broker: KafkaBroker, topic: str, messages: Sequence[Message]) -> None:
    async def run() -> None:
        async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers) as producer:
            for each in messages:
                await producer.send(topic, each.value, each.key, headers=list(each.headers))
            await producer.flush()

    asyncio.run(run())


class Subscriber:
    """A subscriber as a process, and what it has printed last of each page."""

    def __init__(self, command: Sequence[str], printed: dict[str, str]) -> None:
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self._printed = printed

    def read_line(self) -> None:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the subscriber has ended"
        page_id, kept = line.split()
        self._printed[page_id] = kept

    def kill(self) -> None:
        """Kill it and read what it had printed."""
        assert self._process.stdout is not None
        self._process.kill()
        with self._process.stdout as rest:
            for line in rest:
                if line.endswith("\n"):
                    page_id, kept = line.split()
                    self._printed[page_id] = kept
        self._process.wait()


@contextmanager
def subscriber(command: Sequence[str], printed: dict[str, str]) -> Iterator[Subscriber]:
    running = Subscriber(command, printed)
    try:
        yield running
    finally:
        running.kill()


def follow(program: Sequence[str], broker: KafkaBroker, topic: str, messages: Sequence[Message]) -> None:
    """What a program prints of a few events."""
    broker.create_topic(topic)
    send(broker, topic, messages)
    printed: dict[str, str] = {}
    with subscriber([*program, broker.bootstrap_servers, topic], printed) as running:
        read_until(running, printed, expected(messages))


def read_until(running: Subscriber, printed: Printed, right: Printed) -> None:
    """Which pages are printed that are no duplicates in the end depends on the order among partitions."""
    while {page_id: kept for page_id, kept in printed.items() if kept != "-"} != right:
        running.read_line()


async def add_partition(broker: KafkaBroker, topic: str) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap_servers)
    await admin.start()
    try:
        await admin.create_partitions({topic: NewPartitions(2)})
    finally:
        await admin.close()


def expect_end_at_another_partition(
    program: Sequence[str], arguments: Sequence[str], broker: KafkaBroker, topic: str
) -> None:
    """Expect a program to say why it ends once its topic has another partition."""
    broker.create_topic(topic)
    send(broker, topic, [to_message(written_event(duplicate("b", At("c", 1, "a"))))])
    command = [*program, broker.bootstrap_servers, topic, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline()
        asyncio.run(add_partition(broker, topic))
        _, complaint = running.communicate()

    assert running.returncode == 1
    assert "the topic has another number of partitions now: start again" in complaint


def follow_both_halves(
    program: Sequence[str], arguments: Sequence[str], broker: KafkaBroker, topic: str
) -> None:
    """What a program prints of half the events, and of all of them after it was killed in between."""
    broker.create_topic(topic, PARTITIONS)
    command = [*program, broker.bootstrap_servers, topic, *arguments]
    messages = published(600)
    middle = len(messages) // 2
    printed: dict[str, str] = {}
    for part, read in ((messages[:middle], messages[:middle]), (messages[middle:], messages)):
        send(broker, topic, part)
        right = expected(read)
        with subscriber(command, printed) as running:
            read_until(running, printed, right)
