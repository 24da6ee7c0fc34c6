"""Guard a store of clusters: notice that it lost decisions before anything rests on it.

An index has a token, made at its creation and kept in a cell beside the clusters. Every read looks at it,
every commit and trim expects it, so a daemon whose index was emptied, or replaced by another one, writes
nothing more.

Offsets below which rows lie (`DECIDED`) only rise, and so do ranks. Where one is lower than this process has
seen it, the store went back to an earlier state: an older copy was restored, or a replica took over that had
not all writes. The token is then overwritten, so that every daemon stops; where that fails, this process
finds the same at its next read or commit. A commit that finds fewer ranks writes nothing.

Behind the token stands the state of the tables' layout, see `table_layouts`. It only advances.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NoReturn

from neardup_stream.errors import StoreUnavailable
from neardup_stream.message import Partition
from neardup_stream.stores.cluster_cells import unpack_ceiling
from neardup_stream.stores.cluster_store import (
    DECIDED,
    RANK_BYTES,
    Aged,
    CellAddress,
    ClusterStore,
    Member,
    MemberRange,
    Transaction,
    WalkedBlocks,
    WalkedClusters,
)
from neardup_stream.stores.ranks_went_back import RanksWentBack
from neardup_stream.stores.table_layouts import LayoutState, TableLayouts

__all__ = ["INDEX", "GuardedClusters", "IndexLost", "change_layout", "create_index", "stored_layout"]

_LOOKED_AT_PARTITIONS = 256
"""Of which `check_state` reads, those decided last: one call stays short."""

INDEX = CellAddress("index", b"token")
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


async def stored_layout(store: ClusterStore, token: str) -> LayoutState:
    """Return the state of the tables' layout; where the token is not stored, that of a new index."""
    ((found,), _) = await store.read([INDEX])
    return _layout_behind(_EMPTY + token.encode(), found) or LayoutState()


async def change_layout(store: ClusterStore, token: str, former: LayoutState, state: LayoutState) -> bool:
    """Change the state of the tables' layout, if it is still the former one; return whether it is changed."""
    stored, new = (_EMPTY + token.encode() + each.pack() for each in (former, state))
    return (
        await store.commit(Transaction(floors={}, expected={INDEX: stored}, writes={INDEX: new})) is not None
    )


