"""Overlay what a batch has changed in the clusters over the snapshot that was read.

A step that lacks something records what, and is undone as if it had never been; the others go on, so that one
more read brings everything that the whole batch lacks.
"""

from collections.abc import Callable, Container, Iterable
from typing import TypeVar

import msgspec

from neardup_stream.clusters.cells import AbsorbedCell, ClusterCell, ClusterKey, PageCell, inner_key, root_of
from neardup_stream.clusters.protocol import KnownVersion
from neardup_stream.clusters.snapshot import Description, Needs, Snapshot, StaleSnapshot
from neardup_stream.message import Position
from neardup_stream.page import Handle
from neardup_stream.stores.cluster_cells import page_address
from neardup_stream.stores.cluster_store import ABSORBED, CLUSTERS, RANK_BYTES, CellAddress, Member

__all__ = ["Overlay"]

_K = TypeVar("_K")
_V = TypeVar("_V")
_I = TypeVar("_I")
_R = TypeVar("_R")


class _Missing(Exception):  # noqa: N818 - a signal inside this file: the step cannot go on
    """Something must be read first; `needs` says what."""


class Overlay:
    """Reads from the snapshot, and keeps the changes of a batch over it.

    Args:
        snapshot: what was read.
        leading_count: how many members to ask for where the first one that stays is wanted; more than the
            batch can take out of one cluster.

    Attributes:
        needs: what must be read first.
        looked_at: the pages on whose cells a plan rests.
    """

    def __init__(self, snapshot: Snapshot, leading_count: int) -> None:
        self.needs = Needs()
        self.looked_at: set[Handle] = set()
        self._snapshot = snapshot
        self._leading_count = leading_count
        self._pages: dict[Handle, PageCell] = {}
        self._clusters: dict[ClusterKey, ClusterCell | AbsorbedCell | None] = {}
        self._absorbed: dict[ClusterKey, bytes | None] = {}
        self._joined: dict[tuple[ClusterKey, Handle, int], int] = {}
        self._left: dict[tuple[ClusterKey, Handle, int], int] = {}
        self._undo: list[Callable[[], object]] = []
        self.behind: dict[Position, KnownVersion] = {}
        """By position of the request, what its page record must exceed."""

    def attempt(self, step: Callable[["Overlay", _I, int], _R], item: _I, number: int) -> _R | None:
        """Run one step: all its changes are kept, or none, because something must be read first."""
        self._undo.clear()
        try:
            return step(self, item, number)
        except _Missing:
            for undo in reversed(self._undo):
                undo()
            return None

    def page(self, handle: Handle) -> PageCell:
        """Return the cell of a page; `NO_PAGE` for nothing."""
        cell = self._pages.get(handle) or self._snapshot.pages.get(handle)
        if cell is None:
            self.needs.pages.add(handle)
            raise _Missing
        self.looked_at.add(handle)
        return cell

    def root(self, key: ClusterKey) -> ClusterKey:
        """Return the cluster to which the members of `key` belong: itself, unless it was absorbed."""
        return root_of(key, self._cluster_cell)

    def cluster(self, key: ClusterKey) -> ClusterCell | None:
        """Return a cluster that was not absorbed; None for a page that stands alone and always did."""
        cell = self._cluster_cell(key)
        if isinstance(cell, AbsorbedCell):
            raise StaleSnapshot(f"cluster {key.id} was absorbed")
        return cell

    def first_member(self, key: ClusterKey) -> Member:
        """Return the member that was decided first among those that are left."""
        member = self._first_page(key)
        if member is None:
            raise StaleSnapshot(f"cluster {key.id} has no members")
        return member

    def description(self, handle: Handle, version: int) -> Description | None:
        """Return the id and URL of a page, of this version if it is known; None where it has no record."""
        page = handle, version
        if page not in self._snapshot.descriptions:
            self.needs.descriptions.add(page)
            raise _Missing
        return self._snapshot.descriptions[page]

    def know(self, handles: Iterable[Handle], clusters: Iterable[ClusterKey] = ()) -> None:
        """Make sure that all these pages and clusters are known, so that what lacks is read at once."""
        known = self._snapshot.pages
        unknown = {handle for handle in handles if handle not in known}
        self.needs.pages |= unknown
        unread_count = sum(map(self._want_cell, clusters))
        if unknown or unread_count:
            raise _Missing

    def put_page(self, handle: Handle, cell: PageCell) -> None:
        """Change a page."""
        self._put(self._pages, handle, cell)

    def put_cluster(self, key: ClusterKey, cell: ClusterCell | None) -> None:
        """Change a cluster, or end it."""
        if cell is not None:
            cell = msgspec.structs.replace(cell, changes=cell.changes + 1)
        self._put(self._clusters, key, cell)

    def grow(self, key: ClusterKey, cell: ClusterCell) -> None:
        """Change nothing but a cluster's size."""
        self._put(self._clusters, key, cell)

    def absorb(self, key: ClusterKey, target: ClusterKey, rank: int) -> None:
        """Let the members of `key`, none of which has a lower rank, belong to the cluster `target`."""
        self._put(self._clusters, key, AbsorbedCell(target, rank))
        self._put(self._absorbed, key, bytes(RANK_BYTES))
        self.join(target, rank, key.handle, key.version)

    def absorbed(self, key: ClusterKey) -> AbsorbedCell | None:
        """Return the cell of a cluster that was absorbed; None for any other."""
        cell = self._cluster_cell(key)
        return cell if isinstance(cell, AbsorbedCell) else None

    def inner(self, member: Member) -> ClusterKey:
        """Return the key of an absorbed cluster that is a member of a set; a commit expects it unchanged.

        Raises:
            StaleSnapshot: members were moved out of it since the set was read.
        """
        key = inner_key(member)
        cell = self.absorbed(key)
        if cell is None or cell.rank != member.rank:
            raise StaleSnapshot(f"members of cluster {key.id} were moved")
        return key

    def raise_absorbed(self, key: ClusterKey, rank: int) -> None:
        """Note that no member of a lower rank is left in a cluster that was absorbed.

        Its cell changes with it, so that no plan which read its members before is committed.
        """
        if cell := self.absorbed(key):
            self.leave(cell.target, cell.rank, key.handle, key.version)
            self._put(self._clusters, key, AbsorbedCell(cell.target, rank))
            self.join(cell.target, rank, key.handle, key.version)

    def end_absorbed(self, key: ClusterKey) -> None:
        """Take a cluster that was absorbed, and has no members left, out of the set it was in; forget it.

        Its cell stays, as a forwarding cell, where its id is that of the cluster that its members belong to.
        """
        cell, root = self.absorbed(key), self.root(key)
        if cell is not None:
            self.leave(cell.target, cell.rank, key.handle, key.version)
            bearer = self.cluster(root)
            name = bearer.founder if bearer is not None else None
            forwarding = AbsorbedCell(root, cell.rank)
            if name is not None and name != key:
                self._forward(name, key, forwarding)
            self._put(self._clusters, key, forwarding if name == key else None)
        self._put(self._absorbed, key, None)

    def release_id(self, cell: ClusterCell) -> None:
        """Queue the forwarding cell of a cluster's id for removal, once no cluster has that id."""
        if cell.founder is not None:
            self._put(self._absorbed, cell.founder, bytes(RANK_BYTES))

    def _forward(self, name: ClusterKey, former: ClusterKey, forwarding: AbsorbedCell) -> None:
        """Write the forwarding cell of an id, where it names a set that ends.

        Also where a former release has removed it, or the set that it names. Where it names another set, it
        may be a member of that, until its own members have moved.
        """
        cell = self.absorbed(name)
        if self.root(name) != forwarding.target or (cell is not None and cell.target == former):
            self._put(self._clusters, name, forwarding)

    def join(self, key: ClusterKey, rank: int, handle: Handle, founded: int = 0) -> None:
        """Add a member to a set, see `Member`."""
        member = key, handle, founded
        if self._left.get(member) == rank:
            self._drop(self._left, member)
        else:
            self._put(self._joined, member, rank)

    def leave(self, key: ClusterKey, rank: int, handle: Handle, founded: int = 0) -> None:
        """Take a member out of a set."""
        member = key, handle, founded
        if self._joined.get(member) == rank:
            self._drop(self._joined, member)
        else:
            self._put(self._left, member, rank)

    def writes(self, counted: Container[CellAddress]) -> dict[CellAddress, bytes | None]:
        """Return the cells that differ from those that were read, except those of `counted`."""
        pages = {page_address(handle): cell.pack() for handle, cell in self._pages.items()}
        clusters = {
            CellAddress(CLUSTERS, key.packed): None if cell is None else cell.pack()
            for key, cell in self._clusters.items()
        }
        absorbed = {CellAddress(ABSORBED, key.packed): value for key, value in self._absorbed.items()}
        return absorbed | {
            address: value
            for address, value in (pages | clusters).items()
            if address not in counted and self._snapshot.raw.get(address) != value
        }

    def counted(self) -> dict[CellAddress, tuple[bytes, int]]:
        """Return the clusters that were read and at most grew: as they were read, and by how much."""
        counted = {}
        for key, before in self._snapshot.clusters.items():
            after = self._clusters.get(key, before)
            if isinstance(before, ClusterCell) and isinstance(after, ClusterCell):
                address = CellAddress(CLUSTERS, key.packed)
                raw = self._snapshot.raw[address]
                if raw is not None and msgspec.structs.replace(after, size=before.size) == before:
                    counted[address] = raw, after.size - before.size
        return counted

    def joined(self) -> list[Member]:
        """Members to add."""
        return [_member(*each, rank) for each, rank in self._joined.items()]

    def left(self) -> list[Member]:
        """Members to remove."""
        return [_member(*each, rank) for each, rank in self._left.items()]

    def _cluster_cell(self, key: ClusterKey) -> ClusterCell | AbsorbedCell | None:
        if key in self._clusters:
            return self._clusters[key]
        if self._want_cell(key):
            raise _Missing
        return self._snapshot.clusters[key]

    def _first_page(self, key: ClusterKey) -> Member | None:
        """Return the first page by rank of a set and the sets that belong to it; None if there is none.

        A set stands before all its members, so nothing is looked at behind a page with a lower rank.
        """
        limit = self._leading_count
        while True:
            first: Member | None = None
            for member in self._members(key, limit):
                if first is not None and first.rank < member.rank:
                    break
                found = member if not member.founded else self._first_page(self.inner(member))
                if found is not None and (first is None or found.rank < first.rank):
                    first = found
            unread_rank = self._unread_rank(key)
            if unread_rank is None or (first is not None and first.rank <= unread_rank):
                return first
            limit *= 2

    def _members(self, key: ClusterKey, limit: int) -> list[Member]:
        """Return the first members of a set that have not left."""
        if self._want(key, limit):
            raise _Missing
        stored = self._snapshot.members.get(key, ())
        kept = [
            member for member in stored if self._left.get((key, member.handle, member.founded)) != member.rank
        ]
        added = [_member(*each, rank) for each, rank in self._joined.items() if each[0] == key]
        members = sorted(kept + added, key=lambda member: member.rank)
        for member in members:
            if not member.founded:
                break
            self._want(inner_key(member), self._leading_count)
            self._want_cell(inner_key(member))
        return members

    def _want(self, key: ClusterKey, limit: int) -> bool:
        """Return whether the first members of a set must be read; if so, note that they are needed."""
        is_of_this_batch = key in self._clusters and self._snapshot.clusters.get(key) is None
        if is_of_this_batch or self._snapshot.has_members(key, limit):
            return False
        self.needs.ranges[key] = max(limit, self.needs.ranges.get(key, 0))
        return True

    def _want_cell(self, key: ClusterKey) -> bool:
        """Return whether the cell of a cluster must be read; if so, note that it is needed."""
        if key in self._clusters or key in self._snapshot.clusters:
            return False
        self.needs.clusters.add(key)
        return True

    def _unread_rank(self, key: ClusterKey) -> int | None:
        """Return a rank below those of all members of a set that were not read; None if all were."""
        if key not in self._snapshot.members or self._snapshot.has_all_members(key):
            return None
        return self._snapshot.members[key][-1].rank

    def _put(self, changes: dict[_K, _V], key: _K, value: _V) -> None:
        if key in changes:
            before = changes[key]
            self._undo.append(lambda: changes.__setitem__(key, before))
        else:
            self._undo.append(lambda: changes.pop(key))
        changes[key] = value

    def _drop(self, changes: dict[_K, _V], key: _K) -> None:
        before = changes.pop(key)
        self._undo.append(lambda: changes.__setitem__(key, before))


def _member(key: ClusterKey, handle: Handle, founded: int, rank: int) -> Member:
    return Member(key.packed, rank, handle, founded)
