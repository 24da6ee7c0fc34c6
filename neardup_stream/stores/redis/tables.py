"""Store the tables in Redis: a sorted set per table, leading byte and bucket; of a table of words a hash."""

from collections.abc import Sequence
from contextlib import suppress
from itertools import product, repeat

import numpy as np
from numpy.typing import NDArray

from neardup_stream.chunks import in_chunks
from neardup_stream.errors import ConfigError
from neardup_stream.stores.protocol import (
    WORD_TURNOVER,
    ProbeAnswer,
    ProbeLimits,
    TableEntries,
    TableMembers,
)
from neardup_stream.stores.redis.call_sizes import CallSize
from neardup_stream.stores.redis.client import RedisClient, Script, ScriptCall
from neardup_stream.stores.redis.keys import Keys
from neardup_stream.stores.redis.lanes import Lane, Rows, portions

__all__ = ["RedisTables", "remove_named_buckets", "remove_tables"]

ENTRIES_PER_CALL = 400
"""One script call holds its server for some 2 ms: 4 to 6 µs an entry were measured."""

WORK_PER_CALL = 2000
"""Members that one script call reads, an entry for some: a call that meets larger buckets does fewer entries,
so that it takes 3 ms at most."""

REMOVED_PER_CALL = 200
"""Members that one script call removes: 8 µs each where words are full."""

BUCKETS_PER_CALL = 64
"""Of a layout that one script call removes: a bucket is one packed value, or some hundred members."""

_CALLS_AT_ONCE = 16

_ONES = "".join(f"\\{value.bit_count()}" for value in range(256))
_PROBE = Script.load("probe_insert", ONES=_ONES, TURNOVER=str(WORD_TURNOVER), WORK=str(WORK_PER_CALL))
_REMOVE = Script.load("remove_members")
_REMOVE_BUCKETS = Script.load("remove_buckets")

_MEMBER = [("suffix", ">u8"), ("handle", ">u8"), ("version_byte", "u1")]
_ENTRY = np.dtype([("suffix_bytes", "u1"), ("word", ">u2"), ("handle", ">u8"), ("version_byte", "u1")])
_BOUNDS = np.dtype(
    [("before_low", "u1"), ("low", ">u8"), ("before_high", "u1"), ("high", ">u8"), ("above", "V9"), *_MEMBER]
)
_HIGH_AT, _ABOVE_AT, _MEMBER_AT = 9, 18, 27
"""Where these begin in the bytes of bounds."""
_REMOVED = np.dtype([("suffix_bytes", "u1"), *_MEMBER])
_FOUND = np.dtype([("entry", ">u4"), *_MEMBER])

_Answer = tuple[bytes, bytes, int, int, int]
"""As `probe_insert` returns it."""


class RedisTables:
    """A TableStore over Redis.

    Args:
        client: reaches the server or cluster; opened and closed by its owner.
        keys: names the buckets.
    """

    def __init__(self, client: RedisClient, keys: Keys) -> None:
        self._client = client
        self._keys = keys
        self._call_size = CallSize(ENTRIES_PER_CALL, WORK_PER_CALL)

    async def probe_and_insert(self, entries: TableEntries, limits: ProbeLimits) -> ProbeAnswer:
        """See the contract.

        Cost: a script call for 400 entries, for fewer where ranges are long (`CallSize`), in a cluster one
        for each shard; all in one round trip, except where some buckets are much larger than others: those
        take a round trip for each `WORK_PER_CALL`, and the calls behind them some more, see `Lane`.
        """
        return await self._probe(entries, limits, insert=True)

    async def probe(self, entries: TableEntries, limits: ProbeLimits) -> ProbeAnswer:
        """See the contract."""
        return await self._probe(entries, limits, insert=False)

    async def remove(self, members: TableMembers) -> None:
        """See the contract."""
        names, packed = self._names(members), _pack_removed(members)
        calls = [
            ScriptCall([names[i] for i in part], (packed[part].tobytes(),))
            for lane in self._lanes(members)
            for part in portions(lane, REMOVED_PER_CALL)
        ]
        await self._client.run(_REMOVE, calls)

    async def _probe(self, entries: TableEntries, limits: ProbeLimits, *, insert: bool) -> ProbeAnswer:
        """Probe all entries, those of each lane in order.

        A call that meets large buckets leaves some of its entries, which are sent again with all behind them.
        """
        members, packed = entries.members, _pack_entries(entries.members)
        is_range = members.suffix_bytes > 0
        bounds, bounds_of = _pack_bounds(entries, is_range), np.cumsum(is_range) - 1
        if not self._client.is_cluster:
            packed = np.hstack(
                [packed, self._keys.packed_buckets(members.tables, members.leading_bytes, members.buckets)]
            )
        stride = packed.shape[1]

        def call(part: Rows) -> ScriptCall:
            """Return the script call; one server takes key names among the entries, a cluster needs keys."""
            named = members.take(part if self._client.is_cluster else part[:1])
            ranges = bounds[bounds_of[part[is_range[part]]]].tobytes()
            arguments = (*limits, int(insert), packed[part].tobytes(), stride, ranges)
            return ScriptCall(self._names(named), arguments)

        done: list[Rows] = []
        answers: list[_Answer] = []
        lanes = [Lane(rows, self._call_size.entries) for rows in self._lanes(entries.members)]
        while lanes:
            sent = [lane.parts() for lane in lanes]
            given = iter(await self._client.run(_PROBE, [call(part) for parts in sent for part in parts]))
            for lane, parts in zip(lanes, sent, strict=True):
                some: list[_Answer] = [next(given) for _ in parts]
                counted = lane.advance([answer[3] for answer in some])
                done += counted
                answers += some[: len(counted)]
            lanes = [lane for lane in lanes if lane]
        self._call_size.observe(sum(answer[3] for answer in answers), sum(answer[4] for answer in answers))
        return _collect(entries.members, done, answers)

    def _names(self, members: TableMembers) -> list[str]:
        return self._keys.buckets(
            members.tables.tolist(), members.leading_bytes.tolist(), members.buckets.tolist()
        )

    def _lanes(self, members: TableMembers) -> list[Rows]:
        """Return which rows are done in order: all on one server, those of each shard in a cluster."""
        if not self._client.is_cluster:
            whole = np.arange(len(members.tables))
            return [whole] if len(whole) else []
        shards = members.leading_bytes >> np.uint8(8 - (self._keys.shard_count.bit_length() - 1))
        return [np.flatnonzero(shards == shard) for shard in np.unique(shards)]


