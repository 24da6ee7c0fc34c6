"""Clients of Kafka that do not start."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import cast

import pytest
from aiokafka import AIOKafkaConsumer, client

from neardup_stream.errors import ConfigError
from neardup_stream.streams.kafka import starting
from neardup_stream.streams.kafka.admin import describe_topics
from neardup_stream.streams.kafka.config import KafkaConnection
from neardup_stream.streams.kafka.reachability import reach_broker
from neardup_stream.streams.kafka.starting import start_client


class Connection:
    def __init__(self) -> None:
        self.is_open = True

    def close(self) -> None:
        self.is_open = False


class Starting:
    """Opens a connection, as aiokafka does, and then does something else."""

    def __init__(self, then: Callable[[], Awaitable[object]]) -> None:
        self._then = then

    async def start(self) -> None:
        await client.create_conn()
        await self._then()


@pytest.fixture
def connection(monkeypatch: pytest.MonkeyPatch) -> Connection:
    made = Connection()

    async def connect() -> Connection:
        return made

    monkeypatch.setattr(starting, "create_conn", connect)
    return made


def start(then: Callable[[], Awaitable[object]]) -> Awaitable[None]:
    return start_client(cast("AIOKafkaConsumer", Starting(then)))


async def test_a_client_that_is_cancelled_while_it_starts_leaves_no_connection_open(
    connection: Connection,
) -> None:
    task = asyncio.ensure_future(start(asyncio.Event().wait))
    await asyncio.sleep(0)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert not connection.is_open


async def test_a_client_that_fails_to_start_leaves_no_connection_open(connection: Connection) -> None:
    async def fail() -> None:
        raise OSError

    with pytest.raises(OSError):  # noqa: PT011 - it passes unchanged
        await start(fail)
    assert not connection.is_open


async def test_the_connections_of_a_client_that_started_stay_open(connection: Connection) -> None:
    await start(lambda: asyncio.sleep(0))

    assert connection.is_open


@pytest.mark.parametrize("name", ["a..b", "ü" * 63])
async def test_a_name_that_no_host_can_have_is_an_error_of_the_settings(name: str) -> None:
    connection = KafkaConnection(bootstrap_servers=f"{name}:9092")

    with pytest.raises(ConfigError, match=r"correct kafka\.bootstrap_servers"):
        await describe_topics(connection, ["pages"], "Read")
    with pytest.raises(ConfigError, match=r"correct kafka\.bootstrap_servers"):
        await reach_broker(connection)
