"""Decides one portion of requests: read a snapshot, plan on it, and store the plan if no cell has changed.

Between the plan and its commit the caller makes the decision record of each request. What is in them is not
known here.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeGuard

from neardup_stream.clusters.cells import pack_lone_page
from neardup_stream.clusters.mirroring import mirrored_pages, still_to_decide
from neardup_stream.clusters.optimistic_retry import Pace
from neardup_stream.clusters.overlay import Overlay
from neardup_stream.clusters.placements import AlreadyDecided, Decided
from neardup_stream.clusters.planning import plan, stands_alone
from neardup_stream.clusters.portions import (
    CHANGED_BYTES_AT_ONCE,
    COMPARED_BYTES_AT_ONCE,
    fitting_counts,
    known_handles,
    lone_handles,
    new_handles,
    with_lone,
    without_matched,
)
from neardup_stream.clusters.protocol import PlannedRequest, RecordsBehind, StaleRead
from neardup_stream.clusters.reading import Describe, Reader
from neardup_stream.clusters.requests import LoneRequest, PlaceRequest, Request
from neardup_stream.clusters.rows import (
    NewRow,
    already_decided_in,
    changeable,
    decidable_epochs,
    decided_in_order,
    lowest_offsets,
    pack_rows,
    raised_ceilings,
    refuse_ended_epochs,
)
from neardup_stream.clusters.rules import Rule
from neardup_stream.clusters.snapshot import StaleSnapshot, page_addresses
from neardup_stream.clusters.transactions import changes_of, planned, with_heads
from neardup_stream.message import Position
from neardup_stream.stores.cluster_cells import page_address
from neardup_stream.stores.cluster_store import PROVISIONAL_RANK, CellAddress, ClusterStore, Transaction

__all__ = ["ClusterPlanning", "PortionInClusters"]


class ClusterPlanning(NamedTuple):
    """How requests are planned.

    Attributes:
        store: keeps everything.
        describe: names a page that becomes a representative.
        rule: chooses what a page joins.
        pending_edges: most matches that wait for one page which is not decided yet.
    """

    store: ClusterStore
    describe: Describe
    rule: Rule
    pending_edges: int


class _Plan(NamedTuple):
    """What the next commit stores.

    Attributes:
        already_decided: what was decided before.
        rows: the requests that are decided now.
        changes: to cells, without the decision records.
        compared_bytes: of the cells of which only the heads are expected.
        is_last: whether no request is left for another commit.
    """

    already_decided: AlreadyDecided
    rows: Sequence[NewRow]
    changes: Transaction
    compared_bytes: int
    is_last: bool

    @property
    def changed_bytes(self) -> int:
        """Of the cells that are written, before and after."""
        before, after = self.changes.expected, self.changes.writes
        return sum(len(value) + len(before.get(address) or b"") for address, value in after.items() if value)

    @property
    def is_too_large(self) -> bool:
        """Whether its cells are too many bytes for one call."""
        is_compared = self.compared_bytes > COMPARED_BYTES_AT_ONCE
        return is_compared or self.changed_bytes > CHANGED_BYTES_AT_ONCE


class PortionInClusters:
    """See `protocol.Portion`; `unclustered` has its like without clusters.

    Args:
        planning: how requests are planned.
        requests: in order; of two versions of a page the later one comes later.
        aged_count: `AlreadyDecided.aged_count`, from before everything that the requests rest on was read.
        pace: how many requests one commit decides, and how long it waits after a conflict.
    """

    def __init__(
        self, planning: ClusterPlanning, requests: Sequence[Request], aged_count: int, pace: Pace
    ) -> None:
        self._planning = planning
        self._requests = without_matched(requests)
        self._aged_count = aged_count
        self._pace = pace
        self._lone = lone_handles(self._requests)
        self._others: list[Request] = [
            request
            for request in self._requests
            if not isinstance(request, LoneRequest) and not self._is_lone(request)
        ]
        self._plan: _Plan | None = None
        self._decided: dict[Position, Decided] = {}
        """Also by others: a row is read once, as it never changes."""

    async def plan(self) -> Sequence[PlannedRequest]:
        """Read a snapshot, and plan what is not decided yet.

        Raises:
            StaleRead: read and compare the pages again.
            RecordsBehind: register these pages again.
            EpochEnded: the topic of a request that is not decided is read in a later epoch.
            CorruptData: cells contradict each other.
            StoreUnavailable: others have changed the same cells too often, or the store is unavailable.
        """
        while True:
            try:
                self._plan = await self._planned()
            except StaleSnapshot as stale:
                await self._pace.back_off(stale)
            else:
                return [
                    PlannedRequest(row.request, row.placement)
                    for row in self._plan.rows
                    if not isinstance(row.request, LoneRequest)
                ]

    async def commit(self, records: Sequence[bytes]) -> list[Decided] | None:
        """Store the plan with its decision records.

        Args:
            records: one for each planned request, in order.

        Returns:
            One outcome for each request of the portion; None if requests are left, a cell has changed since
            the snapshot, or the records are too large for one commit: plan again.

        Raises:
            StoreUnavailable: others have changed the same cells too often, or the store is unavailable.
        """
        assert self._plan is not None  # noqa: S101 - plan before commit
        records = with_lone((row.request for row in self._plan.rows), records)
        if len(counts := fitting_counts(records)) > 1:
            self._pace.shrink(counts)
            return None
        if (count := len(records)) > 1 and self._plan.is_too_large:
            self._pace.shrink([count // 2, count - count // 2])
            return None
        decided = await self._stored(self._plan, records) if self._plan.rows else {}
        if decided is None:
            await self._pace.back_off()
            return None
        self._pace.advance()
        self._decided |= decided
        if not self._plan.is_last:
            return None
        return decided_in_order(self._requests, self._plan.already_decided, self._decided)

    async def _planned(self) -> _Plan:
        reader = await self._snapshot()
        found = already_decided_in(reader.snapshot, self._undecided())
        self._decided |= found.outcomes
        already_decided = found._replace(outcomes=self._decided)
        todo = still_to_decide(self._requests, already_decided, reader.snapshot.pages)
        refuse_ended_epochs(reader.snapshot, [request.position for request in todo])
        if todo and reader.snapshot.swept_count > self._aged_count:
            raise StaleRead(
                "a batch was in flight for so long that tombstones it depends on are removed"
                " (clusters.tombstone_ttl_seconds)"
            )
        part = todo[: self._pace.limit]
        numbered = [
            (number, request)
            for number, request in enumerate(part, start=1)
            if not isinstance(request, LoneRequest)
        ]
        overlay, others = await planned(reader, numbered, self._row)
        if overlay.behind:
            raise RecordsBehind(overlay.behind)
        rows = list(_in_order(part, others))
        changes = changes_of(reader, overlay, len(rows), self._pace.turn)
        positions = [request.position for request in part]
        changes = changes._replace(
            expected=changeable(changes.expected),
            new=[
                _lone_cell(row.request, row.number)
                for row in rows
                if isinstance(row.request, LoneRequest) or self._is_lone(row.request)
            ],
            writes={**changes.writes, **raised_ceilings(reader.snapshot, positions)},
            floors={**lowest_offsets(positions), **decidable_epochs(positions)},
            aged_count=self._aged_count,
        )
        looked_at = overlay.looked_at | mirrored_pages(part, todo[len(part) :])
        changes = with_heads(changes, looked_at, reader.snapshot.pages)
        compared_bytes = sum(len(reader.snapshot.raw[address] or b"") for address in changes.begins)
        return _Plan(already_decided, rows, changes, compared_bytes, is_last=len(part) == len(todo))

    async def _snapshot(self) -> Reader:
        """Read what the requests are about.

        The first snapshot does not have the cells of new pages, which are nearly always absent. The commit
        expects that they are, so where one is not, it is refused, and the second snapshot has it.
        """
        if not self._pace.is_first:
            self._requests = [_placed(request) for request in self._requests]
            self._lone, self._others = set(), list(self._requests)
        reader = Reader(self._planning.store, self._planning.describe)
        own = new_handles(self._others) if self._pace.is_first else set()
        reader.snapshot.assume_absent(page_addresses(own))
        await reader.read_rows(self._undecided(), page_addresses(known_handles(self._others) - own))
        return reader

    def _undecided(self) -> list[Position]:
        positions = (request.position for request in self._requests)
        return [position for position in positions if position not in self._decided]

    def _is_lone(self, request: Request) -> TypeGuard[PlaceRequest]:
        """Return whether a request needs no plan: its page is new, and no page here matches it."""
        return isinstance(request, PlaceRequest) and request.node.handle in self._lone

    def _row(self, overlay: Overlay, numbered: tuple[int, Request], _place: int) -> NewRow:
        """Plan a request; one that takes no place leaves its rank unused."""
        number, request = numbered
        if self._is_lone(request):
            return NewRow(request, stands_alone(request.node), number)
        rank = PROVISIONAL_RANK + number
        placement = plan(overlay, request, self._planning.rule, rank, self._planning.pending_edges)
        takes_rank = placement is not None and not placement.is_superseded
        known_rank = placement.known_rank if placement is not None else 0
        return NewRow(request, placement, number if takes_rank else 0, known_rank)

    async def _stored(self, plan: _Plan, records: Sequence[bytes]) -> Mapping[Position, Decided] | None:
        appended = pack_rows(plan.rows, records)
        base = await self._planning.store.commit(plan.changes._replace(appended=appended))
        if base is None:
            return None
        return {
            row.request.position: Decided(
                base + row.number if row.number else row.known_rank,
                record,
                dropped_edges=row.placement.dropped_edges if row.placement else 0,
            )
            for row, record in zip(plan.rows, records, strict=True)
        }


def _placed(request: Request) -> Request:
    return request.placed() if isinstance(request, LoneRequest) else request


def _in_order(requests: Sequence[Request], others: Sequence[NewRow]) -> Iterator[NewRow]:
    """Yield the rows of requests, of which those that had to be planned are given."""
    planned_rows = iter(others)
    for number, request in enumerate(requests, start=1):
        yield NewRow(request, None, number) if isinstance(request, LoneRequest) else next(planned_rows)


def _lone_cell(request: PlaceRequest | LoneRequest, number: int) -> tuple[CellAddress, bytes]:
    """Return what is stored of a page that stands alone and always did."""
    handle = request.handle if isinstance(request, LoneRequest) else request.node.handle
    packed = pack_lone_page(PROVISIONAL_RANK + number, 1, request.content)
    return page_address(handle), packed
