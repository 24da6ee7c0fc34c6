"""5: two living pages that match, and whose match connects, are in one cluster.

The matches are found anew, by the pipeline's own index and verification over the records as they are now. A
page whose probe met a limit may not have seen everything, now or when it was judged, and is left out.
"""

from collections import Counter
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from neardup_stream.chunks import in_chunks
from neardup_stream.errors import InvariantBroken
from neardup_stream.indexes.permuted import PermutedIndex
from neardup_stream.indexes.protocol import Probed
from neardup_stream.invariants.evidence import Evidence
from neardup_stream.invariants.history import Matching, Violation
from neardup_stream.match import Candidate, Match
from neardup_stream.page import Handle
from neardup_stream.pipeline.probing import ProbingPage, insert, probe
from neardup_stream.pipeline.verification import verify
from neardup_stream.stores.memory_tables import MemoryTables
from neardup_stream.stores.page_record import PageRecord

__all__ = ["judge_matches"]

_BATCH_PAGES = 256

_T = TypeVar("_T")
_Stored = tuple[Handle, PageRecord]


def judge_matches(evidence: Evidence) -> Iterator[Violation]:
    """Matching pages that stand apart; none where matches need not connect.

    Cost: some 100 µs and, while it works, 4 KB a page.
    """
    matching = evidence.expectations.matching
    if matching is None:
        return
    pages = [(handle, each) for handle, each in evidence.history.records.items() if each.state == "live"]
    for one, other in _matches(dict(_few_of_each(pages, matching)), matching):
        clusters = evidence.cluster_of.get(one), evidence.cluster_of.get(other)
        if clusters[0] is None or clusters[0] != clusters[1]:
            ids = (evidence.history.records[handle].id for handle in (one, other))
            places = (f"in {cluster}" if cluster else "alone" for cluster in clusters)
            told = " and ".join(
                f"page {page_id} ({place})" for page_id, place in zip(ids, places, strict=True)
            )
            yield Violation(5, f"{told} match")


def _few_of_each(pages: Sequence[_Stored], matching: Matching) -> Iterator[_Stored]:
    """The pages, but of the copies of one text only as many as make a crowd, of which nobody sees all."""
    counts: Counter[tuple[str, int]] = Counter()
    for handle, record in pages:
        text = record.scope, record.text_fingerprint
        counts[text] += 1
        if counts[text] <= matching.layout.config.bucket_cap + 2:
            yield handle, record


def _matches(pages: Mapping[Handle, PageRecord], matching: Matching) -> Iterator[tuple[Handle, Handle]]:
    """The pairs whose match connects, unless either page cannot have seen everything."""
    index = PermutedIndex(MemoryTables(), matching.layout)
    for batch in in_chunks(pages.items(), _BATCH_PAGES):
        _finished(insert(batch, index))
    found: dict[Handle, tuple[Match, ...]] = {}
    for batch in in_chunks(pages.items(), _BATCH_PAGES):
        probed = _finished(probe([ProbingPage(*each) for each in batch], index))
        found |= _verified(batch, probed, pages, matching)
    for handle, matches in found.items():
        for match in matches:
            if handle < match.handle and match.handle in found and matching.links(match):
                yield handle, match.handle


def _verified(
    batch: Sequence[_Stored], probed: Probed, pages: Mapping[Handle, PageRecord], matching: Matching
) -> dict[Handle, tuple[Match, ...]]:
    """What each page matches; a page that met a limit is not among them."""
    candidates: list[tuple[Candidate, ...]] = probed.candidates
    records = [record for _, record in batch]
    verdicts = verify(records, candidates, pages, matching.verdict).verdicts
    return {
        handle: verdict.matches
        for row, ((handle, _), verdict) in enumerate(zip(batch, verdicts, strict=True))
        if row not in probed.truncated_rows
    }


def _finished(work: Coroutine[Any, Any, _T]) -> _T:
    """What it returns: tables in memory never wait."""
    try:
        work.send(None)
    except StopIteration as returned:
        result: _T = returned.value
        return result
    raise InvariantBroken("tables in memory have waited")
