"""Reach what redis-py offers no public API for; no other module touches its private attributes.

Read this file first when the version of redis-py changes: what is private may change without notice.
"""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from redis.asyncio.connection import AbstractConnection
from redis.exceptions import ConnectionError as RedisConnectionError

__all__ = ["ClosableConnection"]


class ClosableConnection(AbstractConnection):
    """A connection that may be closed while another task sends or connects.

    The client of a cluster closes all its connections after errors. The library's own connection would use a
    writer that is gone, or close one that was opened since.
    """

    _closing: asyncio.Task[None] | None = None

    async def send_packed_command(
        self,
        command: bytes | str | Iterable[bytes],
        check_health: bool = True,  # noqa: FBT001, FBT002 - as inherited
    ) -> None:
        """Send a command; raise a ConnectionError if the connection is closed meanwhile."""
        try:
            await super().send_packed_command(command, check_health)
        except AttributeError as error:
            if self.is_connected:
                raise
            raise RedisConnectionError("closed while it was used") from error

    async def disconnect(self, nowait: bool = False, *rest: Any, **named: Any) -> None:  # noqa: FBT001, FBT002 - as inherited
        """Close at once, before another writer is opened; wait for the server's side unless `nowait`."""
        writer = self._writer
        await super().disconnect(True, *rest, **named)  # noqa: FBT003 - at once, before another one is opened
        if writer is not None:
            self._closing = asyncio.create_task(_until_closed(writer))
        if self._closing is not None and not nowait:
            await asyncio.wait([self._closing], timeout=self.socket_connect_timeout)

    def abort(self) -> None:
        """Drop the transport without a TLS shutdown, which a broken connection answers after 30 seconds."""
        if self._writer is not None:
            self._writer.transport.abort()


async def _until_closed(writer: asyncio.StreamWriter) -> None:
    """Wait in a task of its own: a waiter whose time is over would cancel the others."""
    with suppress(OSError):  # which ended it
        await writer.wait_closed()
