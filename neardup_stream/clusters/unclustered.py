"""Decides without clusters: a page that matches another is a duplicate, and that is all.

What was decided is remembered as it is with clusters, so a record that comes again is told the same again.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from neardup_stream.clusters.optimistic_retry import Attempts
from neardup_stream.clusters.placements import Decided, Placement, Settled
from neardup_stream.clusters.portions import portions
from neardup_stream.clusters.protocol import KnownVersion, PlannedRequest, RecordsBehind
from neardup_stream.clusters.requests import ConfirmRequest, PageVersion, PlaceRequest, QuietRequest, Request
from neardup_stream.clusters.rows import (
    NewRow,
    bound_cells,
    decided_in_order,
    lowest_offsets,
    pack_row,
    raised_ceilings,
    row_cells,
    settled_in,
    trim_rows,
)
from neardup_stream.clusters.snapshot import Snapshot
from neardup_stream.message import Partition, Position
from neardup_stream.stores.cluster_store import ClusterStore, Transaction, row_cell
from neardup_stream.stores.protocol import RecordStore

__all__ = ["Unclustered"]


class Unclustered:
    """A Decider that keeps rows and nothing else; each method raises StoreUnavailable as with clusters.

    Args:
        store: keeps the rows.
    """

    def __init__(self, store: ClusterStore) -> None:
        self._store = store

    async def settled(self, positions: Sequence[Position]) -> Settled:
        """What was decided already."""
        return settled_in(await _read_rows(self._store, positions), positions)

    def portions(self, requests: Sequence[Request], aged_count: int) -> Iterator["_PortionOfRows"]:
        """Cut requests into portions; each is decided by its own matches, in one commit for each portion."""
        del aged_count  # no page ever leaves a cluster, so no read is stale
        for portion in portions(requests, lambda request: {request.position, *_makers(request)}):
            yield _PortionOfRows(self._store, portion)

    async def trim(self, next_offsets: Mapping[Partition, int]) -> None:
        """Let go of the rows below these offsets."""
        await trim_rows(self._store, next_offsets)

    async def tidy(self, records: RecordStore) -> None:
        """Nothing to do: without clusters there are no tombstones."""

    async def expire(self, nodes: Sequence[PageVersion]) -> list[bool]:
        """Every page may go."""
        return [True] * len(nodes)

    async def release(self, nodes: Sequence[PageVersion]) -> None:
        """Nothing to do."""


class _Plan(NamedTuple):
    """What the next commit stores: requests that are not decided in the snapshot."""

    snapshot: Snapshot
    settled: Settled
    rows: list[PlannedRequest]


class _PortionOfRows:
    """See `protocol.Portion`."""

    def __init__(self, store: ClusterStore, requests: Sequence[Request]) -> None:
        self._store = store
        self._requests = requests
        self._attempts = Attempts()
        self._plan: _Plan | None = None

    async def plan(self) -> Sequence[PlannedRequest]:
        """Plan what is not decided yet, and the positions whose versions it has claimed."""
        await self._attempts.begin()
        positions = [at for request in self._requests for at in (request.position, *_makers(request))]
        snapshot = await _read_rows(self._store, positions)
        settled = settled_in(snapshot, positions)
        todo = [request for request in self._requests if not settled.knows(request.position)]
        if behind := dict(_undecided(todo, settled)):
            raise RecordsBehind(behind)
        taken = [QuietRequest(maker) for request in todo for maker in _taken_over(request, settled)]
        rows = [PlannedRequest(each, None) for each in taken]
        rows += [PlannedRequest(each, _placement(each, settled)) for each in todo]
        self._plan = _Plan(snapshot, settled, rows)
        return rows

    async def commit(self, records: Sequence[bytes]) -> list[Decided] | None:
        """Store the decision records, unless another daemon has stored one meanwhile."""
        assert self._plan is not None  # noqa: S101 - plan before commit
        snapshot, settled, rows = self._plan
        contents = {row.request.position: record for row, record in zip(rows, records, strict=True)}
        if rows:
            packed = {
                row_cell(row.request.position): pack_row(NewRow(row.request, None, number=0), record)
                for row, record in zip(rows, records, strict=True)
            }
            changes = Transaction(
                floors=lowest_offsets(contents),
                expected=snapshot.raw,
                writes=packed | raised_ceilings(snapshot, list(contents)),
            )
            if await self._store.commit(changes) is None:
                return None
        decided = {position: Decided(0, record) for position, record in contents.items()}
        return decided_in_order(self._requests, settled, decided)


async def _read_rows(store: ClusterStore, positions: Sequence[Position]) -> Snapshot:
    snapshot = Snapshot()
    for cells_of in (bound_cells, partial(row_cells, snapshot)):
        cells = cells_of(positions)
        snapshot.add(cells, (await store.read(cells))[0], (), ())
    return snapshot


def _makers(request: Request) -> tuple[Position, ...]:
    """The other positions at which the version of a request may have been decided."""
    match request:
        case ConfirmRequest(maker=maker):
            return (maker,)
        case PlaceRequest(claimed_from=makers):
            return makers
        case _:
            return ()


def _taken_over(request: Request, settled: Settled) -> tuple[Position, ...]:
    """The positions that are settled together with a request, because it has claimed their version.

    A process that wakes up with one of them finds that nothing is left to decide there.
    """
    if not isinstance(request, PlaceRequest) or _is_decided_elsewhere(request, settled):
        return ()
    return request.claimed_from


def _is_decided_elsewhere(request: Request, settled: Settled) -> bool:
    return any(settled.knows(maker) for maker in _makers(request))


def _undecided(requests: Iterable[Request], settled: Settled) -> Iterator[tuple[Position, KnownVersion]]:
    """Unchanged pages whose versions were registered and not decided."""
    for request in requests:
        if isinstance(request, ConfirmRequest) and not settled.knows(request.maker):
            yield request.position, KnownVersion(request.node.handle, request.node.version - 1)


def _placement(request: Request, settled: Settled) -> Placement:
    matches = request.matches if isinstance(request, PlaceRequest) else ()
    return Placement(
        matches=matches,
        cluster=None,
        is_duplicate=bool(matches),
        merges=(),
        departure=None,
        was_linked=False,
        is_superseded=_is_decided_elsewhere(request, settled),
    )
