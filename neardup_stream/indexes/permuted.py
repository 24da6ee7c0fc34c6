"""Index 64-bit fingerprints in permuted tables, and bands in tables of their own, over a store.

Source: Manku, Jain and Das Sarma 2007, section 3. Differences: each table is stored as many small sorted
sets, keyed by leading byte and bucket, and the store filters by distance.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup_stream.bits.words import Words
from neardup_stream.indexes.layout import IndexLayout
from neardup_stream.indexes.protocol import IndexedPage, Probed
from neardup_stream.match import Candidate, Scheme, version_byte
from neardup_stream.ordered import are_first
from neardup_stream.page import Handle
from neardup_stream.stores.protocol import ProbeAnswer, ProbeLimits, TableEntries, TableMembers, TableStore

__all__ = ["FoundMembers", "IndexedColumns", "PermutedIndex", "scheme_of", "table_entries"]

_BAND_ONLY = 255
"""The distance of a page that only bands found: above every real distance."""


class IndexedColumns(NamedTuple):
    """Pages as the index stores them, one row each; see `IndexedPage`.

    Attributes:
        handles: uint64.
        version_bytes: low eight bits of their versions, uint8.
        fingerprints: uint64.
        bands: uint64[pages, bands].
    """

    handles: NDArray[np.uint64]
    version_bytes: NDArray[np.uint8]
    fingerprints: NDArray[np.uint64]
    bands: NDArray[np.uint64]


class FoundMembers(NamedTuple):
    """What the probes of a batch found: each stored page version once per page, by page, the nearest first.

    Attributes:
        rows: of the pages that found something.
        handles: of what they found, uint64.
        version_bytes: uint8.
        distances: in bits, uint8; above every real distance where only bands are equal.
        bucket_cap_hits: see `Probed`.
        truncated_rows: see there.
        seen: see there.
    """

    rows: NDArray[np.uint32]
    handles: NDArray[np.uint64]
    version_bytes: NDArray[np.uint8]
    distances: NDArray[np.uint8]
    bucket_cap_hits: int
    truncated_rows: frozenset[int]
    seen: TableMembers

    def probed(self, page_count: int) -> Probed:
        """Return the same as candidates of each page."""
        candidates = _candidates(page_count, self)
        return Probed(candidates, self.bucket_cap_hits, self.truncated_rows, self.seen)


class PermutedIndex:
    """An Index of permuted tables and band tables.

    Args:
        store: the tables.
        layout: how a fingerprint and a band are split into keys and members.
    """

    def __init__(self, store: TableStore, layout: IndexLayout) -> None:
        self._store = store
        self._layout = layout
        config = layout.config
        self._limits = ProbeLimits(
            distance_bits=config.permuted.distance_bits,
            bucket_cap=config.bucket_cap,
            oversized_considered=config.oversized_considered,
            oversized_same_suffix=config.oversized_same_fingerprint,
            oversized_candidates=config.oversized_candidates,
        )

    async def probe_and_insert(self, pages: Sequence[IndexedPage]) -> Probed:
        """See the protocol. Cost: one range and one insert per page and table, batched by the store."""
        found = await self.probe_and_insert_columns(_columns_of(pages, self._layout))
        return found.probed(len(pages))

    async def probe_and_insert_columns(self, pages: IndexedColumns) -> FoundMembers:
        """Do the same for pages in columns."""
        entries = _entries(pages, self._layout)
        answer = await self._store.probe_and_insert(entries, self._limits)
        return _collect(pages, entries, answer, self._layout, inserted=True)

    async def probe(self, pages: Sequence[IndexedPage]) -> Probed:
        """See the protocol."""
        columns = _columns_of(pages, self._layout)
        entries = _entries(columns, self._layout)
        answer = await self._store.probe(entries, self._limits)
        return _collect(columns, entries, answer, self._layout, inserted=False).probed(len(pages))

    async def remove(self, pages: Sequence[IndexedPage]) -> None:
        """See the protocol. Cost: one removal per page and table, batched by the store."""
        await self._store.remove(table_entries(pages, self._layout).members)

    async def remove_stale(self, probed: Probed, stale_candidates: Collection[tuple[Handle, int]]) -> None:
        """See the protocol."""
        if not stale_candidates:
            return
        seen = zip(probed.seen.handles.tolist(), probed.seen.version_bytes.tolist(), strict=True)
        is_stale = np.array([each in stale_candidates for each in seen], dtype=np.bool_)
        await self._store.remove(probed.seen.take(is_stale))


def table_entries(pages: Sequence[IndexedPage], layout: IndexLayout) -> TableEntries:
    """Return one entry per page and table: its position, and the range of suffixes that may match it."""
    return _entries(_columns_of(pages, layout), layout)


def _columns_of(pages: Sequence[IndexedPage], layout: IndexLayout) -> IndexedColumns:
    bands = np.array([page.bands for page in pages], dtype=np.uint64)
    return IndexedColumns(
        handles=np.array([page.handle for page in pages], dtype=np.uint64),
        version_bytes=np.array([version_byte(page.version) for page in pages], dtype=np.uint8),
        fingerprints=np.array([page.fingerprint for page in pages], dtype=np.uint64),
        bands=bands.reshape(len(pages), layout.config.bands),
    )


def _entries(pages: IndexedColumns, layout: IndexLayout) -> TableEntries:
    words, page_count = _table_words(pages, layout), len(pages.handles)
    bucket_bits, suffix_bits, open_bits, suffix_bytes = np.array(layout.cuts, dtype=np.uint64).T
    below_bucket = np.uint64(56) - bucket_bits
    suffixes = words >> (below_bucket - suffix_bits) & _low_mask(suffix_bits)
    open_mask = _low_mask(open_bits)
    tables = np.arange(layout.table_count)
    return TableEntries(
        rows=np.repeat(np.arange(page_count, dtype=np.uint32), tables.size),
        members=TableMembers(
            tables=np.tile(tables.astype(np.uint8), page_count),
            leading_bytes=(words >> np.uint64(56)).astype(np.uint8).ravel(),
            buckets=(words >> below_bucket & _low_mask(bucket_bits)).astype(np.uint32).ravel(),
            suffixes=suffixes.ravel(),
            suffix_bytes=np.tile(suffix_bytes.astype(np.uint8), page_count),
            handles=np.repeat(pages.handles, tables.size),
            version_bytes=np.repeat(pages.version_bytes, tables.size),
        ),
        lows=(suffixes & ~open_mask).ravel(),
        highs=(suffixes | open_mask).ravel(),
    )


def _table_words(pages: IndexedColumns, layout: IndexLayout) -> Words:
    """Return the sort key of each page in each table, from the leading bit: (pages, tables)."""
    permuted = [table.apply(pages.fingerprints) for table in layout.tables]
    return np.column_stack([pages.bands << np.uint64(32), *permuted])


def _low_mask(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return words with the lowest bits set, 0 to 63 of them."""
    return (np.uint64(1) << bits) - np.uint64(1)


