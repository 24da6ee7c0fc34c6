"""What every store promises; the contract suite in `tests/contracts/stores.py` holds them to it.

Two stores, both dumb and atomic: the decisions are made above, in pure code. Whoever calls them awaits one
call before the next. Every write may be run twice with the same effect, because a client repeats a call
whose answer was lost. Each method raises StoreUnavailable when the server is away; a part of a batch may
then have been written.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from neardup_stream.page import Handle

__all__ = [
    "ProbeAnswer",
    "RecordAnswer",
    "RecordChange",
    "RecordDrop",
    "RecordMark",
    "RecordStore",
    "TableEntries",
    "TableStore",
]


class TableEntries(NamedTuple):
    """What a batch of pages wants to read from and write to the tables.

    All arrays have one row for each (page, table), ordered by page: of two pages in one batch the later one
    finds the earlier. A fingerprint, permuted for its table, is cut into a leading byte, a bucket number
    and the rest; `lows` and `highs` bound the rests that agree with it on the whole prefix.

    Attributes:
        rows: uint32, the page's row in the batch, ascending.
        tables: uint8, the table's number.
        leading_bytes: uint8.
        buckets: uint32, the bits between leading byte and rest.
        lows: uint8 (n, rest_bytes), big-endian, first rest of the range.
        highs: uint8 (n, rest_bytes), last rest of the range.
        rests: uint8 (n, rest_bytes), this page's own.
        handles: uint64, who the page is.
        version_bytes: uint8, low bits of the page's version.
    """

    rows: NDArray[np.uint32]
    tables: NDArray[np.uint8]
    leading_bytes: NDArray[np.uint8]
    buckets: NDArray[np.uint32]
    lows: NDArray[np.uint8]
    highs: NDArray[np.uint8]
    rests: NDArray[np.uint8]
    handles: NDArray[np.uint64]
    version_bytes: NDArray[np.uint8]


class ProbeAnswer(NamedTuple):
    """What the probes found: one row for each (page, table, stored entry), so a candidate may come twice.

    Attributes:
        rows: uint32, the probing page's row in the batch.
        handles: uint64, of the stored page.
        version_bytes: uint8, of the stored entry.
        distances_bits: uint8.
        bucket_cap_hits: how many ranges held more entries than may be read.
    """

    rows: NDArray[np.uint32]
    handles: NDArray[np.uint64]
    version_bytes: NDArray[np.uint8]
    distances_bits: NDArray[np.uint8]
    bucket_cap_hits: int


class TableStore(Protocol):
    """Keeps the permuted tables: sorted sets of rests, keyed by leading byte and bucket."""

    async def probe_and_insert(
        self, entries: TableEntries, distance_bits: int, bucket_cap: int
    ) -> ProbeAnswer:
        """Probe each entry's range, then insert it, in order.

        Atomic per shard: of two matching pages that are probed and inserted at once by two callers, at least
        one finds the other. A page never finds its own handle. Inserting what is there changes nothing.

        Args:
            entries: one row per page and table.
            distance_bits: entries further away than this are not reported.
            bucket_cap: at most this many entries of one range are read; a range with more is counted.

        Cost: one range read and one insert per entry; one round trip per call of the script.
        """
        ...

    async def probe(self, entries: TableEntries, distance_bits: int, bucket_cap: int) -> ProbeAnswer:
        """The same without inserting: pages of the batch do not find each other."""
        ...


class RecordChange(NamedTuple):
    """Write `new` for `handle` if what is stored is still `expected`.

    Attributes:
        handle: whose record.
        expected: what the writer saw; None for nothing.
        new: what it wants to stand there.
        floor: the version floor of the handle's slot as the writer knows it. Counts only where nothing is
            expected: a first record that took no notice of the floor might bring a version back.
    """

    handle: Handle
    expected: bytes | None
    new: bytes
    floor: int = 0


class RecordAnswer(NamedTuple):
    """What is stored after a change.

    Attributes:
        value: the change's own `new` where it was written; None when nothing is stored.
        floor: version floor of the slot where nothing is stored, else 0.
    """

    value: bytes | None
    floor: int = 0


class RecordMark(NamedTuple):
    """Write the rank into the record of `handle` if the record's header has this version byte."""

    handle: Handle
    version_byte: int
    rank: int


class RecordDrop(NamedTuple):
    """Remove the record of `handle` if it is still `expected`, and raise its slot's version floor."""

    handle: Handle
    expected: bytes
    floor: int


class RecordStore(Protocol):
    """Keeps one value of bytes per handle, in slots of neighboring handles.

    A slot has a version floor, 0 at first, which only rises: what was removed from it had versions up to
    there. All that is known of a value is its first seven bytes, see `page_record`.
    """

    @property
    def slot_count(self) -> int:
        """How many slots there are, so that all records can be walked."""
        ...

    async def fetch(self, handles: Sequence[Handle]) -> list[bytes | None]:
        """The values of `handles`, in order; None where nothing is stored. One round trip (per shard)."""
        ...

    async def replace(self, changes: Sequence[RecordChange]) -> list[RecordAnswer]:
        """Compare and set, each change atomically, in order. One round trip (per shard)."""
        ...

    async def mark(self, marks: Sequence[RecordMark]) -> None:
        """Write ranks, each atomically; no record travels. One round trip (per shard)."""
        ...

    async def drop(self, drops: Sequence[RecordDrop]) -> list[bool]:
        """Remove records, each atomically together with raising the floor of its slot.

        Returns:
            Whether each one is gone now. One round trip (per shard).
        """
        ...

    async def walk(self, slot: int) -> list[tuple[Handle, bytes]]:
        """Every record of one slot in [0, `slot_count`), in any order. One round trip."""
        ...
