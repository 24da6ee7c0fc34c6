"""Store clusters in Redis: small hashes and sorted sets that stay packed, changed by one short script.

The members of many clusters share one sorted set, ordered by their bytes: cluster key, rank, handle, all
big-endian. So a cluster costs no key of its own, and its members come in order of rank.
"""

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence

from neardup_stream.chunks import in_chunks
from neardup_stream.message import Partition
from neardup_stream.page import Handle
from neardup_stream.stores.aged_parts import pack_aged, unpack_aged
from neardup_stream.stores.cluster_cells import page_address
from neardup_stream.stores.cluster_store import (
    ABSORBED,
    AHEAD_SECONDS,
    BLOCK_BYTES,
    BLOCK_OFFSETS,
    DECIDED,
    RANK_BYTES,
    SWEPT,
    Aged,
    CellAddress,
    Member,
    MemberRange,
    Transaction,
    WalkedBlocks,
    WalkedClusters,
    partition_name,
    rows_table,
)
from neardup_stream.stores.ranks_went_back import RanksWentBack
from neardup_stream.stores.redis.client import RedisClient, Script, ScriptCall
from neardup_stream.stores.redis.keys import ClusterKeys
from neardup_stream.stores.redis.walking import WalkWidth, walk_hashes

__all__ = ["RedisClusters"]

_VALUE_BYTES = 1 << 19

_READ = Script.load("read_clusters", VALUE_BYTES=str(_VALUE_BYTES))
_COMMIT = Script.load("commit_clusters", BLOCK_BYTES=str(BLOCK_BYTES))
_AGE = Script.load("age_clusters")
_TRIM = Script.load("trim_clusters")
_DUE = Script.load("due_clusters", AHEAD_SECONDS=str(AHEAD_SECONDS))
_SWEEP = Script.load("sweep_clusters")
_TAKE_TURN = Script.load("take_turn")

_KEY_AND_LENGTH = struct.Struct(">IH").pack
_LENGTH = struct.Struct(">I").pack

_Item = tuple[str, bytes, bytes]
"""Key, field and value: what most lists of a script are made of."""

_Swap = tuple[str, bytes, bytes, bytes]
"""The same with two values."""

_CLUSTER_BYTES = 12
_RANK_END = _CLUSTER_BYTES + RANK_BYTES
_HANDLE_END = _RANK_END + 8
_FOUNDED_BYTES = 4

_ABSORBED_AT_ONCE = 16
"""About so many keys are looked at together."""

_PARTITIONS_AT_ONCE = 1000

CELLS_PER_CALL = 1000
"""Cells that one call reads: some 1 ms."""

