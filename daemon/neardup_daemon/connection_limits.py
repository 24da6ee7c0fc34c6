"""Connections of strangers to the HTTP port: few at a time, and none for long.

A half-open connection holds a descriptor and asks nothing. At the limit the oldest connection makes room for
the newest, those that asked nothing yet before the others, so a scrape is always answered.
"""

import asyncio
import socket
from collections.abc import Callable
from typing import Final, NamedTuple

__all__ = ["ConnectionLimits", "LimitedConnections", "lengthen_queue"]

_QUEUE: Final = 4096
_HEAD_END: Final = b"\r\n\r\n"


class ConnectionLimits(NamedTuple):
    """How many connections there may be, and for how long.

    Attributes:
        max_connections: at once. More than any set-up has scrapers and supervisors, and less than half of the
            descriptors that a process usually may have.
        head_timeout_seconds: from connecting to the end of the first request's head.
        connection_seconds: from there to closing, whatever is asked and answered meanwhile; who keeps a
            connection open connects again.
        evicts_asking: whether a connection that asked something makes room where none is silent; else the
            newest is refused.
    """

    max_connections: int = 384
    head_timeout_seconds: float = 2.0
    connection_seconds: float = 10.0
    evicts_asking: bool = True


_USUAL_LIMITS = ConnectionLimits()


class LimitedConnections:
    """Makes protocols that keep to the limits.

    Args:
        make_protocol: makes what serves a connection.
        limits: how many and for how long.
    """

    def __init__(
        self, make_protocol: Callable[[], asyncio.Protocol], limits: ConnectionLimits = _USUAL_LIMITS
    ) -> None:
        self._make_protocol = make_protocol
        self._open = _Open(limits, {}, {})

    def __call__(self) -> asyncio.Protocol:
        """A protocol for one connection."""
        return _LimitedProtocol(self._make_protocol(), self._open)

    @property
    def asking_count(self) -> int:
        """Open connections that have sent the head of a request."""
        return len(self._open.asking)

    def close(self) -> None:
        """End all connections."""
        for connection in [*self._open.silent, *self._open.asking]:
            connection.abort()


def lengthen_queue(server: asyncio.Server) -> None:
    """Let more connections wait to be accepted than asyncio accepts in one turn of its loop.

    One that finds the queue full is tried again after a second.
    """
    for listening in server.sockets:
        with socket.fromfd(listening.fileno(), listening.family, listening.type) as same:
            same.listen(_QUEUE)


class _Open(NamedTuple):
    """The open connections, each in the order of their opening.

    Attributes:
        limits: of all of them.
        silent: asked nothing yet.
        asking: the others.
    """

    limits: ConnectionLimits
    silent: "dict[_LimitedProtocol, None]"
    asking: "dict[_LimitedProtocol, None]"

    def make_room(self) -> bool:
        """End one of them if there are too many; return whether there is room for another."""
        if len(self.silent) + len(self.asking) < self.limits.max_connections:
            return True
        if not self.silent and not self.limits.evicts_asking:
            return False
        next(iter(self.silent or self.asking)).abort()
        return True

    def remove(self, connection: "_LimitedProtocol") -> None:
        """Forget a connection that ended."""
        self.silent.pop(connection, None)
        self.asking.pop(connection, None)


class _LimitedProtocol(asyncio.Protocol):
    """Hands everything to another protocol, for as long as it may."""

    def __init__(self, inner: asyncio.Protocol, others: _Open) -> None:
        self._inner = inner
        self._others = others
        self._head_end = b""
        self._transport: asyncio.Transport | None = None
        self._end: asyncio.TimerHandle | None = None
        self._is_refused = False

    def abort(self) -> None:
        """End the connection; what was not sent is lost."""
        self._others.remove(self)
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Make room, and let the time run."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - a stream has one
        self._transport = transport
        if not self._others.make_room():
            self._is_refused = True
            transport.abort()
            return
        self._others.silent[self] = None
        self._end = asyncio.get_running_loop().call_later(
            self._others.limits.head_timeout_seconds, self.abort
        )
        self._inner.connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Let the time stop."""
        if self._is_refused:
            return
        self._others.remove(self)
        if self._end is not None:
            self._end.cancel()
        self._inner.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Hand on, here and below, and notice the first request."""
        if self._is_refused:
            return
        if self in self._others.silent:
            self._head_end = self._head_end[-len(_HEAD_END) :] + data
            if _HEAD_END in self._head_end:
                self._ask()
        self._inner.data_received(data)

    def _ask(self) -> None:
        assert self._end is not None  # noqa: S101 - the connection is made
        self._end.cancel()
        self._end = asyncio.get_running_loop().call_later(self._others.limits.connection_seconds, self.abort)
        del self._others.silent[self]
        self._others.asking[self] = None

    def eof_received(self) -> bool | None:
        """Hand on."""
        return None if self._is_refused else self._inner.eof_received()

    def pause_writing(self) -> None:
        """Hand on."""
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """Hand on."""
        self._inner.resume_writing()
