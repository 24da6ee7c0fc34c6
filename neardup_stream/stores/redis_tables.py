"""The permuted tables in Redis: one sorted set per table, leading byte and bucket."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from neardup_stream.stores.keys import Keys
from neardup_stream.stores.protocol import ProbeAnswer, TableEntries
from neardup_stream.stores.redis_client import RedisClient, Script, ScriptCall

__all__ = ["RedisTables"]

ENTRIES_PER_CALL = 800
"""One script call holds its server for about 5 ms at most: 5 to 6 µs an entry were measured."""

_ONES = "".join(f"\\{value.bit_count()}" for value in range(256))
_SCRIPT = Script.load("probe_insert", ONES=_ONES)

_FOUND = np.dtype([("row", ">u4"), ("handle", ">u8"), ("version_byte", "u1"), ("distance_bits", "u1")])


class RedisTables:
    """A TableStore over Redis.

    Args:
        client: reaches the server or cluster; opened and closed by its owner.
        keys: names the sorted sets.
    """

    def __init__(self, client: RedisClient, keys: Keys) -> None:
        self._client = client
        self._keys = keys

    async def probe_and_insert(
        self, entries: TableEntries, distance_bits: int, bucket_cap: int
    ) -> ProbeAnswer:
        """See the contract; one script call per 800 entries, in a cluster one per shard."""
        return await self._run(entries, distance_bits, bucket_cap, insert=True)

    async def probe(self, entries: TableEntries, distance_bits: int, bucket_cap: int) -> ProbeAnswer:
        """See the contract."""
        return await self._run(entries, distance_bits, bucket_cap, insert=False)

    async def _run(
        self, entries: TableEntries, distance_bits: int, bucket_cap: int, *, insert: bool
    ) -> ProbeAnswer:
        names = self._names(entries)
        packed = _pack(entries)
        fixed = (entries.rests.shape[1], distance_bits, bucket_cap, int(insert))
        calls = [
            ScriptCall([names[i] for i in part], (*fixed, packed[part].tobytes()))
            for part in self._parts(entries)
        ]
        answers = await self._client.run(_SCRIPT, calls)
        found = np.frombuffer(b"".join(answer[0] for answer in answers), dtype=_FOUND)
        return ProbeAnswer(
            rows=found["row"].astype(np.uint32),
            handles=found["handle"].astype(np.uint64),
            version_bytes=found["version_byte"],
            distances_bits=found["distance_bits"],
            bucket_cap_hits=sum(answer[1] for answer in answers),
        )

    def _names(self, entries: TableEntries) -> list[str]:
        coordinates = zip(
            entries.tables.tolist(), entries.leading_bytes.tolist(), entries.buckets.tolist(), strict=True
        )
        return [self._keys.bucket(table, leading, bucket) for table, leading, bucket in coordinates]

    def _parts(self, entries: TableEntries) -> Iterator[NDArray[np.intp]]:
        """Which entries travel together: runs on one server, shards in a cluster; order kept within each."""
        if not self._client.is_cluster:
            whole = np.arange(len(entries.rows))
            yield from (whole[at : at + ENTRIES_PER_CALL] for at in range(0, len(whole), ENTRIES_PER_CALL))
            return
        shards = entries.leading_bytes >> np.uint8(8 - (self._keys.shard_count.bit_length() - 1))
        yield from (np.flatnonzero(shards == shard) for shard in np.unique(shards))


def _pack(entries: TableEntries) -> NDArray[np.uint8]:
    """The entries as rows of bytes, as the script reads them."""
    count = len(entries.rows)
    return np.concatenate(
        [
            entries.lows,
            entries.highs,
            entries.rests,
            entries.handles.astype(">u8").view(np.uint8).reshape(count, 8),
            entries.version_bytes.reshape(count, 1),
            entries.rows.astype(">u4").view(np.uint8).reshape(count, 4),
        ],
        axis=1,
    )
