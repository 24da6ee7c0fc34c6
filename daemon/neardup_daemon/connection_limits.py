"""Bounds the connections to a port: few at a time, none without a request for long, handshakes included.

A half-open connection holds a descriptor and asks nothing. At the limit an older connection makes room for
the newest: one that asked nothing yet, or where more than half of the places are idle, one of those; one that
is asking only where there are no others. Few are accepted in one turn of the loop, so a scrape has asked
before its turn to make room comes, and is always answered.

    silent ──► asking ◄──► idle

Silent: the server has reported no request, perhaps TLS is not set up yet. Idle: answered, and the server has
reported no next request. Only the server knows what is a request: its parser skips empty lines, for example.
"""

import asyncio
import errno
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Literal, NamedTuple, Protocol

from neardup_stream.errors import ConfigError

__all__ = [
    "ConnectionEnd",
    "ConnectionLimits",
    "ConnectionMeters",
    "LimitedConnections",
    "listen",
]

_QUEUE: Final = 4096

_ACCEPTED_IN_A_TURN: Final = 16

_PORT_ERRORS: Final = frozenset({errno.EADDRINUSE, errno.EACCES})
"""Of an address that can be had, on another port."""

ConnectionEnd = Literal["evicted", "refused", "head_timeout", "idle_timeout", "request_timeout", "handshake"]
"""Why the server ended a connection.

evicted: to make room. refused: there was no room. handshake: TLS failed. Else the limit of this name.
"""


class ConnectionLimits(NamedTuple):
    """How many connections there may be, and for how long.

    Attributes:
        max_connections: at once. More than any set-up has scrapers and supervisors, and less than half of the
            descriptors that a process usually may have.
        head_timeout_seconds: from connecting to the first request, whose head is read then; TLS included.
        connection_seconds: from a request to its answer.
        idle_timeout_seconds: from an answer to the next request; also the time to take the answer.
        evicts_asking: whether a connection that asked something makes room where none is silent or idle; else
            the newest is refused.
    """

    max_connections: int = 384
    head_timeout_seconds: float = 2.0
    connection_seconds: float = 10.0
    idle_timeout_seconds: float = 10.0
    evicts_asking: bool = True


class ConnectionMeters(Protocol):
    """What connections report."""

    def connections(self, count: int) -> None:
        """Set how many are open, handshakes included."""

    def connection_ended(self, reason: ConnectionEnd) -> None:
        """Count one that the server ended."""


class _NoMeters:
    def connections(self, count: int) -> None: ...

    def connection_ended(self, reason: ConnectionEnd) -> None: ...


_USUAL_LIMITS = ConnectionLimits()
_NO_METERS = _NoMeters()


class LimitedConnections:
    """Makes protocols that keep to the limits.

    Args:
        make_protocol: makes what serves a connection.
        limits: how many and for how long.
        tls: of the server; None where it serves without. The listening server itself must have none: what it
            accepts counts from there.
        meters: count the open ones and those that the server ends.
    """

    def __init__(
        self,
        make_protocol: Callable[[], asyncio.Protocol],
        limits: ConnectionLimits = _USUAL_LIMITS,
        tls: ssl.SSLContext | None = None,
        meters: ConnectionMeters = _NO_METERS,
    ) -> None:
        self._make_protocol = make_protocol
        self._tls = tls
        self._open = _Open(limits, meters)

    def __call__(self) -> asyncio.Protocol:
        """Return a protocol for one connection, which is silent until `answering` is called for it."""
        return _LimitedProtocol(self._make_protocol(), self._open, self._tls)

    @property
    def unanswered_count(self) -> int:
        """Open connections that are not idle: a request may be in each, read by the server or not yet."""
        return len(self._open.silent) + len(self._open.asking)

    @contextmanager
    def answering(self, inner: object) -> Iterator[None]:
        """Note that a connection has a request while the block runs, and is idle afterwards.

        Args:
            inner: the protocol that serves the connection.
        """
        connection = self._open.by_inner.get(inner)
        if connection is not None:
            connection.begin()
        try:
            yield
        finally:
            if connection is not None:
                connection.rest()

    def close(self) -> None:
        """End all connections."""
        for connection in [*self._open.silent, *self._open.idle, *self._open.asking]:
            connection.abort()


async def listen(
    connections: LimitedConnections, host: str, port: int, section: Literal["http", "api"]
) -> asyncio.Server:
    """Serve connections, of which many may wait to be accepted.

    One that finds the queue full is tried again after a second, by the client's system.

    Args:
        connections: makes the protocol of each.
        host: address to listen on.
        port: 0 takes any free one.
        section: of the settings, which the error names.

    Raises:
        ConfigError: the address or the port cannot be had.
    """
    try:
        server = await asyncio.get_running_loop().create_server(
            connections, host, port, backlog=_ACCEPTED_IN_A_TURN
        )
    except (OSError, ValueError) as error:  # ValueError: the host cannot be a name of one
        remedy = f"correct {section}.host"
        if isinstance(error, OSError) and error.errno in _PORT_ERRORS:
            remedy = f"choose another {section}.port, or 0 for any"
        raise ConfigError(f"cannot listen on {host}:{port}: {reason_of(error)}; {remedy}") from error
    for listening in server.sockets:
        with socket.fromfd(listening.fileno(), listening.family, listening.type) as same:
            same.listen(_QUEUE)
    return server


