"""Permuted tables of 64-bit fingerprints, and tables of bands, over a store.

Source: Manku, Jain and Das Sarma 2007, section 3. We differ in keeping each table as many small sorted sets,
keyed by leading byte and bucket, and in filtering by distance where the table lives.
"""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from neardup_stream.bits.words import Words
from neardup_stream.indexes.layout import IndexLayout
from neardup_stream.indexes.protocol import IndexedPage, Probed
from neardup_stream.match import Candidate
from neardup_stream.page import Handle
from neardup_stream.stores.protocol import ProbeAnswer, ProbeLimits, TableEntries, TableMembers, TableStore

__all__ = ["PermutedIndex", "table_entries"]

_BAND_ONLY = 255
"""Stands in for the distance of a page that no permuted table found: above every distance."""


class PermutedIndex:
    """An Index of permuted tables and band tables.

    Args:
        store: keeps the tables.
        layout: how a fingerprint and a band are cut into keys and members.
    """

    def __init__(self, store: TableStore, layout: IndexLayout) -> None:
        self._store = store
        self._layout = layout
        config = layout.config
        self._limits = ProbeLimits(
            distance_bits=config.permuted.distance_bits,
            bucket_cap=config.bucket_cap,
            crowd_considered=config.crowd_considered,
            crowd_same_rest=config.crowd_same_fingerprint,
            crowd_candidates=config.crowd_candidates,
        )

    async def probe_and_insert(self, pages: Sequence[IndexedPage]) -> Probed:
        """See the contract. Cost: one range and one insert per page and table, batched by the store."""
        entries = table_entries(pages, self._layout)
        answer = await self._store.probe_and_insert(entries, self._limits)
        return _collect(pages, entries, answer, self._layout, inserted=True)

    async def probe(self, pages: Sequence[IndexedPage]) -> Probed:
        """See the contract."""
        entries = table_entries(pages, self._layout)
        answer = await self._store.probe(entries, self._limits)
        return _collect(pages, entries, answer, self._layout, inserted=False)

    async def remove(self, pages: Sequence[IndexedPage]) -> None:
        """See the contract. Cost: one removal per page and table, batched by the store."""
        await self._store.remove(table_entries(pages, self._layout).members)

    async def remove_ghosts(self, probed: Probed, ghosts: Collection[tuple[Handle, int]]) -> int:
        """See the contract."""
        if not ghosts:
            return 0
        seen = zip(probed.seen.handles.tolist(), probed.seen.version_bytes.tolist(), strict=True)
        is_ghost = np.array([each in ghosts for each in seen], dtype=np.bool_)
        return await self._store.remove(probed.seen.take(is_ghost))


def table_entries(pages: Sequence[IndexedPage], layout: IndexLayout) -> TableEntries:
    """One row per page and table: where the page stands there, and the range of rests that may match it."""
    words = _table_words(pages, layout)
    bucket_bits, rest_bits, open_bits, rest_bytes = np.array(layout.cuts, dtype=np.uint64).T
    below_bucket = np.uint64(56) - bucket_bits
    rests = words >> (below_bucket - rest_bits) & _low_mask(rest_bits)
    open_mask = _low_mask(open_bits)
    handles = np.array([page.handle for page in pages], dtype=np.uint64)
    version_bytes = np.array([page.version & 0xFF for page in pages], dtype=np.uint8)
    tables = np.arange(layout.table_count)
    return TableEntries(
        rows=np.repeat(np.arange(len(pages), dtype=np.uint32), tables.size),
        members=TableMembers(
            tables=np.tile(tables.astype(np.uint8), len(pages)),
            leading_bytes=(words >> np.uint64(56)).astype(np.uint8).ravel(),
            buckets=(words >> below_bucket & _low_mask(bucket_bits)).astype(np.uint32).ravel(),
            rests=rests.ravel(),
            rest_bytes=np.tile(rest_bytes.astype(np.uint8), len(pages)),
            handles=np.repeat(handles, tables.size),
            version_bytes=np.repeat(version_bytes, tables.size),
        ),
        lows=(rests & ~open_mask).ravel(),
        highs=(rests | open_mask).ravel(),
    )


def _table_words(pages: Sequence[IndexedPage], layout: IndexLayout) -> Words:
    """What each page is sorted by in each table, from the leading bit: (pages, tables)."""
    fingerprints = np.array([page.fingerprint for page in pages], dtype=np.uint64)
    bands = np.array([page.bands for page in pages], dtype=np.uint64).reshape(len(pages), layout.config.bands)
    permuted = [table.apply(fingerprints) for table in layout.tables]
    return np.column_stack([bands << np.uint64(32), *permuted])


def _low_mask(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The lowest bits of a word set, 0 to 63 of them."""
    return (np.uint64(1) << bits) - np.uint64(1)


def _collect(
    pages: Sequence[IndexedPage],
    entries: TableEntries,
    answer: ProbeAnswer,
    layout: IndexLayout,
    *,
    inserted: bool,
) -> Probed:
    """Each candidate once, the nearest first; a page of this very batch only for the pages after it."""
    own = {(page.handle, page.version & 0xFF): row for row, page in enumerate(pages)} if inserted else {}
    nearest: list[dict[tuple[int, int], int]] = [{} for _ in pages]
    seen = answer.members
    distances = np.bitwise_count(seen.rests ^ entries.members.rests[answer.entries])
    distances[seen.tables < layout.config.bands] = _BAND_ONLY
    for row, handle, version_byte, distance in zip(
        entries.rows[answer.entries].tolist(),
        seen.handles.tolist(),
        seen.version_bytes.tolist(),
        distances.tolist(),
        strict=True,
    ):
        page = handle, version_byte
        if own.get(page, -1) < row:
            nearest[row][page] = min(distance, nearest[row].get(page, _BAND_ONLY))
    truncated_rows = frozenset(entries.rows[answer.truncated].tolist())
    candidates = [_candidates(each) for each in nearest]
    for row in truncated_rows:
        candidates[row] = candidates[row][: layout.config.crowd_candidates]
    return Probed(
        candidates=candidates,
        bucket_cap_hits=answer.bucket_cap_hits,
        truncated_rows=truncated_rows,
        seen=seen,
    )


def _candidates(nearest: Mapping[tuple[int, int], int]) -> tuple[Candidate, ...]:
    """By the distance at which each (handle, version byte) was found."""
    return tuple(
        Candidate(Handle(handle), version_byte, "sketch" if distance == _BAND_ONLY else "simhash")
        for distance, handle, version_byte in sorted((found, *page) for page, found in nearest.items())
    )
