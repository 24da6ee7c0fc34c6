"""Let one process at a time do a piece of work, for as long as it renews a key in Redis."""

import asyncio
import os
import secrets
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from neardup_stream.errors import ConfigError, StoreUnavailable
from neardup_stream.stores.redis.client import RedisClient

__all__ = ["leased"]

_LEASE_MS: Final = 5_000
_RENEWAL_SECONDS: Final = 1.0


@asynccontextmanager
async def leased(client: RedisClient, key: str, work: str) -> AsyncIterator[None]:
    """Hold the lease of a piece of work while the block runs.

    The lease of a process that was killed ends by itself; this waits for that. One that is paused for longer
    loses it, and is not stopped: what the work changes must be guarded besides.

    Args:
        client: reaches the server or cluster.
        key: of the lease.
        work: its name, for the error.

    Raises:
        ConfigError: another process does this work now.
        StoreUnavailable: Redis is unavailable.
    """
    lease = _Lease(client, key)
    await lease.take(work)
    renewing = asyncio.create_task(lease.keep())
    try:
        yield
    finally:
        renewing.cancel()
        await asyncio.wait([renewing])
        with suppress(StoreUnavailable):  # it ends by itself
            await lease.end()


class _Lease:
    """The value names the holder, and counts its renewals."""

    def __init__(self, client: RedisClient, key: str) -> None:
        self._client = client
        self._key = key
        self._holder = f"process {os.getpid()} on {socket.gethostname()} {secrets.token_hex(8)}"
        self._renewals = 0

    async def take(self, work: str) -> None:
        first = await self._stored()
        while not await self._write("NX"):
            stored = await self._stored()
            if stored.startswith(self._holder):  # the answer to our own write was lost
                return
            if first and stored and stored != first:
                holder = stored.rsplit(" ", 2)[0]
                raise ConfigError(f"another {work} is at work, {holder}: wait for it")
            first = first or stored
            await asyncio.sleep(_RENEWAL_SECONDS / 2)

    async def keep(self) -> None:
        """Renew it until it is another's."""
        while True:
            await asyncio.sleep(_RENEWAL_SECONDS)
            self._renewals += 1
            with suppress(StoreUnavailable):  # until it ends
                if not (await self._stored() or self._holder).startswith(self._holder):
                    return
                await self._write()

    async def end(self) -> None:
        if (await self._stored()).startswith(self._holder):
            await self._client.execute("DEL", self._key)

    async def _stored(self) -> str:
        value: bytes | None = await self._client.execute("GET", self._key)
        return (value or b"").decode("utf-8", "replace")

    async def _write(self, *condition: str) -> bool:
        value = f"{self._holder} {self._renewals}"
        return bool(await self._client.execute("SET", self._key, value, "PX", _LEASE_MS, *condition))
