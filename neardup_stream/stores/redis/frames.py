"""Store frame tables in Redis: one string a site, of at most some 5 KB by default."""

from collections.abc import Sequence
from typing import Any, Final

from neardup_stream.chunks import in_chunks
from neardup_stream.stores.frame_store import FrameChange
from neardup_stream.stores.redis.client import RedisClient, Script, ScriptCall
from neardup_stream.stores.redis.keys import Keys

__all__ = ["TABLES_PER_CALL", "RedisFrames"]

_FETCH = Script.load("fetch_frames")
_REPLACE = Script.load("replace_frames")

_KEPT_SECONDS: Final = 90 * 86_400
"""A site of which no page was learned for so long is forgotten; its next pages teach its frame anew."""

TABLES_PER_CALL: Final = 100
"""One script call copies some 500 KB of usual tables."""


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
        by_shard: dict[int, list[int]] = {}
        for i, site in enumerate(sites):
            shard = self._keys.shard_of_handle(site) if self._client.is_cluster else 0
            by_shard.setdefault(shard, []).append(i)
        parts = [part for rows in by_shard.values() for part in in_chunks(rows, TABLES_PER_CALL)]
        calls = [
            ScriptCall(
                [self._keys.frame_table(sites[i]) for i in part],
                (*first, *(argument for i in part for argument in arguments[i])),
            )
            for part in parts
        ]
        answers: list[Any] = [None] * len(sites)
        for part, answer in zip(parts, await self._client.run(script, calls), strict=True):
            for i, value in zip(part, answer, strict=True):
                answers[i] = value
        return answers
