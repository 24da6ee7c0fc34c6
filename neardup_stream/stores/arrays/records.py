"""Keep page records in one process: first versions of pages in arrays, all others as bytes in a dict."""

from collections.abc import Collection, Hashable, Sequence
from typing import Final, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from neardup_stream.message import Partition
from neardup_stream.page import Handle
from neardup_stream.stores.arrays.growing import with_room
from neardup_stream.stores.memory.records import MemoryRecords
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import RankWrite, RecordAnswer, RecordChange, RecordDrop, WalkedRecords

__all__ = ["ArrayRecords", "FirstVersions", "StoredColumns"]

_FIRST_ROOM: Final = 1 << 12
_UNKNOWN: Final = -1

_N = TypeVar("_N", bound=Hashable)


class FirstVersions(NamedTuple):
    """Pages that have no record, one row each, without a known frame; all of one input.

    Attributes:
        handles: of the pages, all different.
        urls: as crawled.
        other_ids: the ids where they differ from the URLs, else empty.
        scopes: within what the pages are compared; empty for everything.
        is_short: whether a page has too few tokens to be judged; then its fingerprints below are not kept.
        fingerprints: simhashes.
        text_fingerprints: see `PageRecord`.
        shingle_counts: see there.
        sketches: uint8[pages, sketch_bytes].
        bands: uint32[pages, bands].
        partition: where the pages come from.
        offsets: of the records there.
        seen_seconds: when they came, epoch seconds.
        ranks: when they were decided.
    """

    handles: NDArray[np.uint64]
    urls: Sequence[str]
    other_ids: Sequence[str]
    scopes: Sequence[str]
    is_short: NDArray[np.bool_]
    fingerprints: NDArray[np.uint64]
    text_fingerprints: NDArray[np.uint64]
    shingle_counts: NDArray[np.int64]
    sketches: NDArray[np.uint8]
    bands: NDArray[np.uint32]
    partition: Partition
    offsets: NDArray[np.int64]
    seen_seconds: int
    ranks: NDArray[np.int64]


class StoredColumns(NamedTuple):
    """What the store keeps of the rows of `FirstVersions`, by row number; rows that are not used yet too."""

    handles: NDArray[np.uint64]
    fingerprints: NDArray[np.uint64]
    text_fingerprints: NDArray[np.uint64]
    shingle_counts: NDArray[np.int64]
    ranks: NDArray[np.int64]
    offsets: NDArray[np.int64]
    seen_seconds: NDArray[np.int64]
    inputs: NDArray[np.int32]
    scopes: NDArray[np.int32]
    is_short: NDArray[np.bool_]
    sketches: NDArray[np.uint8]
    bands: NDArray[np.uint32]


