"""Brokers that go, networks that lie and topics that change, under a source and a sink; nothing is lost."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from copy import copy
from dataclasses import replace
from typing import NamedTuple, TypeVar

import pytest

from neardup_stream.errors import ConfigError, StreamUnavailable
from neardup_stream.message import Message, Record
from neardup_stream.pipeline.offsets import next_offsets
from neardup_stream.streams.kafka.sink import KafkaSink
from neardup_stream.streams.kafka.source import KafkaSource
from tests.contracts.streams import read_records
from tests.kafka_topics import WAIT_SECONDS, MakeTopic, Topic, read_until_assigned
from tests.servers.kafka import KafkaBroker, KafkaCluster, start_kafka, start_kafka_cluster
from tests.servers.process import free_ports
from tests.servers.proxy import Proxy, start_proxy

ANSWER_SECONDS, PATIENT_SECONDS = 4, 30
"""Short where brokers are silent or gone, which costs so long at each try."""

Answer = TypeVar("Answer")


class Road(NamedTuple):
    """A broker that can be ended and started again, and the proxy that leads to it."""

    broker: KafkaBroker
    proxy: Proxy


@pytest.fixture(scope="module")
def road() -> Iterator[Road]:
    (port,) = free_ports(1)
    with (
        start_proxy(port) as proxy,
        start_kafka(
            {"listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,FAR:PLAINTEXT"},
            listeners={"FAR": port},
            proxies={"FAR": proxy.port},
            is_brief=True,
        ) as broker,
    ):
        yield Road(broker, proxy)


@pytest.fixture(scope="module")
def three_brokers() -> Iterator[KafkaCluster]:
    with start_kafka_cluster() as cluster:
        yield cluster


class Traffic:
    """Numbered values through a topic: sent, read and committed, each step repeated until it succeeds."""

    def __init__(self, sink: KafkaSink, source: KafkaSource) -> None:
        self._sink = sink
        self._source = source
        self._sent = 0
        self.finished: list[Record] = []
        self.errors: list[StreamUnavailable] = []

    async def flow(self, count: int) -> None:
        """Send so many more, and read until they have come."""
        async with asyncio.timeout(WAIT_SECONDS), asyncio.TaskGroup() as group:
            group.create_task(self._send(self._sent + count))
            group.create_task(self._read(self._sent + count))

    async def meet(self, reason: str) -> None:
        """Go on until sending and reading have both failed for this reason."""
        for step in (self._send_one, self._read_some):
            await until_it_is_unavailable(step, reason)

    def assert_nothing_is_lost(self) -> None:
        values = [int(record.value or b"") for record in self.finished]
        assert set(values) == set(range(self._sent))

    async def _send(self, count: int) -> None:
        while self._sent < count:
            await self._retry(self._send_one)

    async def _send_one(self) -> None:
        await self._sink.send([Message(key=b"%d" % self._sent, value=b"%d" % self._sent)])
        self._sent += 1

    async def _read(self, count: int) -> None:
        while len({record.value for record in self.finished}) < count:
            await self._retry(self._read_some)

    async def _read_some(self) -> None:
        records = await self._source.read(100, 1 << 20)
        self.finished.extend(records)
        await self._source.commit(next_offsets(records))

    async def _retry(self, step: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                return await step()
            except StreamUnavailable as error:
                self.errors.append(error)
                await asyncio.sleep(0.05)


@asynccontextmanager
async def traffic(topic: Topic) -> AsyncIterator[Traffic]:
    async with opened(topic.sink) as sink, opened(topic.source) as source:
        yield Traffic(sink, source)


@asynccontextmanager
async def opened(make: Callable[[], AbstractAsyncContextManager[Answer]]) -> AsyncIterator[Answer]:
    """Open one, and another one where that was not answered in time."""
    async with AsyncExitStack() as stack:
        yield await until_it_works(lambda: stack.enter_async_context(make()))


def far_topic(road: Road, name: str, request_timeout_seconds: float = ANSWER_SECONDS) -> Topic:
    return Topic(
        road.broker,
        name,
        bootstrap_servers=f"127.0.0.1:{road.proxy.port}",
        request_timeout_seconds=request_timeout_seconds,
    )


# The network.


async def test_connections_that_are_cut_again_and_again_cost_nothing(road: Road, topic_prefix: str) -> None:
    async with traffic(far_topic(road, topic_prefix, PATIENT_SECONDS)) as through:
        for _ in range(4):
            await through.flow(5)
            road.proxy.cut()
        await through.flow(5)

    through.assert_nothing_is_lost()


async def test_a_slow_network_in_small_slices_is_waited_for(road: Road, topic_prefix: str) -> None:
    async with traffic(far_topic(road, topic_prefix, PATIENT_SECONDS)) as through:
        await through.flow(5)
        through.errors.clear()
        road.proxy.delay(0.05)
        road.proxy.slice(1000)
        await through.flow(5)
        road.proxy.heal()

    through.assert_nothing_is_lost()
    assert through.errors == []


async def test_a_half_open_network_is_reported_as_silence_and_is_forgotten_when_it_heals(
    road: Road, topic_prefix: str
) -> None:
    async with traffic(far_topic(road, topic_prefix)) as through:
        await through.flow(5)
        road.proxy.half_open()
        await through.meet("timeout")
        road.proxy.heal()
        await through.flow(5)

    through.assert_nothing_is_lost()


async def test_a_broker_that_refuses_every_client_is_reported_and_waited_for(
    road: Road, topic_prefix: str
) -> None:
    topic = far_topic(road, topic_prefix)
    async with traffic(topic) as through:
        await through.flow(5)
        road.proxy.refuse()
        with pytest.raises(StreamUnavailable) as raised:
            await topic.sink().__aenter__()
        await through.meet("connection")
        road.proxy.heal()
        await through.flow(5)

    assert raised.value.reason == "connection"
    assert "kafka.bootstrap_servers" in str(raised.value) or "cannot be reached" in str(raised.value)
    through.assert_nothing_is_lost()


async def test_a_member_that_waits_for_its_partitions_says_that_the_brokers_are_gone(
    road: Road, topic_prefix: str
) -> None:
    topic = far_topic(road, topic_prefix)
    near = copy(topic)
    near.connection = replace(
        topic.connection,
        bootstrap_servers=road.broker.bootstrap_servers,
        request_timeout_seconds=PATIENT_SECONDS,
    )

    async def lose_the_road() -> None:
        road.proxy.refuse()

    async with opened(topic.source) as source:
        await until_it_works(lambda: read_until_assigned(source))
        source.on_revoke(lose_the_road)
        async with near.source():
            await until_it_is_unavailable(lambda: source.read(1, 1), "connection")
            source.on_revoke(no_drain)
        road.proxy.heal()
        await until_it_works(lambda: read_until_assigned(source))


async def no_drain() -> None:
    """Nothing is in flight."""


# Brokers.


async def test_a_broker_that_dies_and_returns_costs_nothing(road: Road, topic_prefix: str) -> None:
    async with traffic(far_topic(road, topic_prefix)) as through:
        await through.flow(20)
        road.broker.kill()
        await through.meet("connection")
        road.broker.start()
        await through.flow(20)

    through.assert_nothing_is_lost()


@pytest.mark.timeout(900)
async def test_another_broker_leads_when_the_leader_dies_under_load(
    three_brokers: KafkaCluster, topic_prefix: str
) -> None:
    topic = Topic(three_brokers, topic_prefix, request_timeout_seconds=5)
    careful = Topic(
        three_brokers,
        f"{topic_prefix}-careful",
        configs={"min.insync.replicas": "3"},
        request_timeout_seconds=10,
    )
    async with traffic(topic) as through, opened(careful.sink) as sink:
        await through.flow(20)
        former = three_brokers.leader(topic.name)
        former.kill()
        await through.flow(20)
        leader = three_brokers.leader(topic.name, former)
        one = [Message(key=None, value=b"for three")]
        error = await until_it_is_unavailable(lambda: sink.send(one), "too_few_replicas")

    through.assert_nothing_is_lost()
    assert leader is not former
    assert "min.insync.replicas" in str(error)


async def until_it_is_unavailable(step: Callable[[], Awaitable[object]], reason: str) -> StreamUnavailable:
    """Again and again, until it fails for this reason."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            try:
                await step()
            except StreamUnavailable as error:
                if error.reason == reason:
                    return error