MEMBERS_PER_CALL = 2000
"""Members that one call reads: some 1 ms."""


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
        self._walk_width = WalkWidth()
        self._absorbed_cursor = 0

    async def read(
        self, addresses: Sequence[CellAddress], ranges: Sequence[MemberRange] = ()
    ) -> tuple[list[bytes | None], list[list[Member]]]:
        """See the contract."""
        asked = list(in_chunks(addresses, CELLS_PER_CALL))
        calls = [self._read_call(some, ()) for some in asked]
        calls += [self._read_call((), some) for some in _bounded(ranges)]
        answers = await self._client.run(_READ, calls) if calls else []
        values: list[bytes | None] = []
        for some, (some_values, _) in zip(asked, answers, strict=False):
            values += await self._whole(some, some_values)
        lists = [[_member(packed) for packed in members] for _, some in answers for members in some]
        return values, lists

    async def _whole(
        self, addresses: Sequence[CellAddress], values: list[bytes | None]
    ) -> list[bytes | None]:
        """Return the values of all cells, given those of the first ones: a call returns bounded bytes."""
        while len(values) < len(addresses):
            ((more, _),) = await self._client.run(_READ, [self._read_call(addresses[len(values) :], ())])
            values = [*values, *more]
        return values

    def _read_call(self, addresses: Sequence[CellAddress], ranges: Sequence[MemberRange]) -> ScriptCall:
        items = _Items()
        asked = items.packed((self._keys.of(address), address.field, b"") for address in addresses)
        wanted = items.packed(
            (
                self._keys.members(cluster),
                cluster if after is None else cluster + _packed(after),
                b"%d" % limit,
            )
            for cluster, limit, after in ranges
        )
        return ScriptCall(items.keys, (asked, wanted))

    async def commit(self, transaction: Transaction) -> int | None:
        """See the contract."""
        items = _Items(self._keys.ranks, self._keys.turn)
        expected, writes = transaction.expected, transaction.writes
        args = (
            items.packed(self._limits(transaction)),
            items.packed(
                self._cells({address: expected[address] for address in expected if address not in writes})
            ),
            items.packed(self._cells(transaction.begins)),
            items.packed_swaps(self._swaps(transaction)),
            items.packed_swaps(
                (self._keys.of(address), address.field, value, b"%d" % added)
                for address, (value, added) in transaction.counted.items()
            ),
            items.packed(self._new(transaction)),
            items.packed(
                self._cells({address: writes[address] for address in writes if address not in expected})
            ),
            items.packed(
                (self._keys.of(address), address.field, part) for address, part in transaction.appended
            ),
            items.packed(self._members(transaction.left)),
            items.packed(self._members(transaction.joined)),
            transaction.rank_count,
            transaction.turn,
            transaction.known_ranks,
        )
        base: int | None
        (base,) = await self._client.run(_COMMIT, [ScriptCall(items.keys, args)])
        if base is not None and base < 0:
            raise RanksWentBack(-1 - base)
        return base

    async def take_turn(self, token: bytes, seconds: float) -> bool:
        """See the contract."""
        call = ScriptCall([self._keys.turn], [token, round(seconds * 1000)])
        (is_ours,) = await self._client.run(_TAKE_TURN, [call])
        return bool(is_ours)

    async def absorbed(self) -> list[bytes]:
        """See the contract."""
        key = self._keys.of(CellAddress(ABSORBED, b""))
        # From where the last call ended: what it found is mostly gone, and its buckets are empty.
        first = cursor = self._absorbed_cursor
        while True:
            following, found = await self._client.execute("HSCAN", key, cursor, "COUNT", _ABSORBED_AT_ONCE)
            cursor = int(following)
            if found or not (first or cursor):
                self._absorbed_cursor = cursor
                return list(found)
            first = first if cursor else 0

    async def partitions(self) -> list[bytes]:
        """See the contract."""
        key, found, cursor = self._keys.of(CellAddress(DECIDED, b"")), set(), 0
        while True:
            cursor, fields = await self._client.execute("HSCAN", key, cursor, "COUNT", _PARTITIONS_AT_ONCE)
            found.update(fields)
            cursor = int(cursor)
            if not cursor:
                return list(found)

    async def blocks(self, partition: Partition, cursor: int = 0) -> WalkedBlocks:
        """See the contract."""
        key = self._keys.of(CellAddress(rows_table(partition), b""))
        following, found = await self._client.execute("HSCAN", key, cursor, "COUNT", 1)
        return WalkedBlocks(found, int(following))

    async def age(self, cells: Sequence[Aged]) -> None:
        """See the contract."""
        keys = [self._keys.trimmed, self._keys.aging]
        calls = [ScriptCall(keys, list(map(pack_aged, some))) for some in in_chunks(cells, CELLS_PER_CALL)]
        await self._client.run(_AGE, calls)

    async def trim(
        self,
        partition: Partition,
        offset: int,
        cursor: int = 0,
        expected: Mapping[CellAddress, bytes] | None = None,
    ) -> int | None:
        """See the contract."""
        required = expected or {}
        addresses = (CellAddress(rows_table(partition), b""), CellAddress(DECIDED, b""), *required)
        keys = [self._keys.trimmed, self._keys.aging, *map(self._keys.of, addresses)]
        # One more than that of the scan: which is 0 at its beginning, to which a call may return.
        args: list[bytes | str | int] = [
            partition_name(partition),
            offset,
            max(cursor - 1, 0),
            BLOCK_OFFSETS,
        ]
        for address, value in required.items():
            args += [address.field, value]
        (answer,) = await self._client.run(_TRIM, [ScriptCall(keys, args)])
        if answer is None:
            return None
        scanned, is_left = answer
        return int(scanned) + 1 if is_left or int(scanned) else 0

    async def due(self, tombstone_ttl_seconds: float, limit: int) -> list[Aged]:
        """See the contract."""
        call = ScriptCall([self._keys.aging], [str(tombstone_ttl_seconds), limit])
        (due,) = await self._client.run(_DUE, [call])
        return [aged for group in due for aged in unpack_aged(group)]

    async def sweep(self, due: Sequence[Aged]) -> None:
        """See the contract."""
        addresses = [page_address(aged.handle) for aged in due]
        keys = [self._keys.trimmed, self._keys.aging, *map(self._keys.of, addresses)]
        await self._client.run(
            _SWEEP, [ScriptCall(keys, [b"".join(_aged(aged.rank, aged.handle) for aged in due)])]
        )

    async def walk(self, slot: int) -> WalkedClusters:
        """See the contract."""
        slots = range(slot, min(slot + self._walk_width.slots, self.slot_count))
        walked = await walk_hashes(self._client, self._keys.clusters(slots))
        self._walk_width.learn(len(slots), walked.read_count)
        return WalkedClusters(walked.fields, slot + walked.read_count)

    def _limits(self, transaction: Transaction) -> Iterator[_Item]:
        for partition, offset in transaction.floors.items():
            yield self._keys.trimmed, partition_name(partition), b"%d" % offset
        if transaction.aged_count is not None:
            yield self._keys.trimmed, SWEPT.field, b"%d" % transaction.aged_count

    def _cells(self, cells: Mapping[CellAddress, bytes | None]) -> Iterator[_Item]:
        return ((self._keys.of(address), address.field, value or b"") for address, value in cells.items())

    def _swaps(self, transaction: Transaction) -> Iterator[_Swap]:
        """Yield what is written where a value is expected: key, field, the old value and the new one."""
        expected = transaction.expected
        for address, value in transaction.writes.items():
            if address in expected and not _is_new(expected[address], value):
                yield self._keys.of(address), address.field, expected[address] or b"", value or b""

    def _new(self, transaction: Transaction) -> Iterator[_Item]:
        """Yield what is written where nothing may be stored."""
        expected = transaction.expected
        for address, value in transaction.writes.items():
            if value is not None and address in expected and _is_new(expected[address], value):
                yield self._keys.of(address), address.field, value
        for address, value in transaction.new:
            yield self._keys.of(address), address.field, value

    def _members(self, members: Iterable[Member]) -> Iterator[_Item]:
        return (
            (self._keys.members(member.cluster), member.cluster + _packed(member), b"") for member in members
        )


