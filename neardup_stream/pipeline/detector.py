"""From registered and probed pages to matches: fetch the candidates' records, verify.

A stale candidate (a candidate whose page has changed or gone) is removed from the tables when it is met.
Where a probe left entries unread, stale may have hidden living pages, so that page is probed again.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from neardup_stream.indexes.protocol import Index, Probed
from neardup_stream.match import Candidate
from neardup_stream.meters import Rejection
from neardup_stream.page import Handle
from neardup_stream.pipeline import probing
from neardup_stream.pipeline.arrival import Judged, Registered
from neardup_stream.pipeline.fetching import fetch_records
from neardup_stream.pipeline.likeness import VerdictConfig
from neardup_stream.pipeline.probing import ProbingPage
from neardup_stream.pipeline.verification import Verdict, Verification, verify
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import RecordStore

__all__ = ["Detected", "detect", "fetch_candidates", "probe_and_insert"]

_MAX_REPEATS = 8
"""How often a page is probed again behind stale; each time removes some, so later pages see further."""


class Detected(NamedTuple):
    """The pages of a batch that were judged, and what the metrics want to know of it."""

    judged: list[Judged]
    candidate_count: int
    rejections: Counter[Rejection]
    bucket_cap_hits: int
    truncated_count: int = 0


async def probe_and_insert(registered: Sequence[Registered], index: Index) -> Probed:
    """Find the candidates of each page of a batch, and store it.

    Raises:
        StoreUnavailable: the index may have been filled; probing again gives the same candidates.
    """
    return await probing.probe_and_insert(_probing(registered), index)


async def detect(
    registered: Sequence[Registered],
    probed: Probed,
    index: Index,
    store: RecordStore,
    config: VerdictConfig,
) -> Detected:
    """Find the stored pages that each page of a batch matches.

    Args:
        registered: the batch.
        probed: what `probe_and_insert` answered to it.
        index: of all pages.
        store: of their records.
        config: when two pages are alike.

    Raises:
        StoreUnavailable: detecting again gives the same matches.
    Cost: one fetch for the batch; a probe call and a fetch more where stale were in the way.
    """
    detected = Detected([], 0, Counter(), 0)
    verdicts: list[Verdict] = [Verdict((), ())] * len(registered)
    rows = list(range(len(registered)))
    truncated_count = 0
    for repeat in range(_MAX_REPEATS):
        if repeat:
            probed = await probing.probe(_probing([registered[row] for row in rows]), index)
        found = await _verified(registered, rows, probed.candidates, store, config)
        for row, verdict in zip(rows, found.verdicts, strict=True):
            verdicts[row] = verdict
        detected = Detected(
            [],
            detected.candidate_count + sum(map(len, probed.candidates)),
            detected.rejections + found.rejections,
            detected.bucket_cap_hits + probed.bucket_cap_hits,
        )
        stale_candidates = {
            (each.handle, each.version_byte) for of_page in found.stale_candidates for each in of_page
        }
        if stale_candidates:
            await index.remove_stale(probed, stale_candidates)
        again = [i for i in probed.truncated_rows if found.stale_candidates[i]]
        truncated_count += len(probed.truncated_rows) - len(again)
        rows = [rows[i] for i in sorted(again)]
        if not rows:
            break
    judged = [
        Judged(page, verdict.matches, verdict.containers)
        for page, verdict in zip(registered, verdicts, strict=True)
    ]
    return detected._replace(judged=judged, truncated_count=truncated_count + len(rows))


def _probing(registered: Sequence[Registered]) -> list[ProbingPage]:
    """A page that is processed again may have more of a frame in its record than it has now, or less."""
    return [
        ProbingPage(page.handle, page.record, page.arrival.whole_bands or page.arrival.bands)
        for page in registered
    ]


async def _verified(
    registered: Sequence[Registered],
    rows: Sequence[int],
    candidates: Sequence[Sequence[Candidate]],
    store: RecordStore,
    config: VerdictConfig,
) -> Verification:
    records = await fetch_candidates(candidates, store)
    return verify([registered[row].record for row in rows], candidates, records, config)


async def fetch_candidates(
    candidates: Iterable[Iterable[Candidate]], store: RecordStore
) -> dict[Handle, PageRecord]:
    """The records of all candidates that have one, in one round trip."""
    handles = list(dict.fromkeys(candidate.handle for each in candidates for candidate in each))
    return await fetch_records(handles, store) if handles else {}
