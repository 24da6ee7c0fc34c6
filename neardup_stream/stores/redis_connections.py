"""Connections that pack commands in C.

A script call names hundreds of keys, and the client packs every argument in Python: at 2 µs each that is more
than the fingerprint of a page costs. `hiredis`, which reads the answers already, packs them ten times faster.
"""

from typing import Any
from urllib.parse import urlsplit

from hiredis import pack_command
from redis.asyncio.connection import (
    AbstractConnection,
    Connection,
    ConnectionPool,
    SSLConnection,
    UnixDomainSocketConnection,
    parse_url,
)

__all__ = ["connection_pool"]


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


def connection_pool(url: str, **options: Any) -> ConnectionPool:
    """A pool for one server.

    Args:
        url: `redis://`, `rediss://` or `unix://`.
        options: of the connections; what the URL says wins.

    Raises:
        ValueError: the URL cannot be read.
    """
    parsed = dict(parse_url(url))
    return ConnectionPool(**{**options, **parsed, "connection_class": _CLASSES[urlsplit(url).scheme]})
