"""Create clients of one server, of a cluster, and of the master that sentinels name."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Final
from urllib.parse import unquote

from redis.asyncio import Redis, RedisCluster
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.connection import ConnectionPool, parse_url
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import (
    MasterNotFoundError,
    Sentinel,
    SentinelConnectionPool,
    SentinelManagedConnection,
)
from redis.backoff import ExponentialBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import InvalidResponse, RedisError, ResponseError

from neardup_stream.errors import ConfigError
from neardup_stream.stores.redis.config import UNREADABLE_URL, RedisConfig, split_url
from neardup_stream.stores.redis.connections import TcpConnection, TlsConnection, connection_options

__all__ = ["SerializedSentinel", "connect", "disconnect"]

SENTINEL_SECONDS: Final = 1.0
"""Longest wait for one sentinel: they are asked in turn, and the first may be gone."""


def connect(config: RedisConfig, known_nodes: Sequence[tuple[str, int]] = ()) -> Any:
    """Return a client; nothing is sent yet.

    Args:
        config: where it is.
        known_nodes: host and port of nodes of the cluster, to be asked beside those of the URL.

    Raises:
        ConfigError: the URL, or a file of credentials, cannot be read.
    """
    try:
        if config.is_cluster:
            return _cluster(config, known_nodes)
        if config.is_watched:
            return _master(config)
        return _server(config)
    except ValueError:
        raise ConfigError(UNREADABLE_URL) from None  # whose message quotes parts of it


async def disconnect(client: Any) -> None:
    """Close all connections, broken ones too, and those to the sentinels that name the master."""
    with suppress(RedisError, OSError):
        await client.aclose()
        if isinstance(client, RedisCluster):  # which does nothing when it was about to look for its nodes
            await client.nodes_manager.aclose()
            await client.nodes_manager.aclose("startup_nodes")
    pool = getattr(client, "connection_pool", None)
    if isinstance(pool, SentinelConnectionPool):
        for sentinel in pool.sentinel_manager.sentinels:
            with suppress(RedisError, OSError):
                await sentinel.aclose()


def _server(config: RedisConfig) -> Redis:
    """Return a client of one server; options in the URL override ours."""
    ours = connection_options(config)
    options = {**ours, **parse_url(config.url), "connection_class": ours["connection_class"]}
    return Redis.from_pool(ConnectionPool(retry=_retry(config), **options))


def _retry(config: RedisConfig) -> Retry:
    return Retry(ExponentialBackoff(cap=0.5, base=0.02), config.retries)


def _cluster(config: RedisConfig, known_nodes: Sequence[tuple[str, int]]) -> RedisCluster:
    """Return a client of a cluster, whose nodes make connections of our classes."""
    client = RedisCluster(
        startup_nodes=[ClusterNode(host, port) for host, port in (*_addresses(config), *known_nodes)],
        retry=_retry(config),
        **_credentials(config),
    )
    options = connection_options(config)
    client.connection_kwargs |= options
    connection_class = options.pop("connection_class")
    for node in client.nodes_manager.startup_nodes.values():
        node.connection_class = connection_class
        node.connection_kwargs |= options
    return client


class _WatchedTcpConnection(SentinelManagedConnection, TcpConnection): ...


class _WatchedTlsConnection(SentinelManagedConnection, TlsConnection): ...


class SerializedSentinel(Sentinel):
    """Runs one query of the sentinels at a time: two at once, each reordering the list, could lose one."""

    def __init__(self, sentinels: Sequence[Any]) -> None:
        super().__init__(())  # type: ignore[no-untyped-call] # it has no annotations
        self.sentinels = list(sentinels)
        self._clients: tuple[Any, ...] = tuple(sentinels)  # the list is reordered, and typed otherwise
        self._asking = asyncio.Lock()

    async def discover_master(self, service_name: str) -> tuple[str, int]:
        """Address of the master.

        Raises:
            RedisError: none names it: what one answers that refuses the question, or the client's
                MasterNotFoundError.
        """
        async with self._asking:
            for each in self._clients:
                each.refusal = None
            try:
                address: tuple[str, int] = await super().discover_master(service_name)
            except MasterNotFoundError:
                for each in self._clients:
                    if each.refusal is not None:
                        raise each.refusal from None
                raise
        return address


class _SentinelClient(Redis):
    """Asks one sentinel; errors name its address, and one that refuses does not keep others unasked.

    Attributes:
        refusal: its last answer, where it does not take the question.
    """

    refusal: RedisError | None = None

    def __repr__(self) -> str:
        options = self.connection_pool.connection_kwargs
        return f"{options['host']}:{options['port']}"

    async def sentinel_masters(self) -> Any:
        try:
            return await super().sentinel_masters()
        except (ResponseError, InvalidResponse) as error:
            self.refusal = error
            raise RedisConnectionError(str(error)) from error


def _master(config: RedisConfig) -> Redis:
    """Return a client that connects to the present master of the service.

    User and password are the servers'; sentinels are asked without.
    """
    service, _, database = split_url(config.url).path.strip("/").partition("/")
    options = connection_options(config)
    asking = {name: value for name, value in options.items() if name != "credential_provider"}
    asking |= {"socket_timeout": SENTINEL_SECONDS, "socket_connect_timeout": SENTINEL_SECONDS}
    sentinels = SerializedSentinel(
        [
            _SentinelClient.from_pool(
                ConnectionPool(host=host, port=port, retry=Retry(ExponentialBackoff(), 0), **asking)
            )
            for host, port in _addresses(config)
        ]
    )
    options["connection_class"] = _WatchedTlsConnection if config.has_tls else _WatchedTcpConnection
    options |= {"db": int(database or 0), "retry": _retry(config), **_credentials(config)}
    pool = SentinelConnectionPool(unquote(service), sentinels, **options)  # type: ignore[no-untyped-call]
    return Redis.from_pool(pool)


def _addresses(config: RedisConfig) -> Iterator[tuple[str, int]]:
    """Host and port of every server that the URL names."""
    for address in split_url(config.url).netloc.rpartition("@")[2].split(","):
        host, _, port = address.rpartition(":")
        yield host.strip("[]"), int(port)


def _credentials(config: RedisConfig) -> dict[str, Any]:
    """User and password of the URL."""
    username, _, password = split_url(config.url).netloc.rpartition("@")[0].partition(":")
    return {"username": unquote(username) or None, "password": unquote(password) or None}
