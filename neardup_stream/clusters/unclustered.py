"""Decides without clusters: a page that matches another is a duplicate, and that is all.

Decision records are stored as with clusters, so a record that is read again gets the same decision.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from neardup_stream.clusters.commit_limits import CommitLimits
from neardup_stream.clusters.former_epochs import end_former_epochs
from neardup_stream.clusters.optimistic_retry import Attempts
from neardup_stream.clusters.placements import AlreadyDecided, Decided, Placement
from neardup_stream.clusters.portions import fitting_counts, portions, with_lone
from neardup_stream.clusters.protocol import KnownVersion, PlannedRequest, RecordsBehind
from neardup_stream.clusters.reading import Reader
from neardup_stream.clusters.requests import (
    ConfirmRequest,
    LoneRequest,
    PageVersion,
    PlaceRequest,
    QuietRequest,
    Request,
)
from neardup_stream.clusters.rows import (
    NewRow,
    all_rows,
    already_decided_in,
    changeable,
    decidable_epochs,
    decided_in_order,
    lowest_offsets,
    pack_rows,
    raised_ceilings,
    refuse_ended_epochs,
    trim_rows,
)
from neardup_stream.clusters.snapshot import DescribedPage, Description, Snapshot
from neardup_stream.message import Partition, Position
from neardup_stream.stores.cluster_store import ClusterStore, Transaction
from neardup_stream.stores.protocol import RecordStore

__all__ = ["Unclustered"]


class Unclustered:
    """A Decider that keeps rows and nothing else; each method raises StoreUnavailable as with clusters.

    Args:
        store: keeps the rows.
    """

    def __init__(self, store: ClusterStore) -> None:
        self._store = store

    async def already_decided(self, positions: Sequence[Position]) -> AlreadyDecided:
        """Return what was decided already."""
        return already_decided_in(await _read_rows(self._store, positions), positions)

    def portions(self, requests: Sequence[Request], aged_count: int) -> Iterator["_PortionOfRows"]:
        """Cut requests into portions; each is decided by its own matches, in one commit for each portion."""
        del aged_count  # no page ever leaves a cluster, so no read is stale
        for portion in portions(requests, _positions):
            yield _PortionOfRows(self._store, portion)

    async def trim(self, next_offsets: Mapping[Partition, int]) -> None:
        """Remove the decision records below these offsets."""
        await trim_rows(self._store, next_offsets)

    async def end_former_epochs(self, partitions: Sequence[Partition]) -> Mapping[Partition, int]:
        """Refuse decisions in former epochs."""
        return await end_former_epochs(self._store, partitions)

    async def stored_records(self, partition: Partition) -> Mapping[Position, Decided]:
        """Return the rows of a partition."""
        return await all_rows(self._store, partition)

    async def tidy(self, records: RecordStore) -> None:
        """Do nothing: without clusters there are no tombstones."""

    async def expire(self, nodes: Sequence[PageVersion]) -> list[bool]:
        """Return True for every page: without clusters each may be removed."""
        return [True] * len(nodes)

    async def release(self, nodes: Sequence[PageVersion]) -> None:
        """Do nothing."""


class _Plan(NamedTuple):
    """What the next commit stores.

    Attributes:
        snapshot: in which the requests are not decided.
        already_decided: what was decided before.
        rows: the positions whose versions are claimed, and the requests; lone pages without a placement.
        part_count: how many requests.
        is_last: whether no request is left for another commit.
    """

    snapshot: Snapshot
    already_decided: AlreadyDecided
    rows: list[PlannedRequest]
    part_count: int
    is_last: bool


class _PortionOfRows:
    """See `protocol.Portion`; commits of too many bytes are cut as in `deciding.PortionInClusters`."""

    def __init__(self, store: ClusterStore, requests: Sequence[Request]) -> None:
        self._store = store
        self._requests = requests
        self._attempts = Attempts()
        self._limits = CommitLimits(len(requests))
        self._plan: _Plan | None = None

    async def plan(self) -> Sequence[PlannedRequest]:
        """Plan what is not decided yet, and the positions whose versions it has claimed."""
        await self._attempts.begin()
        positions = list(_positions(self._requests))
        snapshot = await _read_rows(self._store, positions)
        already_decided = already_decided_in(snapshot, positions)
        todo = [request for request in self._requests if not already_decided.knows(request.position)]
        refuse_ended_epochs(snapshot, [request.position for request in todo])
        if behind := dict(_undecided(todo, already_decided)):
            raise RecordsBehind(behind)
        part = todo[: self._limits.limit]
        taken = [QuietRequest(maker) for request in part for maker in _taken_over(request, already_decided)]
        rows = [PlannedRequest(each, None) for each in taken]
        rows += [
            PlannedRequest(each, None if isinstance(each, LoneRequest) else _placement(each, already_decided))
            for each in part
        ]
        self._plan = _Plan(snapshot, already_decided, rows, len(part), is_last=len(part) == len(todo))
        return [row for row in rows if not isinstance(row.request, LoneRequest)]

    async def commit(self, records: Sequence[bytes]) -> list[Decided] | None:
        """Store the decision records, unless another daemon has stored one meanwhile."""
        assert self._plan is not None  # noqa: S101 - plan before commit
        snapshot, already_decided, rows, part_count, is_last = self._plan
        records = with_lone([row.request for row in rows], records)
        if len(counts := fitting_counts(records)) > 1 and part_count > 1:
            self._limits.shrink([min(counts[0], part_count - 1), *counts[1:]])
            self._attempts = Attempts()
            return None
        contents = {row.request.position: record for row, record in zip(rows, records, strict=True)}
        if rows:
            own = [request.position for request in self._requests]
            new = [NewRow(row.request, None, number=0) for row in rows]
            changes = Transaction(
                floors={**lowest_offsets(contents), **decidable_epochs(own)},
                expected=changeable(snapshot.raw),
                writes=raised_ceilings(snapshot, list(contents)),
                appended=pack_rows(new, records),
            )
            if await self._store.commit(changes) is None:
                return None
        if not is_last:
            self._limits.advance()
            self._attempts = Attempts()
            return None
        decided = {position: Decided(0, record) for position, record in contents.items()}
        return decided_in_order(self._requests, already_decided, decided)


async def _read_rows(store: ClusterStore, positions: Sequence[Position]) -> Snapshot:
    reader = Reader(store, _describe_none)
    await reader.read_rows(positions)
    return reader.snapshot


async def _describe_none(_pages: Sequence[DescribedPage]) -> dict[DescribedPage, Description]:
    return {}


def _positions(requests: Iterable[Request]) -> set[Position]:
    return {at for request in requests for at in (request.position, *_makers(request))}


def _makers(request: Request) -> tuple[Position, ...]:
    """Return the other positions at which the version of a request may have been decided."""
    if isinstance(request, PlaceRequest):
        return request.claimed_from
    return (request.maker,) if isinstance(request, ConfirmRequest) else ()


def _taken_over(request: Request, already_decided: AlreadyDecided) -> tuple[Position, ...]:
    """Return the positions that are decided together with a request, because it has claimed their version.

    A process that resumes with one of them finds that nothing is left to decide there.
    """
    if not isinstance(request, PlaceRequest) or _is_decided_elsewhere(request, already_decided):
        return ()
    return request.claimed_from


def _is_decided_elsewhere(request: Request, already_decided: AlreadyDecided) -> bool:
    return any(already_decided.knows(maker) for maker in _makers(request))


def _undecided(
    requests: Iterable[Request], already_decided: AlreadyDecided
) -> Iterator[tuple[Position, KnownVersion]]:
    """Unchanged pages whose versions were registered and not decided."""
    for request in requests:
        if isinstance(request, ConfirmRequest) and not already_decided.knows(request.maker):
            yield request.position, KnownVersion(request.node.handle, request.node.version - 1)


def _placement(request: Request, already_decided: AlreadyDecided) -> Placement:
    matches = request.matches if isinstance(request, PlaceRequest) else ()
    return Placement(
        matches=matches,
        cluster=None,
        is_duplicate=bool(matches),
        merges=(),
        departure=None,
        was_linked=False,
        is_superseded=_is_decided_elsewhere(request, already_decided),
    )
