"""Define the protocols of stores; the contract suites in `tests/contracts` check every implementation.

Two stores, both dumb and atomic: the decisions are made above, in pure code. Every write may be run twice
with the same effect, because a client repeats a call whose answer was lost. Each method raises
StoreUnavailable when the server is unavailable; a part of a batch may then have been written.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from neardup_stream.page import Handle

__all__ = [
    "WORD_TURNOVER",
    "ProbeAnswer",
    "ProbeLimits",
    "RankWrite",
    "RecordAnswer",
    "RecordChange",
    "RecordDrop",
    "RecordStore",
    "Retry",
    "TableEntries",
    "TableMembers",
    "TableStore",
    "WalkedRecords",
    "all_records",
    "once",
]

T = TypeVar("T")

WORD_TURNOVER = 8
"""One page in so many, by its handle, enters a word whose bucket is oversized, in place of the oldest."""


class TableMembers(NamedTuple):
    """Members of the tables' buckets: which bucket, and its content.

    All arrays have one row for each member. A permuted fingerprint, or a band's word, is cut into a leading
    byte, a bucket number and the suffix; the first two name the bucket.

    Attributes:
        tables: uint8, the table's number.
        leading_bytes: uint8.
        buckets: uint32, the bits between leading byte and suffix.
        suffixes: uint64, the bits that are stored.
        suffix_bytes: uint8, 1 to 8, how many bytes hold a suffix of this table; 0 for a table of words, in
            which only equal suffixes match, below 2**16.
        handles: uint64, who the page is.
        version_bytes: uint8, low bits of the page's version.
    """

    tables: NDArray[np.uint8]
    leading_bytes: NDArray[np.uint8]
    buckets: NDArray[np.uint32]
    suffixes: NDArray[np.uint64]
    suffix_bytes: NDArray[np.uint8]
    handles: NDArray[np.uint64]
    version_bytes: NDArray[np.uint8]

    def take(self, at: NDArray[np.integer[Any] | np.bool_]) -> Self:
        """Return some of the members, by their rows or by a mask."""
        return type(self)(*(column[at] for column in self))


class TableEntries(NamedTuple):
    """What a batch of pages wants to read from and write to the tables.

    All arrays have one row for each (page, table), ordered by page: of two pages in one batch the later one
    finds the earlier.

    Attributes:
        rows: uint32, the page's row in the batch, ascending.
        members: what is inserted.
        lows: uint64, first suffix of the range to be read.
        highs: uint64, last suffix of the range; equal to the first where `suffix_bytes` is 0.
    """

    rows: NDArray[np.uint32]
    members: TableMembers
    lows: NDArray[np.uint64]
    highs: NDArray[np.uint64]


class ProbeLimits(NamedTuple):
    """What a probe reports, and how much it reads.

    Attributes:
        distance_bits: members whose suffix differs in more bits are not reported.
        bucket_cap: a range of at most this many members is read whole, 1 or more; a larger one is an
            oversized bucket.
        oversized_considered: at most this many members of an oversized bucket are considered, 1 or more.
        oversized_same_suffix: and of those with one suffix only so many, 1 or more: the lowest of a range,
            the oldest of a word.
        oversized_candidates: of all the oversized buckets that a page meets in one call of the script, at
            most this many pages are reported, 1 or more.
    """

    distance_bits: int
    bucket_cap: int
    oversized_considered: int
    oversized_same_suffix: int
    oversized_candidates: int


class ProbeAnswer(NamedTuple):
    """What the probes found: one row for each (entry, stored member), so a page may come more than once.

    Attributes:
        entries: uint32, the row of the probing entry in the batch's `TableEntries`.
        members: what was found, all in the probing entry's own bucket.
        truncated: uint32, rows of the entries that left members unread which they might have reported.
        bucket_cap_hits: of how many oversized buckets a limit on what is considered, or reported, left
            something out.
    """

    entries: NDArray[np.uint32]
    members: TableMembers
    truncated: NDArray[np.uint32]
    bucket_cap_hits: int


class TableStore(Protocol):
    """Keeps the tables: buckets of suffixes, keyed by table, leading byte and bucket number.

    Of the members with one word, `bucket_cap` + 1 are kept, so that it is known to be an oversized bucket. A
    further one enters only in the place of the oldest, and only one in `WORD_TURNOVER` does.
    """

    async def probe_and_insert(self, entries: TableEntries, limits: ProbeLimits) -> ProbeAnswer:
        """Probe each entry's range, then insert its member, in order.

        An entry finds those before it, and perhaps some behind it, as when the call is repeated.

        A range is read from its lowest member. Members of the page's own handle within the distance are
        passed over; in an oversized bucket also those whose suffix was seen in `limits.oversized_same_suffix`
        members already. Where such a suffix is within the distance, and where a limit bites, the entry is
        truncated.

        Atomic per shard: of two matching pages that are probed and inserted at once by two callers, at least
        one finds the other, or is truncated. Inserting what is there changes nothing.

        Cost: one range read and one insert per entry, however large its bucket; one round trip per call of
        the script.
        """
        ...

    async def probe(self, entries: TableEntries, limits: ProbeLimits) -> ProbeAnswer:
        """Return the same without inserting: pages of the batch do not find each other."""
        ...

    async def remove(self, members: TableMembers) -> None:
        """Remove these exact members; those that are not there are passed over."""
        ...


class RecordChange(msgspec.Struct, frozen=True, gc=False):
    """Write `new` for `handle` if what is stored is still `expected`.

    Attributes:
        handle: whose record.
        expected: what the writer saw; None for nothing.
        new: the value to store.
        floor: the version floor of the handle's slot as the writer knows it. Counts only where nothing is
            expected: a first record that took no notice of the floor might bring a version back.
        was_dropped: whether the writer knows that a record of this handle was dropped. Counts where the floor
            does.
    """

    handle: Handle
    expected: bytes | None
    new: bytes
    floor: int = 0
    was_dropped: bool = False


class RecordAnswer(msgspec.Struct, frozen=True, gc=False):
    """What is stored after a change.

    Attributes:
        value: the change's own `new` where it was written; None when nothing is stored.
        floor: version floor of the slot where nothing is stored, else 0.
        was_dropped: whether a record of the handle was dropped before, where nothing is stored. May rarely be
            true of a handle that never had one.
    """

    value: bytes | None
    floor: int = 0
    was_dropped: bool = False


class RankWrite(msgspec.Struct, frozen=True, gc=False):
    """Write the rank into the record of `handle` if the record's header has this version byte."""

    handle: Handle
    version_byte: int
    rank: int


