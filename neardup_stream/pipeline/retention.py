"""Lets pages go that were not seen for long, and stubs that nobody needs any more.

One page goes in steps, in an order in which a crash after any of them is finished by the next sweep:

    live ──1──► expiring ──2──► out of its cluster ──3──► out of the index ──4──► gone ──5──► released

1 and 4 are written only if the record has not moved; the others may be repeated. An expiring record still
counts as living text, and is never taken back: a page that comes back meanwhile comes as a new version, whose
index entries are its own. A page that speaks for others stays expiring until it does not. Nothing is told:
expiry makes no event.

Until a page is released, the clusters refuse whoever takes it for living because its record said so. A crash
just before that is mended when the stub is dropped.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from neardup_stream.clusters.placements import Settled
from neardup_stream.clusters.requests import ClusterNode
from neardup_stream.errors import ConfigError
from neardup_stream.hashing.handles import next_handle
from neardup_stream.indexes.protocol import Index
from neardup_stream.message import Position
from neardup_stream.page import Handle
from neardup_stream.pipeline.indexed import indexed_pages
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import RecordChange, RecordDrop, RecordStore

__all__ = [
    "SLOTS_AT_ONCE",
    "WALKS_AT_ONCE",
    "Due",
    "ExpiringClusters",
    "RetentionConfig",
    "Sweep",
    "Sweeper",
    "due",
]

Due = Literal["mark", "finish", "expire", "drop"]
"""mark a live page as expiring; finish one that is marked; expire a short page, which is in no index and
speaks for nobody, at once; drop a stub."""

Sweep = Literal["scanned", "marked", "expired", "speaks_for_others", "dropped"]
"""What was done with records: expired are now stubs; those that speak for others stay for now."""


SLOTS_AT_ONCE = 64
"""Some four thousand records. Slot by slot, a sweeper cannot keep up with pages that come at full speed, for
each of its round trips waits for its turn beside theirs."""

WALKS_AT_ONCE = 16
"""Slots that are read together, over a connection each."""


@dataclass(frozen=True, slots=True)
class RetentionConfig:
    """How long pages and stubs are kept.

    Attributes:
        page_seconds: since a page was last seen; None keeps every page.
        stub_seconds: since it went. Longer than any daemon may sleep and then go on, or than any offset may
            be set back: what a stub remembers is what makes late writers harmless.
        slots_per_pass: how much one pass looks at.
    """

    page_seconds: int | None
    stub_seconds: int
    slots_per_pass: int = 16

    def __post_init__(self) -> None:
        """Refuse what would let everything go at once, or nothing happen.

        Raises:
            ConfigError: a number is below one.
        """
        for name in ("page_seconds", "stub_seconds", "slots_per_pass"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigError(f"retention.{name} ({value}) must be at least 1")


class ExpiringClusters(Protocol):
    """What a sweep needs of the clusters."""

    async def expire(self, nodes: Sequence[ClusterNode]) -> list[bool]:
        """Let pages leave their clusters silently; False for one that stays, because it speaks for others.

        A node that has left before, or was never there, has left.
        """
        ...

    async def release(self, nodes: Sequence[ClusterNode]) -> None:
        """No record calls these pages living any more; whatever is kept of them may go, by and by."""
        ...

    async def settled(self, positions: Sequence[Position]) -> Settled:
        """What is decided, and what is finished."""
        ...


def due(record: PageRecord, now_seconds: int, config: RetentionConfig) -> Due | None:
    """What is to be done with a record now; None for nothing."""
    unseen_seconds = now_seconds - record.seen_seconds
    if record.state == "expiring":
        return "finish"
    if record.state == "gone":
        return "drop" if unseen_seconds >= config.stub_seconds else None
    if config.page_seconds is None or unseen_seconds < config.page_seconds:
        return None
    return "mark" if record.state == "live" else "expire"


class _Stored(NamedTuple):
    """A record, where it is kept and as which bytes."""

    handle: Handle
    packed: bytes
    record: PageRecord


class Sweeper:
    """Goes round the slots of the records, a few in each pass. Several may sweep at once.

    Args:
        records: keeps the page records.
        index: of the same pages.
        clusters: of the same pages.
        config: how long things are kept.
        first_slot: where to begin, so that several sweepers need not meet.
    """

    def __init__(
        self,
        *,
        records: RecordStore,
        index: Index,
        clusters: ExpiringClusters,
        config: RetentionConfig,
        first_slot: int = 0,
    ) -> None:
        self._records = records
        self._index = index
        self._clusters = clusters
        self._config = config
        self._next_slot = first_slot % records.slot_count

    async def sweep(self, now_seconds: int) -> Counter[Sweep]:
        """One pass over the next slots; the next pass goes on where this one ended, or failed.

        Returns:
            How many records met what.

        Raises:
            StoreUnavailable: some steps may be done; sweeping again does the rest.
            CorruptData: a stored record cannot be read.
        Cost: a round trip for `WALKS_AT_ONCE` slots, some ten more for the `SLOTS_AT_ONCE` in which something
        is due.
        """
        counts: Counter[Sweep] = Counter()
        slot_count = self._records.slot_count
        left = min(self._config.slots_per_pass, slot_count)
        while left:
            slots = [(self._next_slot + step) % slot_count for step in range(min(left, SLOTS_AT_ONCE))]
            counts += await self._sweep_slots(slots, now_seconds)
            self._next_slot = (slots[-1] + 1) % slot_count
            left -= len(slots)
        return counts

    async def _sweep_slots(self, slots: Sequence[int], now_seconds: int) -> Counter[Sweep]:
        walked: list[tuple[Handle, bytes]] = []
        for first in range(0, len(slots), WALKS_AT_ONCE):
            group = slots[first : first + WALKS_AT_ONCE]
            for walk in await asyncio.gather(*map(self._records.walk, group)):
                walked += walk
        by_due: defaultdict[Due | None, list[_Stored]] = defaultdict(list)
        for handle, packed in walked:
            record = PageRecord.unpack(packed)
            by_due[due(record, now_seconds, self._config)].append(_Stored(handle, packed, record))
        dropped = await self._drop(by_due["drop"])
        marked = await self._replace(by_due["mark"], PageRecord.expiring)
        expiring = [*by_due["finish"], *marked, *by_due["expire"]]
        leaving = await self._leave(expiring)
        expired = await self._replace(leaving, lambda record: record.expired(now_seconds))
        await self._clusters.release(_nodes(leaving))
        return Counter(
            {
                "scanned": len(walked),
                "marked": len(marked),
                "expired": len(expired),
                "speaks_for_others": len(expiring) - len(leaving),
                "dropped": dropped,
            }
        )

    async def _leave(self, expiring: Sequence[_Stored]) -> list[_Stored]:
        """Take pages out of their clusters and then the index; those that left."""
        if not expiring:
            return []
        answers = await self._clusters.expire(_nodes(expiring))
        leaving = [each for each, has_left in zip(expiring, answers, strict=True) if has_left]
        indexed = [
            entry
            for handle, _, record in leaving
            if record.is_indexed
            for entry in indexed_pages(handle, record)
        ]
        if indexed:
            await self._index.remove(indexed)
        return leaving

    async def _replace(
        self, stored: Sequence[_Stored], next_of: Callable[[PageRecord], PageRecord]
    ) -> list[_Stored]:
        """Write what follows each record; those that had not moved, as they are now."""
        if not stored:
            return []
        following = [_stored(each.handle, next_of(each.record)) for each in stored]
        answers = await self._records.replace(
            [
                RecordChange(each.handle, each.packed, new.packed)
                for each, new in zip(stored, following, strict=True)
            ]
        )
        return [new for new, answer in zip(following, answers, strict=True) if answer.value == new.packed]

    async def _drop(self, stubs: Sequence[_Stored]) -> int:
        """Remove stubs, but none whose next handle is taken: the page there may have found this one taken."""
        stubs = await self._decided(stubs)
        if not stubs:
            return 0
        await self._clusters.release(_nodes(stubs))
        neighbors = await self._records.fetch([next_handle(stub.handle) for stub in stubs])
        drops = [
            RecordDrop(stub.handle, stub.packed, stub.record.version)
            for stub, neighbor in zip(stubs, neighbors, strict=True)
            if neighbor is None
        ]
        return sum(await self._records.drop(drops))

    async def _decided(self, stubs: Sequence[_Stored]) -> list[_Stored]:
        """Those that nobody needs any more; without its stub a forget that is still to be decided is lost.

        Where there are no clusters no stub has a rank, but the position that made it is finished some day.
        """
        makers = [stub.record.maker for stub in stubs if not stub.record.rank]
        finished = (await self._clusters.settled(makers)).finished if makers else frozenset()
        return [stub for stub in stubs if stub.record.rank or stub.record.maker in finished]


def _stored(handle: Handle, record: PageRecord) -> _Stored:
    return _Stored(handle, record.pack(), record)


def _nodes(stored: Sequence[_Stored]) -> list[ClusterNode]:
    return [ClusterNode(handle, record.version, record.id, record.url) for handle, _, record in stored]
