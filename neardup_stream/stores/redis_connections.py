"""How a server or a cluster is reached, over connections that pack commands in C.

A script call names hundreds of keys, and the client packs every argument in Python: at 2 µs each that is more
than the fingerprint of a page costs. `hiredis`, which reads the answers already, packs them ten times faster.
"""

from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote

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
from redis.credentials import CredentialProvider

from neardup_stream.credentials import Login, Password, TlsContext, TlsFiles
from neardup_stream.errors import ConfigError
from neardup_stream.stores.redis_config import UNREADABLE_URL, RedisConfig

__all__ = ["connect", "connection_options"]


class _PackedInC(AbstractConnection):
    """Packs as the client does: a first argument of several words is several arguments."""

    def pack_command(self, *args: Any) -> list[bytes]:
        words = args[0].split() if isinstance(args[0], str) else (args[0],)
        return [pack_command((*words, *args[1:]))]


class _TcpConnection(_PackedInC, Connection): ...


class _TlsConnection(_PackedInC, SSLConnection):
    def __init__(self, *, tls_context: TlsContext, **options: Any) -> None:
        super().__init__(**options)
        self.ssl_context.context = tls_context  # instead of one of its own, which it would keep


class _UnixConnection(_PackedInC, UnixDomainSocketConnection): ...


class _Credentials(CredentialProvider):
    """Asked by the client at each connection."""

    def __init__(self, login: Login) -> None:
        self._username = login.username
        self._password = Password(login)

    def get_credentials(self) -> tuple[str] | tuple[str, str]:
        password = self._password.read()
        return (self._username, password) if self._username else (password,)

    async def get_credentials_async(self) -> tuple[str] | tuple[str, str]:
        return self.get_credentials()


def connect(config: RedisConfig, known_nodes: Sequence[tuple[str, int]] = ()) -> Any:
    """The client of one server or of a cluster; nothing is sent yet.

    Args:
        config: where it is.
        known_nodes: host and port of nodes of the cluster, to be asked beside those of the URL.

    Raises:
        ConfigError: the URL, or a file of credentials, cannot be read.
    """
    try:
        if config.is_cluster:
            return _cluster(config, known_nodes)
        options = {**connection_options(config), **parse_url(config.url)}
        options |= {"connection_class": _connection_class(config), "retry": _retry(config)}
        return Redis.from_pool(ConnectionPool(**options))
    except ValueError:
        raise ConfigError(UNREADABLE_URL) from None  # whose message quotes parts of it


def connection_options(config: RedisConfig) -> dict[str, Any]:
    """What every connection is made with, besides the address and the URL's own user and password.

    Raises:
        ConfigError: a file of credentials cannot be read.
    """
    options: dict[str, Any] = {
        "connection_class": _connection_class(config),
        "socket_timeout": config.socket_timeout_seconds,
        "socket_connect_timeout": config.socket_timeout_seconds,
    }
    if config.login is not None:
        options["credential_provider"] = _Credentials(config.login)
    if config.has_tls:
        options["tls_context"] = TlsContext(config.tls or TlsFiles())
    return options


def _connection_class(config: RedisConfig) -> type[AbstractConnection]:
    if config.scheme == "unix":
        return _UnixConnection
    return _TlsConnection if config.has_tls else _TcpConnection


def _retry(config: RedisConfig) -> Retry:
    return Retry(ExponentialBackoff(cap=0.5, base=0.02), config.retries)


def _cluster(config: RedisConfig, known_nodes: Sequence[tuple[str, int]]) -> RedisCluster:
    """The client makes connections of its own classes; its nodes can be told better before they make any."""
    credentials, _, nodes = config.url.removeprefix(f"{config.scheme}://").rpartition("@")
    username, _, password = credentials.partition(":")
    client = RedisCluster(
        startup_nodes=[
            *(_cluster_node(node) for node in nodes.rstrip("/").split(",")),
            *(ClusterNode(host, port) for host, port in known_nodes),
        ],
        retry=_retry(config),
        username=unquote(username) or None,
        password=unquote(password) or None,
    )
    options = connection_options(config)
    client.connection_kwargs |= options
    connection_class = options.pop("connection_class")
    for node in client.nodes_manager.startup_nodes.values():
        node.connection_class = connection_class
        node.connection_kwargs |= options
    return client


def _cluster_node(node: str) -> ClusterNode:
    host, _, port = node.rpartition(":")
    return ClusterNode(host.strip("[]"), int(port))
