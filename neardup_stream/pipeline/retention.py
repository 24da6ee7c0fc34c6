"""Expires pages that were not seen for long, and drops stubs that are no longer needed.

A page is removed in steps, in an order in which the next sweep finishes what a crash after any step left:

    live ──1──► expiring ──2──► out of its cluster ──3──► out of the index ──4──► gone ──5──► released

1 and 4 are compare-and-set; the others may be repeated. An expiring record still counts as living text, and
never becomes live again: a page that returns meanwhile is a new version, with index entries of its own. The
representative of others stays expiring until it has no other members. Expiry publishes no event.

A version that is not decided yet is not removed, as its decision says where the page is now: subscribers have
its former version in a cluster, perhaps as a duplicate. One that is not decided for as long as stubs are kept
never is: no daemon reads its record any more, unless all of them stood for so long.

Until a page is released, the clusters refuse writers that still read it as living. What a crash just before
the release leaves is repaired when the stub is dropped.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

from neardup_stream.chunks import in_chunks
from neardup_stream.clusters.placements import AlreadyDecided
from neardup_stream.clusters.requests import PageVersion
from neardup_stream.errors import ConfigError
from neardup_stream.hashing.handles import next_handle
from neardup_stream.indexes.protocol import Index
from neardup_stream.message import Position, is_topic
from neardup_stream.page import Handle
from neardup_stream.pipeline.indexed import indexed_pages
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import RecordChange, RecordDrop, RecordStore

__all__ = [
    "SWEPT_AT_ONCE",
    "Due",
    "ExpiringClusters",
    "RetentionConfig",
    "Sweep",
    "Sweeper",
    "Swept",
    "due",
]

Due = Literal["remove", "finish", "drop"]
"""remove a page, once its version is decided; finish one that is marked as expiring; drop a stub."""

Sweep = Literal["scanned", "marked", "expired", "representative", "dropped"]
"""What was done with records: expired are now stubs; representatives of other pages stay for now."""

_ROUND_SHARE = 0.1

_JUDGED_AT_ONCE = 500
"""Records that are unpacked before the event loop does something else."""

SWEPT_AT_ONCE = 100
"""Pages that are removed together: their entries, some 2,000, take Redis some 3 ms."""

_NONE_DECIDED = AlreadyDecided({}, frozenset(), 0)


@dataclass(frozen=True, slots=True)
class RetentionConfig:
    """How long pages and stubs are kept.

    Attributes:
        page_seconds: since a page was last seen; None keeps every page.
        stub_seconds: since its removal. Longer than any daemon may be paused and then resume, or than any
            offset may be set back: the offsets and version of a stub are what makes late writers harmless.
    """

    page_seconds: int | None
    stub_seconds: int

    def __post_init__(self) -> None:
        """Refuse times that would expire everything at once.

        Raises:
            ConfigError: a number is below one.
        """
        for name, value in (
            ("retention.seconds", self.page_seconds),
            ("retention.stub_seconds", self.stub_seconds),
        ):
            if value is not None and value < 1:
                raise ConfigError(f"{name} ({value}) must be at least 1")

    @property
    def round_seconds(self) -> float:
        """How long to take to look at every record once: a tenth of the shortest time that any is kept.

        A slot that was to be looked at by a daemon that died waits for the next round, so nothing is kept for
        much longer than a fifth above its time.
        """
        return min(self.page_seconds or self.stub_seconds, self.stub_seconds) * _ROUND_SHARE


class ExpiringClusters(Protocol):
    """What a sweep needs of the clusters."""

    async def expire(self, nodes: Sequence[PageVersion]) -> list[bool]:
        """Remove pages from their clusters without events; False for a representative of others, which stays.

        A node that has left before, or was never there, has left.
        """
        ...

    async def release(self, nodes: Sequence[PageVersion]) -> None:
        """Note that no record calls these pages living any more; what is stored of them may be removed."""
        ...

    async def already_decided(self, positions: Sequence[Position]) -> AlreadyDecided:
        """Return what is decided, and what is finished."""
        ...


def due(record: PageRecord, now_seconds: int, config: RetentionConfig) -> Due | None:
    """Return what is to be done with a record now; None for nothing."""
    unseen_seconds = now_seconds - record.seen_seconds
    if record.state == "expiring":
        return "finish"
    if record.state == "gone":
        return "drop" if unseen_seconds >= config.stub_seconds else None
    if config.page_seconds is None or unseen_seconds < config.page_seconds:
        return None
    return "remove"


@dataclass(slots=True)
class Swept:
    """What was done in some slots, also by a sweep that failed: the one that repeats it adds to it.

    Attributes:
        counts: how many records had each result.
        oldest_overdue_seconds: of the pages that were removed, how much longer than `retention.seconds` the
            oldest was kept; 0 where there was none.
        slot_count: how many slots are finished, from the first on.
    """

    counts: Counter[Sweep] = field(default_factory=Counter)
    oldest_overdue_seconds: int = 0
    slot_count: int = 0


class _Stored(NamedTuple):
    """A record, where it is kept and as which bytes."""

    handle: Handle
    packed: bytes
    record: PageRecord


class Sweeper:
    """Looks at records and removes what is due. Several sweeps may run at once.

    Args:
        records: keeps the page records.
        index: of the same pages.
        clusters: of the same pages.
        config: how long things are kept.
    """

    def __init__(
        self, *, records: RecordStore, index: Index, clusters: ExpiringClusters, config: RetentionConfig
    ) -> None:
        self._records = records
        self._index = index
        self._clusters = clusters
        self._config = config

    async def sweep(
        self,
        now_seconds: int,
        first_slot: int = 0,
        slot_count: int | None = None,
        swept: Swept | None = None,
    ) -> Swept:
        """Look at the records of some slots.

        Args:
            now_seconds: epoch seconds, by the clock of the store.
            first_slot: where to begin.
            slot_count: how many slots, none of them behind the last; None for all from the first on.
            swept: what sweeps of these slots did that failed; what this one does is added to it.

        Returns:
            What was done in these slots.

        Raises:
            StoreUnavailable: some steps may be done; sweeping again, with `swept`, does the rest.
            CorruptData: a stored record cannot be read.
        Cost: a round trip for some thousand records, or empty slots; some ten more for `SWEPT_AT_ONCE` that
        are due.
        """
        swept = Swept() if swept is None else swept
        end = self._records.slot_count if slot_count is None else first_slot + slot_count
        while (slot := first_slot + swept.slot_count) < end:
            walked = await self._records.walk(slot, end - slot)
            staying = 0
            for some in in_chunks(walked.records, _JUDGED_AT_ONCE):
                staying += await self._sweep_records(some, now_seconds, swept)
                await asyncio.sleep(0)
            swept.counts["scanned"] += len(walked.records)
            swept.counts["representative"] += staying
            swept.slot_count = walked.next_slot - first_slot
        return swept

    async def _sweep_records(
        self, walked: Sequence[tuple[Handle, bytes]], now_seconds: int, swept: Swept
    ) -> int:
        """Remove what is due, and add it to `swept`; return how many representatives stay.

        These are counted once all of the walk is done: a sweep that is repeated meets them again.
        """
        by_due: defaultdict[Due | None, list[_Stored]] = defaultdict(list)
        for handle, packed in walked:
            record = PageRecord.unpack(packed)
            by_due[due(record, now_seconds, self._config)].append(_Stored(handle, packed, record))
        # Where one of these is undecided, its former version may be in a cluster.
        removable = await self._removable(by_due["remove"], now_seconds, swept)
        markable = [each for each in removable if not each.record.is_uncompared]
        # These need no mark, as they are in no index and, once decided, in no cluster.
        unmarked = [each for each in removable if each.record.is_uncompared]
        for stubs in in_chunks(by_due["drop"], SWEPT_AT_ONCE):
            swept.counts["dropped"] += await self._drop(stubs)
        for marking in in_chunks(markable, SWEPT_AT_ONCE):
            marked = await self._replace(marking, PageRecord.expiring)
            swept.counts["marked"] += len(marked)
            by_due["finish"] += marked
        staying = 0
        for expiring in in_chunks([*by_due["finish"], *unmarked], SWEPT_AT_ONCE):
            staying += await self._expire(expiring, now_seconds, swept)
        return staying

    async def _expire(self, expiring: Sequence[_Stored], now_seconds: int, swept: Swept) -> int:
        """Remove pages, and add them to `swept`; return how many stay, as they represent others."""
        leaving = await self._leave(expiring)
        expired = await self._replace(leaving, lambda record: record.expired(now_seconds))
        swept.counts["expired"] += len(expired)
        await self._clusters.release(_nodes(expired))
        return len(expiring) - len(leaving)

    async def _leave(self, expiring: Sequence[_Stored]) -> list[_Stored]:
        """Remove pages from their clusters and then the index; return those that left."""
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
        stubs = await self._droppable(stubs)
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

    async def _removable(self, stored: Sequence[_Stored], now_seconds: int, swept: Swept) -> list[_Stored]:
        """Return the pages that are decided, or due for longer than any daemon may be paused; note how long.

        Where there are no clusters no record has a rank, but its position is known as decided. That of a file
        or a pipe may never be, if its run was cut.
        """
        already_decided = await self._already_decided(stored)
        removable = []
        for each in stored:
            is_decided = each.record.rank or already_decided.knows(each.record.maker)
            kept_seconds = (self._config.page_seconds or 0) + (0 if is_decided else self._config.stub_seconds)
            overdue_seconds = now_seconds - each.record.seen_seconds - kept_seconds
            if overdue_seconds >= 0:
                removable.append(each)
                swept.oldest_overdue_seconds = max(swept.oldest_overdue_seconds, overdue_seconds)
        return removable

    async def _droppable(self, stubs: Sequence[_Stored]) -> list[_Stored]:
        """Return the stubs whose positions are finished; without its stub a forget that is not would be lost.

        That of a file or a pipe may never be, if its run was cut; but it asks for no forget.
        """
        finished = (await self._already_decided(stubs)).finished
        return [
            each
            for each in stubs
            if each.record.rank or each.record.maker in finished or _is_of_file(each.record)
        ]

    async def _already_decided(self, stored: Sequence[_Stored]) -> AlreadyDecided:
        """Return what is decided, and finished, of the positions that made those of these without a rank."""
        makers = [each.record.maker for each in stored if not each.record.rank]
        return await self._clusters.already_decided(makers) if makers else _NONE_DECIDED


def _stored(handle: Handle, record: PageRecord) -> _Stored:
    return _Stored(handle, record.pack(), record)


def _is_of_file(record: PageRecord) -> bool:
    """Return whether a file or a pipe brought this version."""
    return not is_topic(record.maker.partition.input_id)


def _nodes(stored: Sequence[_Stored]) -> list[PageVersion]:
    return [PageVersion(handle, record.version, record.id, record.url) for handle, _, record in stored]
