"""Connections and clients that are closed while others use them: what the library's own trip over."""

import asyncio
from typing import Any

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError

from neardup_stream.stores.redis.config import RedisConfig
from neardup_stream.stores.redis.connections import TcpConnection
from neardup_stream.stores.redis.sending import send
from neardup_stream.stores.redis.topologies import SerializedSentinel, connect, disconnect
from tests.servers.redis import MASTERS, RedisCluster, RedisServer, start_watched_redis


async def test_closed_during_a_send_it_is_a_lost_connection(redis_server: RedisServer) -> None:
    connection: Any = TcpConnection(host="127.0.0.1", port=redis_server.port, socket_timeout=5)
    await connection.connect()
    sending = asyncio.create_task(connection.send_packed_command(connection.pack_command("PING")))
    await asyncio.sleep(0)  # it has looked whether there is a connection, and not sent yet

    await connection.disconnect()

    with pytest.raises(RedisConnectionError, match="closed while it was used"):
        await sending


async def test_a_sender_while_it_is_closing_opens_another(redis_server: RedisServer) -> None:
    connection: Any = TcpConnection(host="127.0.0.1", port=redis_server.port, socket_timeout=5)
    await connection.connect()
    closing = asyncio.create_task(connection.disconnect())
    await asyncio.sleep(0)

    await connection.send_command("PING")
    await closing

    assert await connection.read_response() == b"PONG"
    await connection.disconnect()


async def test_a_cluster_that_looks_for_its_nodes_is_released_whole(redis_cluster: RedisCluster) -> None:
    client = connect(RedisConfig(redis_cluster.url))
    await client.initialize()
    await client.ping(target_nodes="all")
    connections = [connection for node in client.get_nodes() for connection in node._connections]
    assert all(connection.is_connected for connection in connections)
    assert len(connections) >= MASTERS
    client._initialize = True

    await disconnect(client)

    assert not any(connection.is_connected for connection in connections)


async def test_a_cluster_is_not_sent_several_commands(redis_cluster: RedisCluster) -> None:
    client = connect(RedisConfig(redis_cluster.url))
    try:
        assert await send(client, [("ECHO", "one")]) == [b"one"]
        with pytest.raises(ValueError, match="too many values"):
            await send(client, [("ECHO", "one"), ("ECHO", "two")])
    finally:
        await disconnect(client)


async def test_a_client_that_is_closed_leaves_no_connection_to_a_sentinel() -> None:
    with start_watched_redis() as servers:
        client = connect(RedisConfig(servers.url))
        await client.ping()
        asked = [sentinel.connection_pool for sentinel in client.connection_pool.sentinel_manager.sentinels]
        connections = [connection for pool in asked for connection in pool._available_connections]
        assert any(connection.is_connected for connection in connections)

        await disconnect(client)

        assert not any(connection.is_connected for connection in connections)


class Sentinel:
    """Answers, as the library's client of one would, once others had their turn."""

    def __init__(self, masters: dict[str, Any]) -> None:
        self._masters = masters

    async def sentinel_masters(self) -> dict[str, Any]:
        await asyncio.sleep(0)
        return self._masters


async def test_sentinels_asked_by_many_at_once_are_all_kept() -> None:
    master = {"is_master": True, "is_sdown": False, "is_odown": False, "num-other-sentinels": 2}
    knows_nothing = [Sentinel({}), Sentinel({})]
    knows = Sentinel({"pages": {**master, "ip": "127.0.0.1", "port": 6379}})
    sentinel: Any = SerializedSentinel([*knows_nothing, knows])

    found = await asyncio.gather(*(sentinel.discover_master("pages") for _ in range(5)))

    assert set(found) == {("127.0.0.1", 6379)}
    assert {*sentinel.sentinels} == {*knows_nothing, knows}
