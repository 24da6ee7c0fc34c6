"""Who leads the partitions of a topic, as each broker knows it: one may lag behind the others."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager

from aiokafka.conn import AIOKafkaConnection, create_conn
from aiokafka.errors import KafkaError
from aiokafka.protocol.metadata import MetadataRequest

from tests.servers.process import POLL_SECONDS

__all__ = ["wait_for_leader", "wait_until_led"]

SECONDS = 120
NO_LEADER = -1


async def wait_until_led(bootstrap_servers: str, topics: Mapping[str, int]) -> None:
    """Return once every broker knows so many partitions with a leader of each topic."""
    async with asyncio.timeout(SECONDS):
        for server in bootstrap_servers.split(","):
            async with _connected(server) as connection:
                await _wait_until_known(connection, topics)


async def wait_for_leader(bootstrap_servers: str, topic: str, former: int) -> int:
    """Return the node that leads the first partition, once all brokers that live know it and it changed."""
    async with asyncio.timeout(SECONDS):
        while True:
            named = {await _leader(server, topic) for server in bootstrap_servers.split(",")}
            leader, *others = named - {None} or {NO_LEADER}
            if leader not in (None, NO_LEADER, former) and not others:
                return leader
            await asyncio.sleep(POLL_SECONDS)


async def _wait_until_known(connection: AIOKafkaConnection, topics: Mapping[str, int]) -> None:
    while True:
        known = await _leaders(connection, topics)
        led = {name: sum(each != NO_LEADER for each in leaders.values()) for name, leaders in known.items()}
        if led == topics:
            return
        await asyncio.sleep(POLL_SECONDS)


async def _leader(server: str, topic: str) -> int | None:
    """Return whom a broker knows as the leader; None where it does not answer."""
    try:
        async with _connected(server) as connection:
            return (await _leaders(connection, [topic]))[topic].get(0, NO_LEADER)
    except (OSError, KafkaError):
        return None


async def _leaders(connection: AIOKafkaConnection, topics: Iterable[str]) -> dict[str, dict[int, int]]:
    """Return by topic and partition which node a broker knows as the leader."""
    answer = await connection.send(MetadataRequest(list(topics), allow_auto_topic_creation=False))
    return {
        each["topic"]: {one["partition"]: int(one["leader"]) for one in each["partitions"]}
        for each in answer.to_object()["topics"]
    }


@asynccontextmanager
async def _connected(server: str) -> AsyncIterator[AIOKafkaConnection]:
    host, _, port = server.rpartition(":")
    connection = await create_conn(host, int(port))
    try:
        yield connection
    finally:
        if closed := connection.close():  # None where the broker has closed it
            await asyncio.wait([closed])