class ArrayRecords:
    """A RecordStore that also takes the first versions of many pages at once, without an object for each.

    A record that is changed moves to the dict and stays there.

    Args:
        slot_bits: log2 of the number of slots.
        sketch_bytes: of each page.
        band_count: of each page.

    Cost: of a page in arrays 57 bytes, its sketch, its bands and its URL; twice as much at most, because
    arrays grow by doubling.
    """

    def __init__(self, slot_bits: int = 4, sketch_bytes: int = 0, band_count: int = 0) -> None:
        self._slot_bits = slot_bits
        self._changed = MemoryRecords(slot_bits)
        self._others: set[int] = set()
        self._rows: dict[int, int] = {}
        self._count = 0
        self._urls: list[str] = []
        self._other_ids: list[str] = []
        self._inputs = _Numbered[Partition]()
        self._scopes = _Numbered[str]()
        self._columns = _empty_columns(sketch_bytes, band_count)
        self._by_slot: _RowsBySlot | None = None
        self._has_dropped = False

    @property
    def slot_count(self) -> int:
        """See the contract."""
        return 1 << self._slot_bits

    @property
    def columns(self) -> StoredColumns:
        """The rows of the pages in arrays; replaced when they grow."""
        return self._columns

    @property
    def takes_first_versions(self) -> bool:
        """Whether `add` may be called: a record that was dropped leaves a version floor for new pages."""
        return not self._has_dropped

    def add(self, pages: FirstVersions) -> int:
        """Store pages that have no record, and return the row of the first one; the others follow it."""
        first, end = self._count, self._count + len(pages.handles)
        self._columns = StoredColumns(*with_room(self._columns, end))
        is_live = ~pages.is_short
        own = slice(first, end)
        stored = self._columns
        stored.handles[own] = pages.handles
        stored.fingerprints[own] = pages.fingerprints * is_live
        stored.text_fingerprints[own] = pages.text_fingerprints
        stored.shingle_counts[own] = pages.shingle_counts
        stored.ranks[own] = pages.ranks
        stored.offsets[own] = pages.offsets
        stored.seen_seconds[own] = pages.seen_seconds
        stored.inputs[own] = self._inputs.number(pages.partition)
        stored.scopes[own] = [self._scopes.number(scope) for scope in pages.scopes]
        stored.is_short[own] = pages.is_short
        stored.sketches[own] = pages.sketches
        stored.bands[own] = pages.bands
        self._urls += pages.urls
        self._other_ids += pages.other_ids
        self._rows.update(zip(pages.handles.tolist(), range(first, end), strict=True))
        self._count = end
        return first

    def knows_any(self, handles: Collection[int]) -> bool:
        """Return whether one of the pages has a record."""
        return not (self._rows.keys().isdisjoint(handles) and self._others.isdisjoint(handles))

    def rows(self, handles: Sequence[int]) -> NDArray[np.int64]:
        """Return where pages stand in the columns; -1 for those that do not."""
        return np.array([self._rows.get(handle, _UNKNOWN) for handle in handles], np.int64)

    def url(self, row: int) -> str:
        """Return the URL of a row."""
        return self._urls[row]

    def other_id(self, row: int) -> str:
        """Return the id of a row where it differs from the URL, else nothing."""
        return self._other_ids[row]

    def record(self, row: int) -> PageRecord:
        """Return the record of a row."""
        stored, is_short = self._columns, bool(self._columns.is_short[row])
        partition = self._inputs.value(int(stored.inputs[row]))
        return PageRecord(
            url=self._urls[row],
            fingerprint=int(stored.fingerprints[row]),
            text_fingerprint=int(stored.text_fingerprints[row]),
            version=1,
            made_by=(partition.input_id, partition.number, int(stored.offsets[row])),
            seen_seconds=int(stored.seen_seconds[row]),
            sketch=b"" if is_short else stored.sketches[row].tobytes(),
            shingle_count=0 if is_short else int(stored.shingle_counts[row]),
            bands=b"" if is_short else stored.bands[row].astype(">u4").tobytes(),
            other_id=self._other_ids[row],
            scope=self._scopes.value(int(stored.scopes[row])),
            state="short" if is_short else "live",
            rank=int(stored.ranks[row]),
        )

    def known_floor(self, handle: Handle) -> int:
        """See the contract."""
        return self._changed.known_floor(handle)

    async def fetch(self, handles: Sequence[Handle]) -> list[bytes | None]:
        """See the contract."""
        return [self._value(handle) for handle in handles]

    async def replace(self, changes: Sequence[RecordChange]) -> list[RecordAnswer]:
        """See the contract."""
        for change in changes:
            self._leave_columns(change.handle)
        answers = await self._changed.replace(changes)
        written = zip(changes, answers, strict=True)
        self._others.update(change.handle for change, answer in written if answer.value is not None)
        return answers

    async def write_ranks(self, writes: Sequence[RankWrite]) -> None:
        """See the contract."""
        for write in writes:
            self._leave_columns(write.handle)
        await self._changed.write_ranks(writes)

    async def drop(self, drops: Sequence[RecordDrop]) -> list[bool]:
        """See the contract."""
        for drop in drops:
            self._leave_columns(drop.handle)
        self._has_dropped = self._has_dropped or bool(drops)
        answers = await self._changed.drop(drops)
        self._others.difference_update(
            drop.handle for drop in drops if self._changed.value(drop.handle) is None
        )
        return answers

    async def walk(self, slot: int, slot_limit: int) -> WalkedRecords:
        """See the contract: one slot at a time."""
        walked = await self._changed.walk(slot, slot_limit)
        if self._by_slot is None or self._by_slot.order.size != self._count:
            self._by_slot = _rows_by_slot(self._columns.handles[: self._count], self._slot_bits)
        order, starts = self._by_slot
        rows = order[starts[slot] : starts[slot + 1]].tolist()
        handles = self._columns.handles[rows].tolist()
        for handle, row in zip(handles, rows, strict=True):
            if self._rows.get(handle) == row:
                walked.records.append((Handle(handle), self.record(row).pack()))
        return walked

    def _value(self, handle: Handle) -> bytes | None:
        row = self._rows.get(handle)
        return self._changed.value(handle) if row is None else self.record(row).pack()

    def _leave_columns(self, handle: Handle) -> None:
        """Let the record of a page be kept as bytes from now on."""
        row = self._rows.pop(handle, None)
        if row is not None:
            self._changed.put(handle, self.record(row).pack())
            self._others.add(handle)


def _empty_columns(sketch_bytes: int, band_count: int) -> StoredColumns:
    room = _FIRST_ROOM
    return StoredColumns(
        handles=np.empty(room, np.uint64),
        fingerprints=np.empty(room, np.uint64),
        text_fingerprints=np.empty(room, np.uint64),
        shingle_counts=np.empty(room, np.int64),
        ranks=np.empty(room, np.int64),
        offsets=np.empty(room, np.int64),
        seen_seconds=np.empty(room, np.int64),
        inputs=np.empty(room, np.int32),
        scopes=np.empty(room, np.int32),
        is_short=np.empty(room, np.bool_),
        sketches=np.empty((room, sketch_bytes), np.uint8),
        bands=np.empty((room, band_count), np.uint32),
    )


class _RowsBySlot(NamedTuple):
    """All rows in the order of their slots: those of a slot begin at `starts` of it."""

    order: NDArray[np.intp]
    starts: NDArray[np.intp]


def _rows_by_slot(handles: NDArray[np.uint64], slot_bits: int) -> _RowsBySlot:
    order = np.argsort(handles)
    slots = handles[order] >> np.uint64(64 - slot_bits) if slot_bits else np.zeros(order.size, np.uint64)
    starts = np.searchsorted(slots, np.arange((1 << slot_bits) + 1, dtype=np.uint64))
    return _RowsBySlot(order, starts)


class _Numbered(Generic[_N]):
    """Numbers values in the order in which they are met."""

    def __init__(self) -> None:
        self._numbers: dict[_N, int] = {}
        self._values: list[_N] = []

    def number(self, value: _N) -> int:
        """Return the number of a value."""
        number = self._numbers.setdefault(value, len(self._values))
        if number == len(self._values):
            self._values.append(value)
        return number

    def value(self, number: int) -> _N:
        """Return the value of a number."""
        return self._values[number]