async def remove_tables(client: RedisClient, keys: Keys, bucket_bits: Sequence[int]) -> int:
    """Remove all buckets of some tables.

    Args:
        client: reaches the server or cluster.
        keys: names the buckets.
        bucket_bits: of each table.

    Returns:
        How many buckets there were.

    Cost: all keys of the server are scanned; where those are more, or our user may not (`dbsize`, `scan`), as
    `remove_named_buckets`.
    """
    patterns, possible_count = keys.bucket_patterns, sum(256 << bits for bits in bucket_bits)
    with suppress(ConfigError):
        if len(patterns) * await client.key_count() < possible_count:
            return sum([await client.delete_matching(pattern) for pattern in patterns])
    return await remove_named_buckets(client, keys, bucket_bits)


async def remove_named_buckets(client: RedisClient, keys: Keys, bucket_bits: Sequence[int]) -> int:
    """Do the same by name.

    Cost: every bucket that there may be is named, `BUCKETS_PER_CALL` a call.
    """
    count = 0
    for table, bits in enumerate(bucket_bits):
        for leading_bytes in in_chunks(range(256), 256 // keys.shard_count):
            places = product(leading_bytes, range(1 << bits))
            for some in in_chunks(places, BUCKETS_PER_CALL * _CALLS_AT_ONCE):
                names = keys.buckets(repeat(table, len(some)), *zip(*some, strict=True))
                calls = [ScriptCall(named, ()) for named in in_chunks(names, BUCKETS_PER_CALL)]
                count += sum(await client.run(_REMOVE_BUCKETS, calls))
    return count


def _pack_entries(members: TableMembers) -> NDArray[np.uint8]:
    """Return one row of bytes per entry, as the script reads them."""
    packed = np.empty(len(members.suffixes), dtype=_ENTRY)
    packed["suffix_bytes"] = members.suffix_bytes
    packed["word"] = members.suffixes.astype(np.uint16)
    packed["handle"] = members.handles
    packed["version_byte"] = members.version_bytes
    return packed.view(np.uint8).reshape(len(packed), _ENTRY.itemsize)


def _pack_bounds(entries: TableEntries, is_range: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Return range and member of each entry of a range in bytes, as the script reads them."""
    members = entries.members.take(is_range)
    packed = np.empty(len(members.suffixes), dtype=_BOUNDS)
    packed["low"], packed["high"] = entries.lows[is_range], entries.highs[is_range]
    packed["suffix"], packed["handle"] = members.suffixes, members.handles
    packed["version_byte"] = members.version_bytes
    rows = packed.view(np.uint8).reshape(len(packed), _BOUNDS.itemsize)
    rows[:, _ABOVE_AT:_MEMBER_AT] = 255
    places = np.arange(len(rows)) * _BOUNDS.itemsize + 8 - members.suffix_bytes
    rows.put(places, ord("["))
    rows.put(places + _HIGH_AT, ord("["))
    return rows


def _pack_removed(members: TableMembers) -> NDArray[np.void]:
    packed = np.empty(len(members.suffixes), dtype=_REMOVED)
    packed["suffix_bytes"] = members.suffix_bytes
    packed["suffix"] = members.suffixes
    packed["handle"] = members.handles
    packed["version_byte"] = members.version_bytes
    return packed


def _collect(probing: TableMembers, parts: Sequence[Rows], answers: Sequence[_Answer]) -> ProbeAnswer:
    """Return the answers of all calls as one; each counts its own entries from 0."""
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
            suffixes=members["suffix"].astype(np.uint64),
            handles=members["handle"].astype(np.uint64),
            version_bytes=members["version_byte"],
        ),
        truncated=np.concatenate([none, *truncated]).astype(np.uint32),
        bucket_cap_hits=sum(answer[2] for answer in answers),
    )