class RecordDrop(NamedTuple):
    """Remove the record of `handle` if it is still `expected`, and raise its slot's version floor.

    A record that is lost has nothing to remove: `expected` is None, and the floor is raised if nothing is
    stored. Wherever the record is gone, it is remembered that the handle had one.
    """

    handle: Handle
    expected: bytes | None
    floor: int


class WalkedRecords(NamedTuple):
    """The records of some slots.

    Attributes:
        records: handles and values.
        next_slot: the first one behind them.
    """

    records: list[tuple[Handle, bytes]]
    next_slot: int


class RecordStore(Protocol):
    """Keeps one value of bytes per handle, in slots of neighboring handles.

    A slot has a version floor, 0 at first, which only rises: what was removed from it had versions up to
    there. All that is known of a value is its first seven bytes, see `page_record`.

    "One round trip (per shard)" is meant of some hundred values of a shard. In a cluster the calls for the
    others follow one another, a round trip each.
    """

    @property
    def slot_count(self) -> int:
        """How many slots there are, so that all records can be walked."""
        ...

    def known_floor(self, handle: Handle) -> int:
        """Return the version floor of the handle's slot as last seen, 0 where it was not; asks no server."""
        ...

    async def fetch(self, handles: Sequence[Handle]) -> list[bytes | None]:
        """Return the values of `handles`, in order; None where there is none. One round trip (per shard)."""
        ...

    async def replace(self, changes: Sequence[RecordChange]) -> list[RecordAnswer]:
        """Compare and set, each change atomically, in order. One round trip (per shard)."""
        ...

    async def write_ranks(self, writes: Sequence[RankWrite]) -> None:
        """Write ranks, each atomically; no record travels. One round trip (per shard)."""
        ...

    async def drop(self, drops: Sequence[RecordDrop]) -> list[bool]:
        """Remove records, each atomically together with raising the floor of its slot.

        Returns:
            Whether each one is gone now. One round trip (per shard).
        """
        ...

    async def walk(self, slot: int, slot_limit: int) -> "WalkedRecords":
        """Return every record of some slots from `slot` on, in any order; empty slots cost next to nothing.

        Args:
            slot: the first one, in [0, `slot_count`).
            slot_limit: most slots, at least 1; fewer where they hold some thousand records.

        Cost: one round trip.
        """
        ...


class Retry(Protocol):
    """Awaits a step, once or again and again while it raises Unavailable."""

    async def __call__(self, step: Callable[[], Awaitable[T]], /) -> T:
        """Return the result of the step."""
        ...


async def once(step: Callable[[], Awaitable[T]]) -> T:
    """Await a step and leave what it raises to the caller."""
    return await step()


async def all_records(store: RecordStore, retry: Retry = once) -> AsyncIterator[WalkedRecords]:
    """Yield every record of a store, part by part; no snapshot.

    Args:
        store: has the records.
        retry: runs each read of the store.

    Raises:
        StoreUnavailable: the store is unavailable.
    """
    slot, count = 0, store.slot_count
    while slot < count:
        walked = await retry(partial(store.walk, slot, count - slot))
        slot = walked.next_slot
        yield walked
