"""The short path's probe and verify: candidates of new pages are found and compared in arrays.

Only a match, or a container that is asked for, becomes an object. For the same pages
`candidate_comparison.compare_candidates` gives the same.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup_stream.fingerprints.sketch import estimate_resemblances
from neardup_stream.indexes.permuted import FoundMembers, IndexedColumns, PermutedIndex, scheme_of
from neardup_stream.indexes.protocol import Probed
from neardup_stream.match import Match
from neardup_stream.meters import PipelineMeters, Rejection
from neardup_stream.page import Handle, PageId
from neardup_stream.pipeline.arrival import Judged, Registered
from neardup_stream.pipeline.arrival_columns import ArrivalColumns
from neardup_stream.pipeline.candidate_comparison import best_first, fullest_first
from neardup_stream.pipeline.classification import VerdictConfig, classify
from neardup_stream.pipeline.indexed import banded_columns
from neardup_stream.pipeline.pair_figures import ContentFigures, PairFigures
from neardup_stream.pipeline.timing import timed
from neardup_stream.pipeline.verify import detect
from neardup_stream.stores.arrays.records import ArrayRecords
from neardup_stream.stores.page_record import CONTENT_MASK

__all__ = ["NewPages", "ShortVerify"]


class NewPages(NamedTuple):
    """Pages whose records are stored.

    Attributes:
        columns: the pages.
        handles: of them, uint64.
        first_row: where the first one stands in the columns of the page records; the others follow it.
    """

    columns: ArrivalColumns
    handles: NDArray[np.uint64]
    first_row: int

    def registered(self, row: int, records: ArrayRecords) -> Registered:
        """Return a page as the register stage would."""
        record = records.record(self.first_row + row)
        return Registered(self.columns.arrivals[row], Handle(int(self.handles[row])), record, "new")


class _Pairs(NamedTuple):
    """Pages of the batch and stored pages that may be like them, one entry a pair.

    Attributes:
        rows: of the pages in the batch.
        own: of the pages in the columns of the records.
        other: of the stored pages there.
        distances: of what the index stores, see `FoundMembers`.
    """

    rows: NDArray[np.intp]
    own: NDArray[np.int64]
    other: NDArray[np.int64]
    distances: NDArray[np.uint8]

    def take(self, at: NDArray[np.bool_]) -> "_Pairs":
        return _Pairs(self.rows[at], self.own[at], self.other[at], self.distances[at])


class ShortVerify:
    """Finds what new pages match, and inserts them into the index.

    Args:
        index: over arrays.
        records: of all pages.
        config: when two pages are alike.
        meters: receives the times, candidates and rejections.
        wants_containers: whether containers are published.
    """

    def __init__(
        self,
        index: PermutedIndex,
        records: ArrayRecords,
        config: VerdictConfig,
        meters: PipelineMeters,
        *,
        wants_containers: bool,
    ) -> None:
        self._index = index
        self._records = records
        self._config = config
        self._meters = meters
        self._wants_containers = wants_containers

    async def judge(self, pages: NewPages) -> dict[int, Judged]:
        """Return the pages that match others, or are contained where that is published, by row."""
        live = np.flatnonzero(pages.columns.has_enough_tokens)
        if not live.size:
            return {}
        with timed(self._meters, "probe"):
            found = await self._index.probe_and_insert_columns(_indexed(pages, live))
        with timed(self._meters, "verify"):
            return await self._verified(pages, live, found)

    async def _verified(
        self, pages: NewPages, live: NDArray[np.intp], found: FoundMembers
    ) -> dict[int, Judged]:
        self._meters.bucket_cap_hits(found.bucket_cap_hits)
        others = self._records.rows(found.handles.tolist())
        is_odd = (others < 0) | (found.version_bytes != 1)
        odd = np.unique(found.rows[is_odd])
        even_truncated = len(found.truncated_rows.difference(odd.tolist()))
        self._meters.truncated_probes(even_truncated)
        rows = live[found.rows]
        judged = await self._detected(pages, live, found, odd) if odd.size else {}
        pairs = _Pairs(rows, pages.first_row + rows, others, found.distances)
        if odd.size:
            pairs = pairs.take(~np.isin(found.rows, odd))
        if pairs.rows.size:
            judged |= self._compared(pages, pairs)
        return judged

    async def _detected(
        self, pages: NewPages, live: NDArray[np.intp], found: FoundMembers, odd: NDArray[np.uint32]
    ) -> dict[int, Judged]:
        """Judge those pages object by object of whose candidates one is stale, or kept as bytes."""
        probed = found.probed(live.size)
        at = odd.tolist()
        part = Probed(
            candidates=[probed.candidates[row] for row in at],
            bucket_cap_hits=0,
            truncated_rows=frozenset(i for i, row in enumerate(at) if row in probed.truncated_rows),
            seen=probed.seen,
        )
        rows = live[odd].tolist()
        registered = [pages.registered(row, self._records) for row in rows]
        detected = await detect(registered, part, self._index, self._records, self._config)
        self._count(detected.candidate_count, detected.rejections)
        self._meters.bucket_cap_hits(detected.bucket_cap_hits)
        self._meters.truncated_probes(detected.truncated_count)
        return {
            row: judged
            for row, judged in zip(rows, detected.judged, strict=True)
            if judged.matches or (judged.containers and self._wants_containers)
        }

    def _compared(self, pages: NewPages, pairs: _Pairs) -> dict[int, Judged]:
        stored = self._records.columns
        candidate_count = pairs.rows.size
        is_same_scope = stored.scopes[pairs.own] == stored.scopes[pairs.other]
        pairs = pairs.take(is_same_scope)
        classified = classify(self._figures(pairs), self._config)
        is_match, is_contained = classified.is_match, classified.is_contained
        rejections: dict[Rejection, int] = {
            "scope": candidate_count - pairs.rows.size,
            "contained": int(is_contained.sum()),
            "below_threshold": int((~is_match & ~is_contained).sum()),
        }
        self._count(candidate_count, rejections)
        is_wanted = is_match | is_contained if self._wants_containers else is_match
        wanted = pairs.take(is_wanted)
        ratios = [each[is_wanted] for each in classified[2:] if each is not None]
        matches = self._matches(wanted, classified.is_exact[is_wanted], ratios)
        return self._judged(pages, wanted.rows.tolist(), matches, is_match[is_wanted].tolist())

    def _figures(self, pairs: _Pairs) -> PairFigures:
        """Return the figures of pages without a known frame; only such pages take the short path."""
        stored, sketch = self._records.columns, self._config.sketch
        figures = PairFigures(
            stored.text_fingerprints[pairs.own] == stored.text_fingerprints[pairs.other],
            np.bitwise_count(stored.fingerprints[pairs.own] ^ stored.fingerprints[pairs.other]),
            contents=None,
        )
        if sketch is None:
            return figures
        resemblances = estimate_resemblances(stored.sketches[pairs.own], stored.sketches[pairs.other], sketch)
        counts = stored.shingle_counts[pairs.own], stored.shingle_counts[pairs.other]
        return figures._replace(contents=ContentFigures.of_texts(resemblances, counts))

    def _matches(
        self, pairs: _Pairs, is_exact: NDArray[np.bool_], ratios: Sequence[NDArray[np.float64]]
    ) -> list[Match]:
        """Return what `candidate_comparison` makes of pairs, of columns instead of records."""
        records, stored = self._records, self._records.columns
        fingerprints, text_fingerprints = (
            stored.fingerprints[pairs.other],
            stored.text_fingerprints[pairs.other],
        )
        columns = (
            pairs.other.tolist(),
            stored.handles[pairs.other].tolist(),
            fingerprints.tolist(),
            np.bitwise_count(stored.fingerprints[pairs.own] ^ fingerprints).tolist(),
            (text_fingerprints & np.uint64(CONTENT_MASK)).tolist(),
            stored.ranks[pairs.other].tolist(),
            pairs.distances.tolist(),
            is_exact.tolist(),
            *([ratio.tolist() for ratio in ratios] or [[None] * is_exact.size] * 3),
        )
        return [
            Match(
                handle=Handle(handle),
                id=PageId(records.other_id(row) or records.url(row)),
                url=records.url(row),
                version=1,
                distance_bits=bits,
                kind="exact" if is_copy else "near",
                fingerprint=fingerprint,
                rank=rank,
                resemblance=resemblance,
                containment=containment,
                contained_in=contained_in,
                scheme=scheme_of(distance),
                view="whole",
                content=content,
            )
            for (
                row,
                handle,
                fingerprint,
                bits,
                content,
                rank,
                distance,
                is_copy,
                resemblance,
                containment,
                contained_in,
            ) in zip(*columns, strict=True)
        ]

    def _judged(
        self, pages: NewPages, rows: Sequence[int], matches: Sequence[Match], is_match: Sequence[bool]
    ) -> dict[int, Judged]:
        found: dict[int, tuple[list[Match], list[Match]]] = {}
        for row, match, is_near in zip(rows, matches, is_match, strict=True):
            found.setdefault(row, ([], []))[not is_near].append(match)
        return {
            row: Judged(
                pages.registered(row, self._records),
                tuple(sorted(near, key=best_first)),
                tuple(sorted(around, key=fullest_first)),
            )
            for row, (near, around) in found.items()
        }

    def _count(self, candidate_count: int, rejections: Mapping[Rejection, int]) -> None:
        self._meters.candidates(candidate_count)
        for rejection, count in rejections.items():
            if count:
                self._meters.rejected_candidates(rejection, count)


def _indexed(pages: NewPages, live: NDArray[np.intp]) -> IndexedColumns:
    """Return some of the pages as the index stores them, see `indexed_pages`."""
    columns = pages.columns
    scopes = [columns.scopes[row] for row in live.tolist()]
    fingerprints, bands = banded_columns(columns.fingerprints[live], columns.bands[live], scopes)
    return IndexedColumns(pages.handles[live], np.ones(live.size, np.uint8), fingerprints, bands)