def reason_of(error: OSError | ValueError) -> str:
    """Return why an address cannot be had, without numbers of errors."""
    return str((error.strerror if isinstance(error, OSError) else None) or error)


class _Open:
    """The open connections, in each state in the order in which they came into it.

    Attributes:
        limits: of all of them.
        meters: count them.
        silent: asked nothing yet.
        idle: were answered.
        asking: the others.
        by_inner: all, by the protocols that serve them.
    """

    def __init__(self, limits: ConnectionLimits, meters: ConnectionMeters) -> None:
        self.limits = limits
        self.meters = meters
        self.silent: dict[_LimitedProtocol, None] = {}
        self.idle: dict[_LimitedProtocol, None] = {}
        self.asking: dict[_LimitedProtocol, None] = {}
        self.by_inner: dict[object, _LimitedProtocol] = {}

    def make_room(self) -> bool:
        """End one of them if there are too many; return whether there is room for another."""
        if len(self.by_inner) < self.limits.max_connections:
            return True
        are_most_idle = len(self.idle) > self.limits.max_connections // 2
        evictable = self.idle if are_most_idle else self.silent or self.idle
        if not evictable and self.limits.evicts_asking:
            evictable = self.asking
        if not evictable:
            self.meters.connection_ended("refused")
            return False
        next(iter(evictable)).abort("evicted")
        return True

    def move(self, connection: "_LimitedProtocol", to: "dict[_LimitedProtocol, None]") -> None:
        """Bring a connection into another state."""
        for each in (self.silent, self.idle, self.asking):
            each.pop(connection, None)
        to[connection] = None

    def add(self, connection: "_LimitedProtocol", inner: object) -> None:
        """Take in a new connection."""
        self.by_inner[inner] = connection
        self.silent[connection] = None
        self.meters.connections(len(self.by_inner))

    def remove(self, connection: "_LimitedProtocol", inner: object) -> None:
        """Forget a connection that ended."""
        for each in (self.silent, self.idle, self.asking):
            each.pop(connection, None)
        self.by_inner.pop(inner, None)
        self.meters.connections(len(self.by_inner))


class _LimitedProtocol(asyncio.Protocol):
    """Hands everything to another protocol, for as long as it may."""

    def __init__(self, inner: asyncio.Protocol, others: _Open, tls: ssl.SSLContext | None) -> None:
        self._inner = inner
        self._others = others
        self._tls = tls
        self._handshake: asyncio.Task[None] | None = None
        self._early: list[bytes] = []
        self._transport: asyncio.Transport | None = None
        self._end: asyncio.TimerHandle | None = None
        self._is_served = False

    def abort(self, reason: ConnectionEnd | None = None) -> None:
        """End the connection; what was not sent is lost."""
        if reason is not None:
            self._others.meters.connection_ended(reason)
        self._forget()
        if self._handshake is not None:
            self._handshake.cancel()
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Make room, and let the time run."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - a stream has one
        self._transport = transport
        if not self._others.make_room():
            transport.abort()
            return
        self._others.add(self, self._inner)
        self._end_after(self._others.limits.head_timeout_seconds, "head_timeout")
        if self._tls is None:
            self._serve(transport)
        else:
            transport.pause_reading()  # what comes is the client's part of the handshake
            self._handshake = asyncio.get_running_loop().create_task(self._secure(transport, self._tls))

    async def _secure(self, transport: asyncio.Transport, tls: ssl.SSLContext) -> None:
        loop = asyncio.get_running_loop()
        try:
            secure = await loop.start_tls(
                transport,
                self,
                tls,
                server_side=True,
                ssl_handshake_timeout=self._others.limits.head_timeout_seconds,
            )
        except OSError:  # TLS refused by either side, or the client left
            self._handshake = None
            self.abort("handshake")
            return
        self._handshake = None
        assert secure is not None  # noqa: S101 - only a transport that was closed gives none
        self._transport = secure
        self._serve(secure)
        for data in self._early:
            self.data_received(data)
        self._early.clear()

    def _serve(self, transport: asyncio.Transport) -> None:
        self._is_served = True
        self._inner.connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Let the time stop."""
        self._forget()
        if self._is_served:
            self._inner.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Hand on, here and below."""
        if not self._is_served:
            self._early.append(data)  # came with the end of the handshake
            return
        self._inner.data_received(data)

    def begin(self) -> None:
        """Note that there is a request."""
        if self._inner in self._others.by_inner:
            self._others.move(self, self._others.asking)
            self._end_after(self._others.limits.connection_seconds, "request_timeout")

    def rest(self) -> None:
        """Note that the request was answered."""
        if self._inner in self._others.by_inner:
            self._others.move(self, self._others.idle)
            self._end_after(self._others.limits.idle_timeout_seconds, "idle_timeout")

    def _end_after(self, seconds: float, reason: ConnectionEnd) -> None:
        if self._end is not None:
            self._end.cancel()
        self._end = asyncio.get_running_loop().call_later(seconds, self.abort, reason)

    def _forget(self) -> None:
        self._others.remove(self, self._inner)
        if self._end is not None:
            self._end.cancel()

    def eof_received(self) -> bool | None:
        """Hand on."""
        return self._inner.eof_received() if self._is_served else None

    def pause_writing(self) -> None:
        """Hand on."""
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """Hand on."""
        self._inner.resume_writing()
