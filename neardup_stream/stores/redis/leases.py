"""Let one process at a time do a piece of work, for as long as it renews a key in Redis."""

import asyncio
import os
import secrets
import socket
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, Final, NoReturn, TypeVar

from neardup_stream.errors import ConfigError, StoreUnavailable
from neardup_stream.stores.redis.client import RedisClient, Script, ScriptCall

__all__ = ["Lease"]

_T = TypeVar("_T")

_LEASE_MS: Final = 5_000
_RENEWAL_SECONDS: Final = 1.0
_TAKE = Script.load("take_lease")
_END = Script.load("end_lease")


class Lease:
    """The right to do a piece of work, which one process at a time has.

    The lease of a process that was killed expires. So does that of one that is paused, or whose Redis is
    unavailable, for longer than five seconds: until it finds out that another process has the lease, both
    work. What the work changes must be guarded besides.

    Args:
        client: reaches the server or cluster.
        key: of the lease.
        work: its name, for errors.
    """

    def __init__(self, client: RedisClient, key: str, work: str) -> None:
        self._client = client
        self._key = key
        self._work = work
        self._holder = f"process {os.getpid()} on {socket.gethostname()} {secrets.token_hex(8)}"
        self._renewals = 0

    async def take(self) -> None:
        """Take the lease, once that of a process that was killed has expired; may be repeated.

        Raises:
            ConfigError: another process renews it.
            StoreUnavailable: Redis is unavailable.
        """
        first = other = await self._claim()
        while other:
            if other != first:
                raise ConfigError(f"another {self._work} is at work, {_process(other)}: wait for it")
            await asyncio.sleep(_RENEWAL_SECONDS / 2)
            other = await self._claim()

    async def hold(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Renew the lease while the work runs, and end it then.

        Raises:
            ConfigError: another process has the lease; the work was cancelled.
        """
        working, renewing = asyncio.create_task(work), asyncio.create_task(self._renew())
        try:
            await asyncio.wait((working, renewing), return_when=asyncio.FIRST_COMPLETED)
            return working.result() if working.done() else renewing.result()
        finally:
            working.cancel()
            renewing.cancel()
            await asyncio.gather(working, renewing, return_exceptions=True)
            with suppress(StoreUnavailable):  # it expires
                await self._client.run(_END, [ScriptCall([self._key], [self._holder])])

    async def _renew(self) -> NoReturn:
        while True:
            await asyncio.sleep(_RENEWAL_SECONDS)
            self._renewals += 1
            other = ""
            with suppress(StoreUnavailable):  # the next attempt finds out
                other = await self._claim()
            if other:
                raise ConfigError(
                    f"{self._work} has lost its lease to {_process(other)}: this process was paused, or Redis"
                    f" was unavailable, for more than {_LEASE_MS // 1000} s; the other one does the rest"
                )

    async def _claim(self) -> str:
        """Take or renew the lease; return what another holder has written there, nothing if it is ours."""
        call = ScriptCall([self._key], [self._holder, self._renewals, _LEASE_MS])
        (other,) = await self._client.run(_TAKE, [call])
        return (other or b"").decode("utf-8", "replace")


def _process(value: str) -> str:
    return " ".join(value.split(" ")[:4])
