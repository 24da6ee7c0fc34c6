"""Invariant 5: two living pages with a match that links them are in one cluster.

The matches are computed again, by the pipeline's own index and verification, from the current records. A page
whose probe met a limit may not have seen all candidates, now or when it was processed, and is skipped.
"""

from array import array
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from neardup_stream.chunks import in_chunks
from neardup_stream.errors import InvariantBroken
from neardup_stream.indexes.permuted import PermutedIndex
from neardup_stream.indexes.protocol import Probed
from neardup_stream.invariants.evidence import Evidence
from neardup_stream.invariants.history import Matching, Violation
from neardup_stream.match import Candidate, Match
from neardup_stream.page import Handle
from neardup_stream.pipeline.candidate_comparison import compare_candidates
from neardup_stream.pipeline.probe import ProbingPage, insert, probe
from neardup_stream.stores.arrays.tables import ArrayTables
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import ProbeAnswer, ProbeLimits, TableEntries

__all__ = ["judge_matches"]

_BATCH_PAGES: Final = 256

_PAGES_AT_ONCE: Final = 80_000
"""The most pages whose entries are in memory at once, some 1.5 KB each, unless one shard of the tables has
more.
"""

_T = TypeVar("_T")
_Stored = tuple[Handle, PageRecord]
_Records = Mapping[Handle, PageRecord]


def judge_matches(evidence: Evidence, pages_at_once: int = _PAGES_AT_ONCE) -> Iterator[Violation]:
    """Yield matching pages that are in different clusters; none if matches need not link their pages.

    The tables are filled and probed a few shards at a time, because each shard of the index is probed
    separately.

    Args:
        evidence: the history.
        pages_at_once: entries of about this many pages are in memory at once, 1 or more.

    Cost: some 80 µs a page, plus 20 µs for each further group of shards.
    """
    matching = evidence.expectations.matching
    if matching is None:
        return
    records = evidence.history.records
    handles = _few_of_each(records, matching)
    apart: set[tuple[Handle, Handle]] = set()
    unsure: set[Handle] = set()
    shard_count = 1 << matching.layout.shard_bits
    parts = min(shard_count, -(-len(handles) // pages_at_once))
    for part in range(parts):
        shards = frozenset(range(part, shard_count, parts))
        for handle, matches in _matches(handles, records, matching, shards):
            if matches is None:
                unsure.add(handle)
                continue
            for match in matches:
                if (
                    handle < match.handle
                    and matching.links(match)
                    and not _are_together(evidence, handle, match)
                ):
                    apart.add((handle, match.handle))
    for pair in sorted(apart):
        if unsure.isdisjoint(pair):
            published = " and ".join(
                f"page {records[handle].id} ({_place(evidence, handle)})" for handle in pair
            )
            yield Violation(5, f"{published} match")


def _few_of_each(records: _Records, matching: Matching) -> "array[int]":
    """Return the living pages, with at most as many copies of one text as an oversized bucket holds."""
    handles, texts = array("Q"), array("q")
    for handle, record in records.items():
        if record.state == "live":
            handles.append(handle)
            texts.append(hash((record.scope, record.text_fingerprint)))
    order = np.argsort(np.array(texts, dtype=np.int64), kind="stable")
    _, starts, counts = np.unique(np.array(texts)[order], return_index=True, return_counts=True)
    is_kept = np.empty(len(order), np.bool_)
    is_kept[order] = np.arange(len(order)) - np.repeat(starts, counts) < matching.layout.config.bucket_cap + 2
    return array("Q", np.array(handles, dtype=np.uint64)[is_kept].tobytes())


def _are_together(evidence: Evidence, handle: Handle, match: Match) -> bool:
    cluster = evidence.cluster_of.get(handle)
    return cluster is not None and cluster == evidence.cluster_of.get(match.handle)


def _place(evidence: Evidence, handle: Handle) -> str:
    cluster = evidence.cluster_of.get(handle)
    return f"in {cluster}" if cluster else "alone"


def _matches(
    handles: "array[int]", records: _Records, matching: Matching, shards: frozenset[int]
) -> Iterator[tuple[Handle, tuple[Match, ...] | None]]:
    """Yield the matches of each page in some shards of the tables; None if the probe met a limit."""
    tables = _SomeShards(matching.layout.shard_bits, shards)
    index = PermutedIndex(tables, matching.layout)
    for some in in_chunks(map(Handle, handles), _BATCH_PAGES):
        _finished(insert([(handle, records[handle]) for handle in some], index))
    for some in in_chunks(map(Handle, handles), _BATCH_PAGES):
        batch = [(handle, records[handle]) for handle in some]
        probed = _finished(probe([ProbingPage(*each) for each in batch], index))
        yield from _verified(batch, probed, records, matching)


def _verified(
    batch: Sequence[_Stored], probed: Probed, records: _Records, matching: Matching
) -> Iterator[tuple[Handle, tuple[Match, ...] | None]]:
    candidates: list[tuple[Candidate, ...]] = probed.candidates
    met = {candidate.handle for each in candidates for candidate in each}
    others = {handle: records[handle] for handle in met}
    compared = compare_candidates(
        [record for _, record in batch], candidates, others, matching.verdict
    ).compared
    for row, ((handle, _), each) in enumerate(zip(batch, compared, strict=True)):
        yield handle, None if row in probed.truncated_rows else each.matches


class _SomeShards(ArrayTables):
    """Tables in arrays that store and probe some shards only.

    Args:
        shard_bits: log2 of the number of shards.
        shards: their numbers.
    """

    def __init__(self, shard_bits: int, shards: frozenset[int]) -> None:
        super().__init__()
        self._shift = 8 - shard_bits
        self._shards = np.array(sorted(shards), dtype=np.uint8)

    async def probe_and_insert(self, entries: TableEntries, limits: ProbeLimits) -> ProbeAnswer:
        """See the contract."""
        at, own = self._own(entries)
        return _at(at, await super().probe_and_insert(own, limits))

    async def probe(self, entries: TableEntries, limits: ProbeLimits) -> ProbeAnswer:
        """See the contract."""
        at, own = self._own(entries)
        return _at(at, await super().probe(own, limits))

    def _own(self, entries: TableEntries) -> tuple[NDArray[np.intp], TableEntries]:
        at = np.flatnonzero(np.isin(entries.members.leading_bytes >> self._shift, self._shards))
        own = TableEntries(entries.rows[at], entries.members.take(at), entries.lows[at], entries.highs[at])
        return at, own


def _at(at: NDArray[np.intp], answer: ProbeAnswer) -> ProbeAnswer:
    """Return the answer with its entry numbers mapped to those of all entries."""
    numbers = at.astype(np.uint32)
    return answer._replace(entries=numbers[answer.entries], truncated=numbers[answer.truncated])


def _finished(work: Coroutine[Any, Any, _T]) -> _T:
    """Return the result of a coroutine that never waits, as tables in memory never do."""
    try:
        work.send(None)
    except StopIteration as returned:
        result: _T = returned.value
        return result
    raise InvariantBroken("tables in memory waited")
