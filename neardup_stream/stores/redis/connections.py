"""Open connections to a server, which pack commands in C.

A script call names hundreds of keys, and the client packs every argument in Python: at 2 µs each that is more
than the fingerprint of a page costs. `hiredis`, which reads the answers already, packs them ten times faster.
"""

from typing import Any

from hiredis import pack_command
from redis.asyncio.connection import (
    AbstractConnection,
    Connection,
    SSLConnection,
    UnixDomainSocketConnection,
)
from redis.credentials import CredentialProvider

from neardup_stream.credentials import Login, TlsContext, TlsFiles, password_of, tls_context
from neardup_stream.stores.redis.config import RedisConfig
from neardup_stream.stores.redis.redis_compat import ClosableConnection

__all__ = ["TcpConnection", "TlsConnection", "connection_options"]


class _PackedInC(AbstractConnection):
    """Packs as the client does: a first argument of several words is several arguments."""

    def pack_command(self, *args: Any) -> list[bytes]:
        words = args[0].split() if isinstance(args[0], str) else (args[0],)
        return [pack_command((*words, *args[1:]))]


class TcpConnection(_PackedInC, ClosableConnection, Connection):
    """As it comes."""


class TlsConnection(_PackedInC, ClosableConnection, SSLConnection):
    """Trusts and shows what the files say when it is made."""

    def __init__(self, *, tls_context: TlsContext, **options: Any) -> None:
        super().__init__(**options)
        self.ssl_context.context = tls_context  # instead of one of its own, which it would keep

    async def disconnect(self, nowait: bool = False, *args: Any, **options: Any) -> None:  # noqa: FBT001, FBT002 - as the client calls it
        """Close; a connection that failed is aborted, as TLS would wait up to 30 seconds for an answer."""
        if nowait:
            self.abort()
        await super().disconnect(nowait, *args, **options)


class _UnixConnection(_PackedInC, ClosableConnection, UnixDomainSocketConnection): ...


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
    """Return the options of every connection, without the address and the URL's own user and password.

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