class GuardedClusters:
    """A ClusterStore over another one; each method raises IndexLost where that lost what was decided.

    A commit of decisions raises LayoutChanged where the layout of the tables is not the one in use.

    Args:
        store: keeps everything.
        token: of the index that it is to hold.
        layouts: what this process knows of the layout of the tables.

    Cost: one cell more in each read, commit and trim, one round trip more for each age, sweep and turn.
    """

    def __init__(self, store: ClusterStore, token: str, layouts: TableLayouts | None = None) -> None:
        self._store = store
        self._token = token
        self._prefix = _EMPTY + token.encode()
        self._layouts = layouts or TableLayouts()
        self._ceilings: dict[bytes, int] = {}
        self._rank_count = 0
        self.slot_count = store.slot_count

    async def read(
        self, addresses: Sequence[CellAddress], ranges: Sequence[MemberRange] = ()
    ) -> tuple[list[bytes | None], list[list[Member]]]:
        """See the contract."""
        if not addresses and not ranges:
            return [], []
        known = {
            address.field: self._ceilings.get(address.field, 0)
            for address in addresses
            if address.table == DECIDED
        }
        known_layout = self._layouts.found
        (*values, found), members = await self._store.read([*addresses, INDEX], ranges)
        await self._check_index(found, known_layout)
        if known:
            await self._check_ceilings(known, _ceilings(zip(addresses, values, strict=True)))
        return values, members

    async def commit(self, transaction: Transaction) -> int | None:
        """See the contract. A token that was lost since the last read looks like a conflict.

        Raises:
            LayoutChanged: the pages that it decides were probed before the layout of the tables changed.
        """
        if transaction.appended:
            self._layouts.require(self._layouts.used.change)
        expected = {INDEX: self._stored, **transaction.expected}
        known = self._rank_count
        try:
            base = await self._store.commit(transaction._replace(expected=expected, known_ranks=known))
        except RanksWentBack as lost:
            await self._went_back(f"it knows of {lost.count} ranks, and it knew of {known}")
        if base is not None:
            self._rank_count = max(self._rank_count, base + transaction.rank_count)
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

    async def blocks(self, partition: Partition, cursor: int = 0) -> WalkedBlocks:
        """See the contract."""
        if not cursor:
            await self.check()
        return await self._store.blocks(partition, cursor)

    async def age(self, cells: Sequence[Aged]) -> None:
        """See the contract."""
        await self.check()
        await self._store.age(cells)

    async def trim(
        self,
        partition: Partition,
        offset: int,
        cursor: int = 0,
        expected: Mapping[CellAddress, bytes] | None = None,
    ) -> int | None:
        """See the contract. An offset left in an emptied index would hide the first pages of a later one."""
        while True:
            stored = self._stored
            left = await self._store.trim(partition, offset, cursor, {INDEX: stored, **(expected or {})})
            if left is not None:
                return left
            await self.check()
            if self._stored == stored:
                return None

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
        known_layout = self._layouts.found
        ((found,), _) = await self._store.read([INDEX])
        await self._check_index(found, known_layout)

    async def check_state(self) -> None:
        """Return if the index is still there, and in no earlier state than this process has seen it.

        Raises:
            IndexLost: it is not.
        """
        known = list(self._ceilings)[-_LOOKED_AT_PARTITIONS:]
        if known:
            await self.read([CellAddress(DECIDED, name) for name in known])
        else:
            await self.check()

    async def abandon(self, detail: str) -> NoReturn:
        """Stop all daemons, this one included, for a loss that was found elsewhere.

        Raises:
            IndexLost: always.
        """
        await self._lose(self._stored)
        raise IndexLost(f"index {self._token} {detail}")

    @property
    def _stored(self) -> bytes:
        """What the cell of the index is expected to hold."""
        return self._prefix + self._layouts.found.pack()

    async def _check_index(self, found: bytes | None, known: LayoutState) -> None:
        """Require the token, and a layout no older than was known when the read was sent."""
        layout = _layout_behind(self._prefix, found)
        if layout is None:
            self._refuse_token(found)
        elif layout.change < known.change:
            await self._lose(found)
            raise IndexLost(
                f"index {self._token} went back to an earlier state: it knows of change {layout.change} of"
                f" the layout of its tables, and it knew of change {known.change}"
            )
        else:
            self._layouts.learn(layout)

    def _refuse_token(self, found: bytes | None) -> NoReturn:
        if found is None:
            raise IndexLost(f"index {self._token} is not there any more")
        if found == _LOST:  # by the check that found it first, in any process
            raise IndexLost(f"index {self._token} went back to an earlier state, or lost a part of it")
        other = found[RANK_BYTES:].decode(errors="replace")
        raise IndexLost(f"index {self._token} is not there any more, and index {other} is in its place")

    async def _check_ceilings(self, known: Mapping[bytes, int], found: Mapping[bytes, int]) -> None:
        """Require that what is read is no older than what was known when the read was sent."""
        for name, ceiling in found.items():
            if ceiling < known[name]:
                await self._went_back(
                    f"of {name.decode()} it knows what was decided below {ceiling}, and it knew of all below"
                    f" {known[name]}"
                )
        self._raise(found)

    async def _went_back(self, detail: str) -> NoReturn:
        await self.abandon(f"went back to an earlier state: {detail}")

    async def _lose(self, stored: bytes | None) -> None:
        """Overwrite the token, so that all daemons stop."""
        await self._store.commit(Transaction(floors={}, expected={INDEX: stored}, writes={INDEX: _LOST}))

    def _raise(self, ceilings: Mapping[bytes, int]) -> None:
        for name, ceiling in ceilings.items():
            self._ceilings[name] = max(ceiling, self._ceilings.pop(name, 0))  # the latest stands last


def _ceilings(cells: Iterable[tuple[CellAddress, bytes | None]]) -> Mapping[bytes, int]:
    """By partition, the offset below which its rows lie."""
    return {address.field: unpack_ceiling(value) for address, value in cells if address.table == DECIDED}


def _layout_behind(prefix: bytes, found: bytes | None) -> LayoutState | None:
    """Return the state of the layout behind the token; None where another token is stored, or none."""
    if found is None or not found.startswith(prefix):
        return None
    return LayoutState.unpack(found.removeprefix(prefix))
