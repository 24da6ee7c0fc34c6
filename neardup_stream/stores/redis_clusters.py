"""Clusters in Redis: small hashes and sorted sets that stay packed, changed by one short script.

The members of many clusters share one sorted set, ordered by their bytes: cluster key, rank, handle, all
big-endian. So a cluster costs no key of its own, and its members come in order of rank.
"""

from collections.abc import Mapping, Sequence

from neardup_stream.message import Partition
from neardup_stream.page import Handle
from neardup_stream.stores.cluster_keys import ClusterKeys
from neardup_stream.stores.cluster_store import (
    PAGES,
    RANK_BYTES,
    Aged,
    Cell,
    Member,
    MemberRange,
    Transaction,
    partition_name,
    rows_table,
)
from neardup_stream.stores.redis_client import RedisClient, Script, ScriptCall

__all__ = ["RedisClusters"]

_READ = Script.load("read_clusters")
_COMMIT = Script.load("commit_clusters")
_TRIM = Script.load("trim_clusters")
_SWEEP = Script.load("sweep_clusters")

_CLUSTER_BYTES = 12
_RANK_END = _CLUSTER_BYTES + RANK_BYTES


class RedisClusters:
    """A ClusterStore over Redis.

    Args:
        client: reaches the server or cluster; opened and closed by its owner.
        keys: names the hashes and sets.
    """

    def __init__(self, client: RedisClient, keys: ClusterKeys) -> None:
        self._client = client
        self._keys = keys
        self.slot_count = keys.slot_count

    async def read(
        self, cells: Sequence[Cell], ranges: Sequence[MemberRange] = ()
    ) -> tuple[list[bytes | None], list[list[Member]]]:
        """See the contract."""
        if not cells and not ranges:
            return [], []
        keys = [self._keys.of(cell) for cell in cells]
        keys += [self._keys.members(asked.cluster) for asked in ranges]
        args: list[bytes | int] = [len(cells), *(cell.field for cell in cells)]
        for cluster, limit in ranges:
            args += [cluster, -1 if limit is None else limit]
        values, lists = (await self._client.run(_READ, [ScriptCall(keys, args)]))[0]
        return values, [[_member(packed) for packed in members] for members in lists]

    async def commit(self, transaction: Transaction) -> int | None:
        """See the contract."""
        keys = [self._keys.ranks, self._keys.trimmed, self._keys.aging]
        args: list[bytes | int] = [
            len(transaction.floors),
            len(transaction.expected),
            len(transaction.writes),
            len(transaction.left),
            len(transaction.joined),
            len(transaction.aging),
            transaction.rank_count,
        ]
        for partition, offset in transaction.floors.items():
            args += [partition_name(partition), offset]
        for cells in (transaction.expected, transaction.writes):
            keys += map(self._keys.of, cells)
            for cell, value in cells.items():
                args += [cell.field, value or b""]
        for member in (*transaction.left, *transaction.joined):
            keys.append(self._keys.members(member.cluster))
            args.append(member.cluster + _aged(member.rank, member.handle))
        args += [_aged(*aged) for aged in transaction.aging]
        base: int | None = (await self._client.run(_COMMIT, [ScriptCall(keys, args)]))[0]
        return base

    async def trim(
        self, offsets: Mapping[Partition, int], grave_seconds: float, due_limit: int
    ) -> list[Aged]:
        """See the contract."""
        keys = [self._keys.trimmed, self._keys.aging]
        args: list[bytes | str | int] = [str(grave_seconds), due_limit]
        for partition, offset in offsets.items():
            keys.append(self._keys.of(Cell(rows_table(partition), b"")))
            args += [partition_name(partition), offset]
        (due,) = await self._client.run(_TRIM, [ScriptCall(keys, args)])
        return [
            Aged(
                int.from_bytes(packed[:RANK_BYTES], "big"),
                Handle(int.from_bytes(packed[RANK_BYTES:], "big")),
            )
            for packed in due
        ]

    async def sweep(self, due: Sequence[Aged]) -> None:
        """See the contract."""
        cells = [Cell(PAGES, aged.handle.to_bytes(8, "big")) for aged in due]
        keys = [self._keys.aging, *map(self._keys.of, cells)]
        await self._client.run(_SWEEP, [ScriptCall(keys, [_aged(*aged) for aged in due])])

    async def walk(self, slot: int) -> list[tuple[bytes, bytes]]:
        """See the contract."""
        found = await self._client.execute("HGETALL", self._keys.clusters(slot))
        return list(found.items())


def _aged(rank: int, handle: Handle) -> bytes:
    return rank.to_bytes(RANK_BYTES, "big") + handle.to_bytes(8, "big")


def _member(packed: bytes) -> Member:
    return Member(
        packed[:_CLUSTER_BYTES],
        int.from_bytes(packed[_CLUSTER_BYTES:_RANK_END], "big"),
        Handle(int.from_bytes(packed[_RANK_END:], "big")),
    )
