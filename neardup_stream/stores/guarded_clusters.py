"""A store of clusters that notices when it lost what was decided, before anything is written.

An index has a token, made at its creation and kept in a cell beside the clusters. Every read looks at it and
every commit expects it, so a daemon whose index was emptied, or replaced by another one, writes nothing more.

Offsets below which rows lie (`DECIDED`) only rise. Where one is lower than this process has seen it, the
store went back to an earlier state: an older copy was restored, or a replica took over that had not all
writes. The token is then overwritten, so that every daemon stops.
"""

from collections.abc import Iterable, Mapping, Sequence

from neardup_stream.errors import StoreUnavailable
from neardup_stream.message import Partition
from neardup_stream.stores.cluster_store import (
    DECIDED,
    RANK_BYTES,
    Aged,
    Cell,
    ClusterStore,
    Member,
    MemberRange,
    Transaction,
    WalkedClusters,
)

__all__ = ["INDEX", "GuardedClusters", "IndexLost", "create_index"]

INDEX = Cell("index", b"token")
"""Holds the token of the index, behind an empty rank."""

_EMPTY = bytes(RANK_BYTES)
_LOST = _EMPTY + b"lost"


REMEDY = "stop all daemons and run 'neardup-stream recover', which restores the index from the topics"
"""What to do where the index does not know what was decided."""


class IndexLost(StoreUnavailable):
    """The index lost what was decided: nothing may be written until it is recovered.

    Args:
        detail: what was found.
    """

    def __init__(self, detail: str) -> None:
        super().__init__(f"Redis: {detail}; {REMEDY}", "index_lost")


async def create_index(store: ClusterStore, token: str) -> None:
    """Give an index its token, if it has none yet. Safe to repeat."""
    writes = {INDEX: _EMPTY + token.encode()}
    await store.commit(Transaction(floors={}, expected={INDEX: None}, writes=writes))


class GuardedClusters:
    """A ClusterStore over another one; each method raises IndexLost where that lost what was decided.

    Args:
        store: keeps everything.
        token: of the index that it is to hold.

    Cost: one cell more in each read and commit, one round trip more for each trim, age, sweep and turn.
    """

    def __init__(self, store: ClusterStore, token: str) -> None:
        self._store = store
        self._token = token
        self._expected = _EMPTY + token.encode()
        self._ceilings: dict[bytes, int] = {}
        self.slot_count = store.slot_count

    async def read(
        self, cells: Sequence[Cell], ranges: Sequence[MemberRange] = ()
    ) -> tuple[list[bytes | None], list[list[Member]]]:
        """See the contract."""
        if not cells and not ranges:
            return [], []
        known = {cell.field: self._ceilings.get(cell.field, 0) for cell in cells if cell.table == DECIDED}
        (*values, found), members = await self._store.read([*cells, INDEX], ranges)
        self._check_token(found)
        if known:
            await self._check_ceilings(known, _ceilings(zip(cells, values, strict=True)))
        return values, members

    async def commit(self, transaction: Transaction) -> int | None:
        """See the contract. A token that was lost since the last read looks like a conflict."""
        expected = {**transaction.expected, INDEX: self._expected}
        base = await self._store.commit(transaction._replace(expected=expected))
        if base is not None:
            self._raise(_ceilings(transaction.writes.items()))
        return base

    async def take_turn(self, token: bytes, seconds: float) -> bool:
        """See the contract."""
        await self.check()
        return await self._store.take_turn(token, seconds)

    async def absorbed(self) -> list[bytes]:
        """See the contract."""
        return await self._store.absorbed()

    async def partitions(self) -> list[bytes]:
        """See the contract."""
        return await self._store.partitions()

    async def age(self, cells: Sequence[Aged]) -> None:
        """See the contract."""
        await self.check()
        await self._store.age(cells)

    async def trim(self, partition: Partition, offset: int, cursor: int = 0) -> int:
        """See the contract."""
        if not cursor:
            await self.check()
        return await self._store.trim(partition, offset, cursor)

    async def due(self, tombstone_ttl_seconds: float, limit: int) -> list[Aged]:
        """See the contract."""
        return await self._store.due(tombstone_ttl_seconds, limit)

    async def sweep(self, due: Sequence[Aged]) -> None:
        """See the contract."""
        await self.check()
        await self._store.sweep(due)

    async def walk(self, slot: int) -> WalkedClusters:
        """See the contract."""
        return await self._store.walk(slot)

    async def check(self) -> None:
        """Return if the index is still there.

        Raises:
            IndexLost: it is not.
        """
        ((found,), _) = await self._store.read([INDEX])
        self._check_token(found)

    def _check_token(self, found: bytes | None) -> None:
        if found == self._expected:
            return
        if found is None:
            raise IndexLost(f"index {self._token} is not there any more")
        if found == _LOST:
            raise IndexLost(f"index {self._token} went back to an earlier state")
        other = found[RANK_BYTES:].decode(errors="replace")
        raise IndexLost(f"index {self._token} is not there any more, and index {other} is in its place")

    async def _check_ceilings(self, known: Mapping[bytes, int], found: Mapping[bytes, int]) -> None:
        """What is read is no older than what was known when the read was sent; others commit meanwhile."""
        for name, ceiling in found.items():
            if ceiling < known[name]:
                await self._store.commit(
                    Transaction(floors={}, expected={INDEX: self._expected}, writes={INDEX: _LOST})
                )
                raise IndexLost(
                    f"index {self._token} went back to an earlier state: of {name.decode()} it knows what was"
                    f" decided below {ceiling}, and it knew of all below {known[name]}"
                )
        self._raise(found)

    def _raise(self, ceilings: Mapping[bytes, int]) -> None:
        for name, ceiling in ceilings.items():
            self._ceilings[name] = max(ceiling, self._ceilings.get(name, 0))


def _ceilings(cells: Iterable[tuple[Cell, bytes | None]]) -> Mapping[bytes, int]:
    """By partition, the offset below which its rows lie."""
    return {
        cell.field: int(value[RANK_BYTES:]) if value else 0 for cell, value in cells if cell.table == DECIDED
    }
