"""Decides, expires and lists pages in clusters: what the daemon uses.

Every change is an optimistic transaction: read, decide in pure code, and commit if nothing that was read has
moved; else read and decide again. So there is one implementation of the rules for every store, and a decision
is as atomic as a script that decides would make it.
"""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import random

from neardup_stream.clusters.cells import ClusterCell
from neardup_stream.clusters.deciding import ClusterPlanning, PortionInClusters
from neardup_stream.clusters.former_epochs import end_former_epochs
from neardup_stream.clusters.moving import move_absorbed
from neardup_stream.clusters.optimistic_retry import Jitter, Pace, retry_on_conflict
from neardup_stream.clusters.placements import AlreadyDecided, ClusterState, Decided
from neardup_stream.clusters.planning import PENDING_EDGES, expire
from neardup_stream.clusters.portions import known_handles, portions
from neardup_stream.clusters.reading import Describe, Reader
from neardup_stream.clusters.requests import (
    PageVersion,
    Request,
)
from neardup_stream.clusters.rows import (
    all_rows,
    already_decided_in,
    trim_rows,
)
from neardup_stream.clusters.rules import Rule, components
from neardup_stream.clusters.snapshot import StaleSnapshot, page_addresses
from neardup_stream.clusters.sweeping import sweep_aged
from neardup_stream.clusters.transactions import changes_of, planned
from neardup_stream.clusters.walking import WalkedCluster, walk_clusters
from neardup_stream.errors import ConfigError
from neardup_stream.message import Partition, Position
from neardup_stream.page import Handle
from neardup_stream.stores.cluster_store import PROVISIONAL_RANK, Aged, ClusterStore
from neardup_stream.stores.protocol import RecordStore, Retry, once

__all__ = ["ClusterConfig", "Clusters"]

_EXPIRED_AT_ONCE = 250
"""Pages that leave their clusters in one commit."""

_SWEPT_AT_ONCE = 500
"""Most page cells that are removed at once; those whose decisions one commit stored are removed together."""


@dataclass(frozen=True, slots=True)
class ClusterConfig:
    """How long what is decided is remembered, and how many matches wait for what is not.

    Attributes:
        tombstone_ttl_seconds: from the trim of a decision record until its page's cell may be removed. A
            daemon whose reads are older than this is refused and must read again, so it is longer than a
            batch usually takes. Each page of this time takes some 60 bytes.
        pending_edges: most matches that wait for one page which is not decided yet; further ones are dropped
            and counted. Each takes some 200 bytes.
    """

    tombstone_ttl_seconds: float = 120.0
    pending_edges: int = PENDING_EDGES

    def __post_init__(self) -> None:
        """Refuse what cannot work.

        Raises:
            ConfigError: a negative time, or no room for a match.
        """
        if self.tombstone_ttl_seconds < 0 or self.pending_edges < 1:
            raise ConfigError(
                f"clusters.tombstone_ttl_seconds ({self.tombstone_ttl_seconds}) must not be negative, "
                f"and clusters.pending_edges ({self.pending_edges}) must be at least 1"
            )


