"""From registered pages to matches: probe and insert, fetch the candidates' records, verify.

Index entries are hints and the record is the truth: a candidate counts only if its record still lives at the
version that was indexed. One that does not is a ghost, and is dropped.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from neardup_stream.bits.words import distance
from neardup_stream.indexes.protocol import Index, IndexedPage
from neardup_stream.match import Candidate, Match, MatchKind
from neardup_stream.page import Handle
from neardup_stream.pipeline.arrival import Judged, Registered
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import RecordStore

__all__ = ["Detected", "detect", "verify"]


class Detected(NamedTuple):
    """The pages of a batch that were judged, and what the metrics want to know of it."""

    judged: list[Judged]
    candidate_count: int
    ghost_count: int
    bucket_cap_hits: int


async def detect(
    registered: Sequence[Registered], index: Index, store: RecordStore, distance_bits: int
) -> Detected:
    """Find, for each page of a batch, the stored pages it matches, and store it.

    Raises:
        StoreUnavailable: the index may have been filled; detecting again gives the same matches.
    Cost: one probe call and one fetch for the batch.
    """
    if not registered:
        return Detected([], 0, 0, 0)
    probed = await index.probe_and_insert(
        [IndexedPage(page.handle, page.record.version, page.record.fingerprint64) for page in registered]
    )
    records = await _records_of(probed.candidates, store)
    judged = [
        Judged(page, verify(page.record, candidates, records, distance_bits))
        for page, candidates in zip(registered, probed.candidates, strict=True)
    ]
    candidate_count = sum(map(len, probed.candidates))
    match_count = sum(len(page.matches) for page in judged)
    return Detected(judged, candidate_count, candidate_count - match_count, probed.bucket_cap_hits)


def verify(
    record: PageRecord,
    candidates: Iterable[Candidate],
    records: Mapping[Handle, PageRecord],
    distance_bits: int,
) -> tuple[Match, ...]:
    """The matches among the candidates of a page: same text first, then by distance, then by id."""
    matches = []
    for candidate in candidates:
        other = records.get(candidate.handle)
        if other is None or other.version & 0xFF != candidate.version_byte or not other.is_indexed:
            continue
        bits = distance(record.fingerprint, other.fingerprint)
        if bits <= distance_bits:
            kind: MatchKind = "exact" if other.text_fingerprint == record.text_fingerprint else "near"
            matches.append(Match(candidate.handle, other.id, other.url, other.version, bits, kind))
    return tuple(sorted(matches, key=_best_first))


async def _records_of(
    candidates: Iterable[Iterable[Candidate]], store: RecordStore
) -> dict[Handle, PageRecord]:
    handles = list(dict.fromkeys(candidate.handle for each in candidates for candidate in each))
    if not handles:
        return {}
    packed = await store.fetch(handles)
    return {
        handle: PageRecord.unpack(value)
        for handle, value in zip(handles, packed, strict=True)
        if value is not None
    }


def _best_first(match: Match) -> tuple[bool, int, str]:
    return match.kind != "exact", match.distance_bits, match.id
