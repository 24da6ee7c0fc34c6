"""Page records in Redis: small hashes that stay packed, about 64 records each."""

from collections.abc import Sequence

import numpy as np

from neardup_stream.page import Handle
from neardup_stream.stores.keys import Keys
from neardup_stream.stores.protocol import RecordChange
from neardup_stream.stores.redis_client import RedisClient, Script, ScriptCall

__all__ = ["RedisRecords"]

_FETCH = Script.load("fetch_records")
_REPLACE = Script.load("replace_records")


class RedisRecords:
    """A RecordStore over Redis.

    Args:
        client: reaches the server or cluster; opened and closed by its owner.
        keys: names the hashes.
    """

    def __init__(self, client: RedisClient, keys: Keys) -> None:
        self._client = client
        self._keys = keys

    async def fetch(self, handles: Sequence[Handle]) -> list[bytes | None]:
        """See the contract."""
        parts = self._parts(handles)
        calls = [self._call([handles[i] for i in part]) for part in parts]
        return _in_order(parts, await self._client.run(_FETCH, calls), len(handles))

    async def replace(self, changes: Sequence[RecordChange]) -> list[bytes | None]:
        """See the contract."""
        parts = self._parts([change.handle for change in changes])
        calls = []
        for part in parts:
            call = self._call([changes[i].handle for i in part])
            values = [value for i in part for value in (changes[i].expected or b"", changes[i].new)]
            calls.append(ScriptCall(call.keys, (*call.args, *values)))
        stored = _in_order(parts, await self._client.run(_REPLACE, calls), len(changes))
        return [
            change.new if value is None else value or None
            for change, value in zip(changes, stored, strict=True)
        ]

    def _call(self, handles: Sequence[Handle]) -> ScriptCall:
        keys = [self._keys.record(handle) for handle in handles]
        return ScriptCall(keys, (np.array(handles, dtype=">u8").tobytes(),))

    def _parts(self, handles: Sequence[Handle]) -> list[list[int]]:
        """Which rows travel together: all on one server, by shard in a cluster."""
        if not self._client.is_cluster:
            return [list(range(len(handles)))] if handles else []
        by_shard: dict[int, list[int]] = {}
        for i, handle in enumerate(handles):
            by_shard.setdefault(self._keys.shard_of_handle(handle), []).append(i)
        return list(by_shard.values())


def _in_order(
    parts: Sequence[Sequence[int]], answers: Sequence[Sequence[bytes | None]], count: int
) -> list[bytes | None]:
    values: list[bytes | None] = [None] * count
    for part, answer in zip(parts, answers, strict=True):
        for i, value in zip(part, answer, strict=True):
            values[i] = value
    return values
