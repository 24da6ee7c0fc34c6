"""Permuted tables of 64-bit fingerprints over a store.

Source: Manku, Jain and Das Sarma 2007, section 3. We differ in keeping each table as many small sorted sets,
keyed by leading byte and bucket, and in filtering by distance where the table lives.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from neardup_stream.bits.permutations import Permutation
from neardup_stream.bits.words import Words
from neardup_stream.indexes.layout import IndexLayout
from neardup_stream.indexes.protocol import IndexedPage, Probed
from neardup_stream.match import Candidate
from neardup_stream.page import Handle
from neardup_stream.stores.protocol import ProbeAnswer, TableEntries, TableStore

__all__ = ["PermutedIndex"]


class PermutedIndex:
    """An Index of permuted tables.

    Args:
        store: keeps the tables.
        layout: how a fingerprint is cut into keys and members.
    """

    def __init__(self, store: TableStore, layout: IndexLayout) -> None:
        self._store = store
        self._layout = layout
        self._distance_bits = layout.config.permuted.distance_bits
        self._bucket_cap = layout.config.bucket_cap

    async def probe_and_insert(self, pages: Sequence[IndexedPage]) -> Probed:
        """See the contract. Cost: one range and one insert per page and table, batched by the store."""
        entries = table_entries(pages, self._layout)
        answer = await self._store.probe_and_insert(entries, self._distance_bits, self._bucket_cap)
        return _collect(pages, answer, inserted=True)

    async def probe(self, pages: Sequence[IndexedPage]) -> Probed:
        """See the contract."""
        entries = table_entries(pages, self._layout)
        answer = await self._store.probe(entries, self._distance_bits, self._bucket_cap)
        return _collect(pages, answer, inserted=False)


def table_entries(pages: Sequence[IndexedPage], layout: IndexLayout) -> TableEntries:
    """One row per page and table: where the page stands there, and the range of rests that may match it."""
    words = np.array([page.fingerprint for page in pages], dtype=np.uint64)
    table_count = len(layout.tables)
    permuted = np.stack([table.apply(words) for table in layout.tables], axis=1)
    rests = permuted & _low_mask(layout.rest_bits)
    low_bits = np.array([_below_prefix(table) for table in layout.tables], dtype=np.uint64)
    leading_bytes = permuted >> np.uint64(56)
    buckets = permuted << np.uint64(8) >> np.uint64(8) >> np.uint64(layout.rest_bits)
    handles = np.array([page.handle for page in pages], dtype=np.uint64)
    version_bytes = np.array([page.version & 0xFF for page in pages], dtype=np.uint8)
    return TableEntries(
        rows=np.repeat(np.arange(len(pages), dtype=np.uint32), table_count),
        tables=np.tile(np.arange(table_count, dtype=np.uint8), len(pages)),
        leading_bytes=leading_bytes.astype(np.uint8).ravel(),
        buckets=buckets.astype(np.uint32).ravel(),
        lows=_big_endian(rests & ~low_bits, layout.rest_bytes),
        highs=_big_endian(rests | low_bits, layout.rest_bytes),
        rests=_big_endian(rests, layout.rest_bytes),
        handles=np.repeat(handles, table_count),
        version_bytes=np.repeat(version_bytes, table_count),
    )


def _below_prefix(table: Permutation) -> int:
    return int(_low_mask(64 - table.prefix_bits))


def _low_mask(bits: int) -> np.uint64:
    return np.uint64((1 << bits) - 1)


def _big_endian(words: Words, byte_count: int) -> NDArray[np.uint8]:
    """The low bytes of each word as a row: big-endian, so that byte order is numeric order."""
    rows = words.ravel().astype(">u8").view(np.uint8).reshape(-1, 8)
    return rows[:, 8 - byte_count :]


def _collect(pages: Sequence[IndexedPage], answer: ProbeAnswer, *, inserted: bool) -> Probed:
    """Each candidate once, nearest first; a page of this very batch only for the pages after it."""
    row_of_handle = {page.handle: row for row, page in enumerate(pages)} if inserted else {}
    found: list[dict[Candidate, None]] = [{} for _ in pages]
    for row, handle, version_byte, distance_bits in zip(
        answer.rows.tolist(),
        answer.handles.tolist(),
        answer.version_bytes.tolist(),
        answer.distances_bits.tolist(),
        strict=True,
    ):
        if row_of_handle.get(handle, -1) < row:
            found[row][Candidate(Handle(handle), version_byte, distance_bits)] = None
    return Probed(
        candidates=[tuple(sorted(each, key=_nearest)) for each in found],
        bucket_cap_hits=answer.bucket_cap_hits,
    )


def _nearest(candidate: Candidate) -> tuple[int, int]:
    return candidate.distance_bits, candidate.handle