# Topics.


async def test_a_topic_that_is_deleted_ends_source_and_sink_by_its_name(make_topic: MakeTopic) -> None:
    topic = make_topic()
    await topic.fill([b"last"])
    topic.connection = replace(topic.connection, request_timeout_seconds=ANSWER_SECONDS)

    async with opened(topic.sink) as sink, opened(topic.source) as source:
        await until_it_works(lambda: read_records(source, 1))
        assert isinstance(topic.broker, KafkaBroker)
        topic.broker.delete_topic(topic.name)
        for step in (lambda: source.read(1, 1), lambda: sink.send([Message(key=None, value=b"x")])):
            with pytest.raises(ConfigError, match=f"no topic {topic.name}.*create it"):
                await until_it_fails(step)


async def until_it_works(step: Callable[[], Awaitable[Answer]]) -> Answer:
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            with suppress(StreamUnavailable):
                return await step()


async def until_it_fails(step: Callable[[], Awaitable[object]]) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            with suppress(StreamUnavailable):
                await step()


async def test_batches_shrink_when_the_topic_takes_less_than_it_did(make_topic: MakeTopic) -> None:
    topic = make_topic()
    messages = [Message(key=b"k", value=os.urandom(2000)) for _ in range(50)]

    async with topic.sink("none") as sink:
        await sink.send(messages[:1])
        before = sink.max_message_bytes
        assert isinstance(topic.broker, KafkaBroker)
        topic.broker.configure_topic(topic.name, {"max.message.bytes": "20000"})
        await until_it_is_unavailable(lambda: sink.send(messages), "message_size")
        after = sink.max_message_bytes
        await sink.send(messages)
        with pytest.raises(
            ConfigError, match=f"topic {topic.name} accepts messages of at most {after} bytes now"
        ):
            await sink.send([Message(key=b"k", value=os.urandom(after + 1))])
        await sink.send(messages[:1])

    assert after < 20_000 < before
    async with topic.source() as source:
        values = [record.value for record in await read_records(source, 52)]
    assert {message.value for message in messages} == set(values)


async def test_a_message_that_a_lowered_limit_excludes_is_refused_once_it_is_known(
    make_topic: MakeTopic,
) -> None:
    topic = make_topic()
    message = Message(key=b"k", value=os.urandom(30_000))

    async with topic.sink("none") as sink:
        assert isinstance(topic.broker, KafkaBroker)
        topic.broker.configure_topic(topic.name, {"max.message.bytes": "20000"})
        with pytest.raises(ConfigError, match=f"topic {topic.name} accepts messages of at most"):
            await until_it_fails(lambda: sink.append(message))
