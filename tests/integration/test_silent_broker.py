"""A broker that is stopped: every call says so, and nothing is lost."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from random import randbytes
from typing import TypeVar

import pytest

from neardup_stream.errors import StreamUnavailable
from neardup_stream.message import Message, Record
from neardup_stream.pipeline.offsets import next_offsets
from neardup_stream.streams.kafka.admin import describe_topics
from neardup_stream.streams.kafka.config import KafkaConnection
from neardup_stream.streams.kafka.reachability import reach_broker
from neardup_stream.streams.kafka.sink import KafkaSink
from neardup_stream.streams.kafka.snapshot import open_snapshot
from neardup_stream.streams.kafka.snapshot_source import SnapshotSource
from neardup_stream.streams.kafka.source import KafkaSource
from neardup_stream.streams.protocol import EndOfStream
from tests.contracts.streams import (
    read_records,
)
from tests.kafka_topics import WAIT_SECONDS, Topic
from tests.servers.kafka import KafkaBroker, start_kafka

Answer = TypeVar("Answer")


@pytest.fixture
def frozen_broker() -> Iterator[KafkaBroker]:
    """A broker of its own, because the tests stop it in its tracks."""
    with start_kafka(is_brief=True) as broker:
        yield broker


async def test_while_the_broker_is_silent_every_call_says_so_and_nothing_is_lost(
    frozen_broker: KafkaBroker, topic_prefix: str
) -> None:
    topic = Topic(frozen_broker, topic_prefix, request_timeout_seconds=1)
    messages = [Message(key=b"key", value=b"%d" % number) for number in range(3)]

    async with AsyncExitStack() as stack:
        sink, source = await opened(stack, topic, messages[:1])
        first = await retry(lambda: read_records(source, 1))
        frozen_broker.freeze()
        with pytest.raises(StreamUnavailable, match=r"sending.*no answer in time"):
            await sink.send(messages[1:])
        with pytest.raises(StreamUnavailable, match="committing: "):
            await source.commit(next_offsets(first))
        with pytest.raises(StreamUnavailable, match="no broker has answered"):
            await read_records(source, 1)
        with pytest.raises(StreamUnavailable, match=r"does not answer; see that the brokers run, [^;]*\Z"):
            await describe_topics(topic.connection, [topic.name])
        frozen_broker.thaw()
        await retry(lambda: sink.send(messages[1:]))
        await retry(lambda: source.commit(next_offsets(first)))
        rest = [record.value for record in await read_all(source)]

    assert rest[-2:] == [b"1", b"2"]
    assert set(rest) <= {b"0", b"1", b"2"}


async def test_a_client_that_has_waited_learns_soon_that_the_broker_is_silent() -> None:
    """Only the client waits for as long as it is set to; who looks for its reason does not."""
    async with asyncio.timeout(WAIT_SECONDS):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            broker = f"127.0.0.1:{silent.getsockname()[1]}"
            with pytest.raises(StreamUnavailable, match="does not answer"):
                await reach_broker(KafkaConnection(bootstrap_servers=broker, request_timeout_seconds=300))


async def test_streams_close_without_a_broker(frozen_broker: KafkaBroker, topic_prefix: str) -> None:
    topic = Topic(frozen_broker, topic_prefix, request_timeout_seconds=1)

    async with asyncio.timeout(WAIT_SECONDS):
        async with AsyncExitStack() as stack:
            sink, source = await opened(stack, topic, [Message(key=b"key", value=b"value")])
            await retry(lambda: read_records(source, 1))
            frozen_broker.kill()
            with pytest.raises(StreamUnavailable):
                await sink.send([Message(key=b"key", value=b"value")])


async def test_streams_close_beside_a_broker_that_is_silent(
    frozen_broker: KafkaBroker, topic_prefix: str
) -> None:
    topic = Topic(frozen_broker, topic_prefix, request_timeout_seconds=1)

    async with asyncio.timeout(WAIT_SECONDS):
        async with AsyncExitStack() as stack:
            _, source = await opened(stack, topic, [Message(key=b"key", value=b"value")])
            await retry(lambda: read_records(source, 1))
            frozen_broker.freeze()


async def test_a_snapshot_is_read_to_its_end_once_a_broker_that_was_silent_answers_again(
    frozen_broker: KafkaBroker, topic_prefix: str
) -> None:
    topic = Topic(frozen_broker, topic_prefix, request_timeout_seconds=60)
    values = [randbytes(100_000) for _ in range(100)]  # nothing to compress: more than is fetched ahead
    await topic.fill(values)
    connection = replace(topic.connection, request_timeout_seconds=1)

    found: list[Record] = []
    async with AsyncExitStack() as stack:
        snapshot = await retry(
            lambda: stack.enter_async_context(open_snapshot(connection, topic.name, topic.name))
        )
        source = SnapshotSource(snapshot, snapshot.ends)
        found += await retry(lambda: source.read(1, 1))
        frozen_broker.freeze()
        with pytest.raises(StreamUnavailable, match="nothing came for"):
            await read_to_the_end(source, found)
        frozen_broker.thaw()
        await retry(lambda: read_to_the_end(source, found))

    assert [record.value for record in found] == values


async def read_to_the_end(source: SnapshotSource, found: list[Record]) -> None:
    with suppress(EndOfStream):
        while True:
            found += await source.read(10, 1 << 20)


async def opened(
    stack: AsyncExitStack, topic: Topic, messages: Sequence[Message]
) -> tuple[KafkaSink, KafkaSource]:
    """Open both streams and send; a busy broker may need longer than a short request timeout."""
    sink = await retry(lambda: stack.enter_async_context(topic.sink()))
    source = await retry(lambda: stack.enter_async_context(topic.source()))
    await retry(lambda: sink.send(messages))
    return sink, source


async def retry(call: Callable[[], Awaitable[Answer]]) -> Answer:
    """Call until it works, which is when the client has found its broker again; return what it returns."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            with suppress(StreamUnavailable):
                return await call()


async def read_all(source: KafkaSource) -> list[Record]:
    """Everything up to the end of the topic, once the source can reach it again."""
    records: list[Record] = []
    async with asyncio.timeout(WAIT_SECONDS):
        while not records or any(source.lag().values()):
            with suppress(StreamUnavailable):
                records.extend(await source.read(100, 1 << 20))
    return records