class Clusters:
    """Decides which pages belong together, and keeps what was decided.

    Safe for any number of daemons on one store. Each method raises StoreUnavailable when the store is
    unavailable, or when others were faster again and again; calling again is safe.

    Args:
        store: keeps everything.
        describe: returns the id and URL of a new representative.
        rule: chooses what a page joins.
        config: limits.
        jitter: of the pauses after conflicts.
    """

    def __init__(
        self,
        store: ClusterStore,
        describe: Describe,
        rule: Rule = components,
        config: ClusterConfig | None = None,
        jitter: Jitter = random,
    ) -> None:
        self._store = store
        self._describe = describe
        self._rule = rule
        self._config = config or ClusterConfig()
        self._jitter = jitter

    async def already_decided(self, positions: Iterable[Position]) -> AlreadyDecided:
        """Return what was decided for these positions before, if anything.

        Cost: one round trip, and one more where they may have rows; more where those are large.
        """
        positions = list(positions)
        reader = Reader(self._store, self._describe)
        await reader.read_rows(positions)
        return already_decided_in(reader.snapshot, positions)

    def portions(self, requests: Sequence[Request], aged_count: int) -> Iterator[PortionInClusters]:
        """Cut requests into portions, each decided by one commit, or by several after conflicts.

        A position that has a decision record keeps it, and its request changes nothing: an outcome is set
        once. So after an error the first requests may be decided, and all may be decided again.

        What a request rests on (records, matches) was read a while ago. A page that was removed since then is
        remembered by its tombstone, until that is swept; if any cell that began to age since then was swept,
        the requests are refused. Cells are counted, so no clock is trusted.

        Args:
            requests: in order; of two versions of a page the later one comes later.
            aged_count: `AlreadyDecided.aged_count`, from before all of it was read.

        Cost: three round trips for each portion, more where clusters merge or change their representative.
        """
        edges = self._config.pending_edges
        planning = ClusterPlanning(self._store, self._describe, self._rule, edges)
        for portion in portions(requests, known_handles):
            pace = Pace(len(portion), self._store.take_turn, self._jitter)
            yield PortionInClusters(planning, portion, aged_count, pace)

    async def trim(self, offsets: Mapping[Partition, int]) -> None:
        """Remove the decision records below these offsets, which are delivered and committed.

        Cost: see `trim_rows`.
        """
        await trim_rows(self._store, offsets)

    async def end_former_epochs(self, partitions: Sequence[Partition]) -> Mapping[Partition, int]:
        """Refuse decisions in former epochs of the topics of these partitions.

        Cost: see `end_former_epochs`.
        """
        return await end_former_epochs(self._store, partitions)

    async def stored_records(self, partition: Partition) -> Mapping[Position, Decided]:
        """Return the rows of a partition, in order.

        Cost: two round trips, and one for each block of rows.
        """
        return await all_rows(self._store, partition)

    async def tidy(self, records: RecordStore) -> None:
        """Remove the tombstones that are old enough, and move the members of absorbed clusters.

        Args:
            records: of the same pages.

        Cost: see `sweep_aged` and `move_absorbed`.
        """
        await sweep_aged(self._store, records, self._config.tombstone_ttl_seconds, _SWEPT_AT_ONCE)
        await move_absorbed(self._store, self._describe)

    async def expire(self, nodes: Sequence[PageVersion]) -> list[bool]:
        """Remove these versions from their clusters without events; the representative of others stays.

        Each leaves a tombstone, which stays until it is released.

        Returns:
            Whether each has gone, now or before; False where it stays.

        Raises:
            CorruptData: cells contradict each other.
        """
        pace = Pace(min(len(nodes), _EXPIRED_AT_ONCE), self._store.take_turn, self._jitter)
        gone: list[bool] = []
        while len(gone) < len(nodes):
            try:
                answers = await self._expire(nodes[len(gone) :][: pace.limit], pace.turn)
            except StaleSnapshot as stale:
                await pace.back_off(stale)
                continue
            if answers is None:
                await pace.back_off()
            else:
                gone += answers
                pace.advance()
        return gone

    async def release(self, nodes: Sequence[PageVersion]) -> None:
        """Start the age of these versions' tombstones; leave a page that has moved on alone. Safe to repeat.

        Only once no record calls these versions living: who reads one then might join a page that is gone.

        Cost: one round trip, another one where there are tombstones.
        """
        if not nodes:
            return
        reader = Reader(self._store, self._describe)
        await reader.read(page_addresses({node.handle for node in nodes}))
        cells = [(reader.snapshot.pages[node.handle], node) for node in nodes]
        tombstones = [
            Aged(cell.rank, node.handle)
            for cell, node in cells
            if cell.version == node.version and not cell.is_living
        ]
        if tombstones:
            await self._store.age(tombstones)

    async def standing(self, handles: Sequence[Handle]) -> dict[Handle, ClusterState]:
        """Return the present clusters of these pages; a page that was always alone is left out.

        Raises:
            CorruptData: cells contradict each other.

        Cost: two round trips.
        """
        if not handles:
            return {}
        return await retry_on_conflict(lambda: self._standing(handles), self._jitter)

    def walk(self, retry: Retry = once) -> AsyncIterator[WalkedCluster]:
        """Yield every cluster of two or more, see `walk_clusters`."""
        return walk_clusters(self._store, retry)

    async def _standing(self, handles: Sequence[Handle]) -> dict[Handle, ClusterState]:
        """Try once to read the clusters of pages.

        Raises:
            StaleSnapshot: a cluster ended between the two reads.
        """
        reader = Reader(self._store, self._describe)
        await reader.read(page_addresses(set(handles)))
        keys = {
            handle: reader.snapshot.root(cell.cluster(handle))
            for handle, cell in reader.snapshot.pages.items()
            if cell.is_living and cell.is_linked
        }
        cells = {handle: reader.snapshot.clusters[key] for handle, key in keys.items()}
        found = {
            handle: cell.state(keys[handle])
            for handle, cell in cells.items()
            if isinstance(cell, ClusterCell)
        }
        # A page that was linked once may be alone again, in a cluster that it founded itself.
        ended = [handle for handle in keys.keys() - found.keys() if keys[handle].handle != handle]
        if ended:
            key = keys[min(ended)]
            raise StaleSnapshot(f"cluster {key.id}, that of page {min(ended):016x}, is gone", reader.snapshot)
        return found

    async def _expire(self, nodes: Sequence[PageVersion], turn: bytes) -> list[bool] | None:
        """Try once to expire pages; None when another daemon changed their cells meanwhile."""
        reader = Reader(self._store, self._describe)
        await reader.read(page_addresses({node.handle for node in nodes}))
        overlay, gone = await planned(
            reader, nodes, lambda overlay, node, number: expire(overlay, node, PROVISIONAL_RANK + number)
        )
        base = await self._store.commit(changes_of(reader, overlay, len(nodes), turn))
        return None if base is None else gone
