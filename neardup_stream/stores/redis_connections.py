"""How a server or a cluster is reached, over connections that pack commands in C.

A script call names hundreds of keys, and the client packs every argument in Python: at 2 µs each that is more
than the fingerprint of a page costs. `hiredis`, which reads the answers already, packs them ten times faster.
"""

from typing import Any
from urllib.parse import unquote, urlsplit

from hiredis import pack_command
from redis.asyncio import Redis, RedisCluster
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.connection import (
    AbstractConnection,
    Connection,
    ConnectionPool,
    SSLConnection,
    UnixDomainSocketConnection,
    parse_url,
)
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialBackoff

from neardup_stream.errors import ConfigError
from neardup_stream.stores.redis_config import CLUSTER_SCHEME, RedisConfig

__all__ = ["connect"]


class _PackedInC(AbstractConnection):
    """Packs as the client does: a first argument of several words is several arguments."""

    def pack_command(self, *args: Any) -> list[bytes]:
        words = args[0].split() if isinstance(args[0], str) else (args[0],)
        return [pack_command((*words, *args[1:]))]


class _TcpConnection(_PackedInC, Connection): ...


class _TlsConnection(_PackedInC, SSLConnection): ...


class _UnixConnection(_PackedInC, UnixDomainSocketConnection): ...


_CLASSES: dict[str, type[AbstractConnection]] = {
    "redis": _TcpConnection,
    "rediss": _TlsConnection,
    "unix": _UnixConnection,
}


def connect(config: RedisConfig) -> Any:
    """The client of one server or of a cluster; nothing is sent yet.

    Raises:
        ConfigError: the URL cannot be read.
    """
    retry = Retry(ExponentialBackoff(cap=0.5, base=0.02), config.retries)
    try:
        if not config.is_cluster:
            pool = _connection_pool(
                config.url,
                socket_timeout=config.socket_timeout_seconds,
                socket_connect_timeout=config.socket_timeout_seconds,
                retry=retry,
            )
            return Redis.from_pool(pool)
        credentials, _, nodes = config.url.removeprefix(CLUSTER_SCHEME).rpartition("@")
        username, _, password = credentials.partition(":")
        return RedisCluster(
            startup_nodes=[_cluster_node(node) for node in nodes.rstrip("/").split(",")],
            username=unquote(username) or None,
            password=unquote(password) or None,
            socket_timeout=config.socket_timeout_seconds,
            socket_connect_timeout=config.socket_timeout_seconds,
        )
    except ValueError as error:
        raise ConfigError(f"redis.url cannot be read: {error}") from error


def _connection_pool(url: str, **options: Any) -> ConnectionPool:
    """A pool for one server.

    Args:
        url: `redis://`, `rediss://` or `unix://`.
        options: of the connections; what the URL says wins.

    Raises:
        ValueError: the URL cannot be read.
    """
    parsed = dict(parse_url(url))
    return ConnectionPool(**{**options, **parsed, "connection_class": _CLASSES[urlsplit(url).scheme]})


def _cluster_node(node: str) -> ClusterNode:
    host, _, port = node.rpartition(":")
    return ClusterNode(host.strip("[]"), int(port))
