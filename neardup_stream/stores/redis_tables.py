"""The tables in Redis: one sorted set per table, leading byte and bucket; of a table of words, one hash."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from neardup_stream.stores.keys import Keys
from neardup_stream.stores.protocol import (
    WORD_TURNOVER,
    ProbeAnswer,
    ProbeLimits,
    TableEntries,
    TableMembers,
)
from neardup_stream.stores.redis_client import RedisClient, Script, ScriptCall

__all__ = ["RedisTables"]

ENTRIES_PER_CALL = 800
"""One script call holds its server for about 5 ms at most: 4 to 6 µs an entry were measured."""

_ONES = "".join(f"\\{value.bit_count()}" for value in range(256))
_PROBE = Script.load("probe_insert", ONES=_ONES, TURNOVER=str(WORD_TURNOVER))
_REMOVE = Script.load("remove_members")

_MEMBER = [("rest", ">u8"), ("handle", ">u8"), ("version_byte", "u1")]
_ENTRY = np.dtype([("rest_bytes", "u1"), ("low", ">u8"), ("high", ">u8"), *_MEMBER])
_REMOVED = np.dtype([("rest_bytes", "u1"), *_MEMBER])
_FOUND = np.dtype([("entry", ">u4"), *_MEMBER])


class RedisTables:
    """A TableStore over Redis.

    Args:
        client: reaches the server or cluster; opened and closed by its owner.
        keys: names the buckets.
    """

    def __init__(self, client: RedisClient, keys: Keys) -> None:
        self._client = client
        self._keys = keys

    async def probe_and_insert(self, entries: TableEntries, limits: ProbeLimits) -> ProbeAnswer:
        """See the contract; one script call per 800 entries, in a cluster one per shard."""
        return await self._probe(entries, limits, insert=True)

    async def probe(self, entries: TableEntries, limits: ProbeLimits) -> ProbeAnswer:
        """See the contract."""
        return await self._probe(entries, limits, insert=False)

    async def remove(self, members: TableMembers) -> int:
        """See the contract; as many script calls as for a probe."""
        names, packed = self._names(members), _pack_removed(members)
        calls = [
            ScriptCall([names[i] for i in part], (packed[part].tobytes(),)) for part in self._parts(members)
        ]
        return sum(await self._client.run(_REMOVE, calls))

    async def _probe(self, entries: TableEntries, limits: ProbeLimits, *, insert: bool) -> ProbeAnswer:
        names, packed = self._names(entries.members), _pack_entries(entries)
        parts = list(self._parts(entries.members))
        calls = [
            ScriptCall([names[i] for i in part], (*limits, int(insert), packed[part].tobytes()))
            for part in parts
        ]
        answers = await self._client.run(_PROBE, calls)
        return _collect(entries.members, parts, answers)

    def _names(self, members: TableMembers) -> list[str]:
        return self._keys.buckets(
            members.tables.tolist(), members.leading_bytes.tolist(), members.buckets.tolist()
        )

    def _parts(self, members: TableMembers) -> Iterator[NDArray[np.intp]]:
        """Which rows travel together: runs on one server, shards in a cluster; order kept within each."""
        if not self._client.is_cluster:
            whole = np.arange(len(members.tables))
            yield from (whole[at : at + ENTRIES_PER_CALL] for at in range(0, len(whole), ENTRIES_PER_CALL))
            return
        shards = members.leading_bytes >> np.uint8(8 - (self._keys.shard_count.bit_length() - 1))
        yield from (np.flatnonzero(shards == shard) for shard in np.unique(shards))


def _pack_entries(entries: TableEntries) -> NDArray[np.void]:
    """One record per entry, as the script reads them."""
    packed = np.empty(len(entries.rows), dtype=_ENTRY)
    members = entries.members
    packed["low"] = entries.lows
    packed["high"] = entries.highs
    _fill_members(packed, members)
    return packed


def _pack_removed(members: TableMembers) -> NDArray[np.void]:
    packed = np.empty(len(members.rests), dtype=_REMOVED)
    _fill_members(packed, members)
    return packed


def _fill_members(packed: NDArray[np.void], members: TableMembers) -> None:
    packed["rest_bytes"] = members.rest_bytes
    packed["rest"] = members.rests
    packed["handle"] = members.handles
    packed["version_byte"] = members.version_bytes


def _collect(
    probing: TableMembers, parts: list[NDArray[np.intp]], answers: list[tuple[bytes, bytes, int]]
) -> ProbeAnswer:
    """The answers of all calls as one; each counts its own entries from 0."""
    none = np.empty(0, dtype=np.uint32)
    found = [np.frombuffer(answer[0], dtype=_FOUND) for answer in answers]
    entries = [part[each["entry"]] for part, each in zip(parts, found, strict=True)]
    truncated = [
        part[np.frombuffer(answer[1], dtype=">u4")] for part, answer in zip(parts, answers, strict=True)
    ]
    rows = np.concatenate([none, *entries]).astype(np.uint32)
    members = np.concatenate([np.empty(0, dtype=_FOUND), *found])
    return ProbeAnswer(
        entries=rows,
        members=probing.take(rows)._replace(
            rests=members["rest"].astype(np.uint64),
            handles=members["handle"].astype(np.uint64),
            version_bytes=members["version_byte"],
        ),
        truncated=np.concatenate([none, *truncated]).astype(np.uint32),
        bucket_cap_hits=sum(answer[2] for answer in answers),
    )
