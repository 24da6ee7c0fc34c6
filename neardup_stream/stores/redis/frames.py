"""Store frame tables in Redis: one string a site, of some 7 KB by default, and at most 40."""

from collections.abc import Sequence
from typing import Any, Final

from neardup_stream.stores.frame_store import FrameChange
from neardup_stream.stores.redis.by_handle import run_by_handle
from neardup_stream.stores.redis.client import RedisClient, Script, ScriptCall
from neardup_stream.stores.redis.keys import Keys

__all__ = ["TABLES_PER_CALL", "RedisFrames"]

_FETCH = Script.load("fetch_frames")
_REPLACE = Script.load("replace_frames")

_KEPT_SECONDS: Final = 90 * 86_400
"""A site of which no page was learned for so long is forgotten; its next pages teach its frame anew."""

TABLES_PER_CALL: Final = 100
"""One script call copies some 700 KB of usual tables, and 4 MB of the largest by default."""


class RedisFrames:
    """A FrameStore over Redis.

    Args:
        client: reaches the server or cluster; opened and closed by its owner.
        keys: names the tables.
    """

    def __init__(self, client: RedisClient, keys: Keys) -> None:
        self._client = client
        self._keys = keys

    async def fetch(self, sites: Sequence[int]) -> list[bytes | None]:
        """See the contract."""
        return await self._run(_FETCH, sites, [()] * len(sites), ())

    async def replace(self, changes: Sequence[FrameChange]) -> list[bytes | None]:
        """See the contract."""
        return await self._run(
            _REPLACE,
            [change.site for change in changes],
            [(change.expected, change.new) for change in changes],
            (_KEPT_SECONDS,),
        )

    async def remove(self, site: int) -> bool:
        """See the contract."""
        return bool(await self._client.execute("DEL", self._keys.frame_table(site)))

    async def _run(
        self,
        script: Script,
        sites: Sequence[int],
        arguments: Sequence[tuple[bytes, ...]],
        first: tuple[int, ...],
    ) -> list[Any]:
        """Run a script for each site; return the answers in order."""

        def call_for(part: list[int]) -> ScriptCall:
            return ScriptCall(
                [self._keys.frame_table(sites[i]) for i in part],
                (*first, *(argument for i in part for argument in arguments[i])),
            )

        return await run_by_handle(self._client, self._keys, script, sites, TABLES_PER_CALL, call_for)