def _collect(
    pages: IndexedColumns, entries: TableEntries, answer: ProbeAnswer, layout: IndexLayout, *, inserted: bool
) -> FoundMembers:
    """Return each candidate once, the nearest first.

    A page of this batch is a candidate only of the pages after it.
    """
    rows, seen = entries.rows[answer.entries], answer.members
    distances = np.bitwise_count(seen.suffixes ^ entries.members.suffixes[answer.entries])
    distances[seen.tables < layout.config.bands] = _BAND_ONLY
    nearest = _nearest(rows, distances, seen)
    if inserted:
        nearest = nearest[_is_before(pages, rows[nearest], seen.take(nearest))]
    truncated_rows = frozenset(entries.rows[answer.truncated].tolist())
    if truncated_rows:
        nearest = nearest[_is_within(rows[nearest], truncated_rows, layout.config.oversized_candidates)]
    return FoundMembers(
        rows=rows[nearest],
        handles=seen.handles[nearest],
        version_bytes=seen.version_bytes[nearest],
        distances=distances[nearest],
        bucket_cap_hits=answer.bucket_cap_hits,
        truncated_rows=truncated_rows,
        seen=seen,
    )


def _is_within(rows: NDArray[np.uint32], truncated: frozenset[int], limit: int) -> NDArray[np.bool_]:
    """Return whether each candidate is among the first `limit` of its page, or its page is not truncated."""
    places = np.arange(rows.size) - np.searchsorted(rows, rows)
    return (places < limit) | ~np.isin(rows, list(truncated))


def _nearest(rows: NDArray[np.uint32], distances: NDArray[np.uint8], seen: TableMembers) -> NDArray[np.intp]:
    """Return the members seen: each page version once per page, at its nearest; by page and distance.

    Of equal distances, those that share the most tables come first: a truncated list keeps the first ones.
    """
    by_page = np.lexsort((distances, seen.version_bytes, seen.handles, rows))
    columns = (rows, seen.handles, seen.version_bytes)
    is_first = np.logical_or.reduce([are_first(column[by_page]) for column in columns])
    once = by_page[is_first]
    fewer_shared = -np.diff(np.append(np.flatnonzero(is_first), len(rows)))
    order = (seen.version_bytes[once], seen.handles[once], fewer_shared, distances[once], rows[once])
    return once[np.lexsort(order)]


def _is_before(pages: IndexedColumns, rows: NDArray[np.uint32], seen: TableMembers) -> NDArray[np.bool_]:
    """Return whether each seen page was stored before the page that saw it; pages of the batch may not be."""
    is_before = np.ones(len(rows), dtype=np.bool_)
    at = np.flatnonzero(np.isin(seen.handles, pages.handles))
    if len(at):
        names = zip(pages.handles.tolist(), pages.version_bytes.tolist(), strict=True)
        row_of = {name: row for row, name in enumerate(names)}
        met = zip(seen.handles[at].tolist(), seen.version_bytes[at].tolist(), rows[at].tolist(), strict=True)
        is_before[at] = [row_of.get((handle, version_byte), -1) < row for handle, version_byte, row in met]
    return is_before


def _candidates(page_count: int, found: FoundMembers) -> list[tuple[Candidate, ...]]:
    """Return the candidates by page, in the order given."""
    candidates = [
        Candidate(Handle(handle), version_byte, scheme_of(distance))
        for handle, version_byte, distance in zip(
            found.handles.tolist(), found.version_bytes.tolist(), found.distances.tolist(), strict=True
        )
    ]
    ends = np.cumsum(np.bincount(found.rows, minlength=page_count)).tolist()
    return [tuple(candidates[start:end]) for start, end in zip([0, *ends], ends, strict=False)]


def scheme_of(distance: int) -> Scheme:
    """Return which tables found a page at this distance, see `FoundMembers`."""
    return "sketch" if distance == _BAND_ONLY else "simhash"
