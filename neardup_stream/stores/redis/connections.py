"""Connections to a server, which pack commands in C.

A script call names hundreds of keys, and the client packs every argument in Python: at 2 µs each that is more
than the fingerprint of a page costs. `hiredis`, which reads the answers already, packs them ten times faster.
"""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from hiredis import pack_command
from redis.asyncio.connection import (
    AbstractConnection,
    Connection,
    SSLConnection,
    UnixDomainSocketConnection,
)
from redis.credentials import CredentialProvider
from redis.exceptions import ConnectionError as RedisConnectionError

from neardup_stream.credentials import Login, TlsContext, TlsFiles, password_of, tls_context
from neardup_stream.stores.redis.config import RedisConfig

__all__ = ["TcpConnection", "TlsConnection", "connection_options"]


class _PackedInC(AbstractConnection):
    """Packs as the client does: a first argument of several words is several arguments."""

    def pack_command(self, *args: Any) -> list[bytes]:
        words = args[0].split() if isinstance(args[0], str) else (args[0],)
        return [pack_command((*words, *args[1:]))]


class _ClosedInUse(AbstractConnection):
    """May be closed while somebody sends or connects, as a cluster's client closes all it has after errors.

    The library's own would meet what is no longer there, or close what was opened since.
    """

    _closing: asyncio.Task[None] | None = None

    async def send_packed_command(
        self,
        command: bytes | str | Iterable[bytes],
        check_health: bool = True,  # noqa: FBT001, FBT002 - as inherited
    ) -> None:
        try:
            await super().send_packed_command(command, check_health)
        except AttributeError as error:
            if self.is_connected:
                raise
            raise RedisConnectionError("closed while it was used") from error

    async def disconnect(self, nowait: bool = False, *told: Any, **named: Any) -> None:  # noqa: FBT001, FBT002 - as inherited
        writer = self._writer
        await super().disconnect(True, *told, **named)  # noqa: FBT003 - at once, before another one is opened
        if writer is not None:
            self._closing = asyncio.create_task(_until_closed(writer))
        if self._closing is not None and not nowait:
            await asyncio.wait([self._closing], timeout=self.socket_connect_timeout)


async def _until_closed(writer: asyncio.StreamWriter) -> None:
    """In a task, for all who want to wait: if one of them gave up, the others would be cancelled."""
    with suppress(OSError):  # which ended it
        await writer.wait_closed()


class TcpConnection(_PackedInC, _ClosedInUse, Connection):
    """As it comes."""


class TlsConnection(_PackedInC, _ClosedInUse, SSLConnection):
    """Trusts and shows what the files say when it is made."""

    def __init__(self, *, tls_context: TlsContext, **options: Any) -> None:
        super().__init__(**options)
        self.ssl_context.context = tls_context  # instead of one of its own, which it would keep

    async def disconnect(self, nowait: bool = False, *args: Any, **options: Any) -> None:  # noqa: FBT001, FBT002 - as the client calls it
        """Close; a connection that failed takes no leave, for which TLS would wait up to 30 seconds."""
        if nowait and self._writer is not None:
            self._writer.transport.abort()
        await super().disconnect(nowait, *args, **options)


class _UnixConnection(_PackedInC, _ClosedInUse, UnixDomainSocketConnection): ...


class _Credentials(CredentialProvider):
    """Asked by the client at each connection."""

    def __init__(self, login: Login) -> None:
        self._username = login.username
        self._password = password_of(login)

    def get_credentials(self) -> tuple[str] | tuple[str, str]:
        password = self._password.read()
        return (self._username, password) if self._username else (password,)

    async def get_credentials_async(self) -> tuple[str] | tuple[str, str]:
        return self.get_credentials()


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
        options["tls_context"] = tls_context(config.tls or TlsFiles())
    return options


def _connection_class(config: RedisConfig) -> type[AbstractConnection]:
    if config.scheme == "unix":
        return _UnixConnection
    return TlsConnection if config.has_tls else TcpConnection