class _Items:
    """The keys of one call, each once, and the arguments that name them by number, as scripts count them.

    A key and two arguments of its own for each cell would cost the client four times as much.
    """

    def __init__(self, *keys: str) -> None:
        self._numbers = {key: number for number, key in enumerate(keys, start=1)}

    @property
    def keys(self) -> list[str]:
        """In order of their numbers."""
        return list(self._numbers)

    def packed(self, items: Iterable[_Item]) -> bytes:
        """Return one argument with many items."""
        numbers = self._numbers
        pieces: list[bytes] = []
        for key, field, value in items:
            number = numbers.setdefault(key, len(numbers) + 1)
            pieces += (_KEY_AND_LENGTH(number, len(field)), field, _LENGTH(len(value)), value)
        return b"".join(pieces)

    def packed_swaps(self, items: Iterable[_Swap]) -> bytes:
        """Do the same for items with two values."""
        numbers = self._numbers
        pieces: list[bytes] = []
        for key, field, old, new in items:
            number = numbers.setdefault(key, len(numbers) + 1)
            pieces += (_KEY_AND_LENGTH(number, len(field)), field, _LENGTH(len(old)), old)
            pieces += (_LENGTH(len(new)), new)
        return b"".join(pieces)


def _is_new(expected: bytes | None, value: bytes | None) -> bool:
    return expected is None and value is not None


def _bounded(ranges: Sequence[MemberRange]) -> Iterator[list[MemberRange]]:
    """Yield all ranges in order, those of one call with at most `MEMBERS_PER_CALL`, or a single one."""
    some: list[MemberRange] = []
    for wanted in ranges:
        if some and sum(each.limit for each in some) + wanted.limit > MEMBERS_PER_CALL:
            yield some
            some = []
        some.append(wanted)
    if some:
        yield some


def _aged(rank: int, handle: Handle) -> bytes:
    return rank.to_bytes(RANK_BYTES, "big") + handle.to_bytes(8, "big")


def _packed(member: Member) -> bytes:
    """Return a member behind the key of its set."""
    founded = member.founded.to_bytes(_FOUNDED_BYTES, "big") if member.founded else b""
    return _aged(member.rank, member.handle) + founded


def _member(packed: bytes) -> Member:
    return Member(
        packed[:_CLUSTER_BYTES],
        int.from_bytes(packed[_CLUSTER_BYTES:_RANK_END], "big"),
        Handle(int.from_bytes(packed[_RANK_END:_HANDLE_END], "big")),
        int.from_bytes(packed[_HANDLE_END:], "big"),
    )
